"""The embedded server's broker without the server: a peer runs against the same log with nobody beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.progress import progress
from millpond.embedded.broker import Broker
from millpond.jvm.locate import broker_classpath, find_java

IDENTITY = "cluster.id"
"""A file that every folder of an embedded broker has."""


@contextmanager
def broker_alone(data_dir: Path) -> Iterator[Broker]:
    """The broker of the server that had `data_dir`, with its topics; a new one if there was none."""
    broker = Broker(_folder(data_dir), 0, broker_classpath(), find_java())
    broker.start()
    progress("the broker runs alone")
    try:
        yield broker
    finally:
        broker.stop()


def _folder(data_dir: Path) -> Path:
    return next((path.parent for path in sorted(data_dir.rglob(IDENTITY))), data_dir / "kafka")
