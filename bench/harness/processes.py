"""Trees of processes: who is in one, what CPU time and memory it takes, how it ends. Linux, from /proc."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")

BROKER_MAIN = "kafka.Kafka"
"""The class that a broker's command line names."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process as it was a moment ago; `cpu` is in seconds, its ended children included."""

    pid: int
    parent: int
    cpu: float


def tree(root: int) -> list[Process]:
    """`root` and all that descend from it; empty if it has ended."""
    alive = {p.pid: p for p in map(_read, _pids()) if p}
    wanted = {root} & alive.keys()
    while more := {p.pid for p in alive.values() if p.parent in wanted} - wanted:
        wanted |= more
    return [alive[pid] for pid in sorted(wanted)]


def command(pid: int) -> list[str]:
    """The command line; empty if the process has ended."""
    try:
        return (PROC / str(pid) / "cmdline").read_text(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def is_broker(pid: int) -> bool:
    return BROKER_MAIN in command(pid)


def cpu_seconds(root: int, which: Callable[[int], bool] = lambda pid: True) -> float:
    """CPU seconds of those processes of the tree for which `which` holds."""
    return sum(p.cpu for p in tree(root) if which(p.pid))


def proportional_memory(pid: int) -> int:
    """Bytes of a process, pages shared by n processes counted as an nth (PSS); 0 if it has ended."""
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def resident_memory(pid: int) -> int:
    """Bytes of a process that are in memory (RSS); 0 if it has ended."""
    try:
        return int((PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def pin(pids: Iterable[int], cores: set[int]) -> None:
    """Let all threads of the processes run on `cores` only; threads that they start inherit it."""
    for pid in pids:
        for thread in _numbers(PROC / str(pid) / "task"):
            with suppress(ProcessLookupError):
                os.sched_setaffinity(thread, cores)


def end(process: subprocess.Popen[bytes], grace: float = 60) -> None:
    """End a process that we started: SIGTERM; what of its tree is there after `grace` seconds is killed."""
    members = [p.pid for p in tree(process.pid)]
    born = {pid: _birth(pid) for pid in members}
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _kill_left(born)


def _kill_left(born: dict[int, str | None], patience: float = 5) -> None:
    """Children that outlive their parent get `patience` seconds; times of birth guard against reused ids."""
    deadline = time.monotonic() + patience
    while left := [pid for pid, birth in born.items() if birth and _birth(pid) == birth]:
        if time.monotonic() > deadline:
            _kill(left)
        time.sleep(0.05)


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _pids() -> list[int]:
    return _numbers(PROC)


def _numbers(folder: Path) -> list[int]:
    try:
        return [int(entry.name) for entry in folder.iterdir() if entry.name.isdigit()]
    except OSError:
        return []


def _fields(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat from the third on (the second may hold blanks). Empty: ended."""
    try:
        return (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _read(pid: int) -> Process | None:
    fields = _fields(pid)
    return Process(pid, int(fields[1]), sum(map(int, fields[11:15])) / TICKS) if fields else None


def _birth(pid: int) -> str | None:
    """When a process started, in ticks since boot; None if it has ended or is a zombie."""
    fields = _fields(pid)
    return fields[19] if fields and fields[0] != "Z" else None
