"""Lines that say what a benchmark is doing, on standard error: standard output is for the figures."""

from __future__ import annotations

import sys
import time

_START = time.monotonic()


def progress(text: str) -> None:
    """One line, with the seconds since the benchmark began."""
    sys.stderr.write(f"[{time.monotonic() - _START:7.1f} s] {text}\n")
    sys.stderr.flush()
