"""One installation at a time: a lock file that dies with its process."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Report = Callable[[str], object]
"""Takes one short line of progress."""


@contextmanager
def install_lock(folder: Path, report: Report) -> Iterator[None]:
    """Hold `folder`'s lock; waits, and says so, while another process holds it. A crash releases it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "install.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("another installation is running: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
