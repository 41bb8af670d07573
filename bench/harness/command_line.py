"""What the benchmarks' command lines have in common."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any


def engine_names(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Reads a list like `millpond,streams`."""

    def read(text: str) -> list[str]:
        names = text.split(",")
        if wrong := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"'{wrong[0]}' is none of {', '.join(known)}")
        return names

    return read


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM leaves the block as Ctrl-C does, by an exception: all processes that we started are ended."""

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def plain(options: argparse.Namespace) -> dict[str, Any]:
    """The options as they go into the results."""
    return vars(options)
