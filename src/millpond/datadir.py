"""The data folder: claimed by one server at a time, and checked for room before anything is written.

The claim is an flock on `<data_dir>/lock`, so the kernel gives it up when the server dies, however it dies.
The file holds the owner's process id for the error message only.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from millpond.errors import MillpondError


@dataclass(slots=True)
class Claim:
    """A data folder that is ours until `release`, the end of the `with` block, or the end of the process."""

    path: Path
    descriptor: int

    def release(self) -> None:
        """Give the folder up; harmless when done twice."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Claim:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def claim(data_dir: Path) -> Claim:
    """Make `data_dir` if need be and take it.

    Raises DATA_DIR_IN_USE with the other server's pid, DATA_DIR_UNUSABLE if it cannot be made or written.
    """
    path = data_dir / "lock"
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as e:
        raise MillpondError("DATA_DIR_UNUSABLE", path=data_dir, reason=e.strerror) from e
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as e:
        os.close(descriptor)
        raise MillpondError("DATA_DIR_IN_USE", path=data_dir, pid=holder(data_dir)) from e
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return Claim(path, descriptor)


def holder(data_dir: Path) -> str:
    """The process id that the last owner of `data_dir` wrote, 'unknown' if it is not there."""
    try:
        return (data_dir / "lock").read_text().strip() or "unknown"
    except OSError:
        return "unknown"


def check_space(data_dir: Path, minimum: int) -> None:
    """Raise DISK_FULL if fewer than `minimum` bytes are free where `data_dir` is (or will be)."""
    place = next(p for p in (data_dir.absolute(), *data_dir.absolute().parents) if p.exists())
    free = shutil.disk_usage(place).free
    if free < minimum:
        raise MillpondError("DISK_FULL", path=data_dir, free=free >> 20, needed=-(-minimum >> 20))
