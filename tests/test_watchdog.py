"""A child that does not heed SIGTERM ends with its parent, which is killed with -9."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.waiting import eventually

STUBBORN = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
)
PARENT = f"""
import subprocess, sys, time
from millpond.watchdog import Watchdog
child = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}], stdout=subprocess.PIPE)
child.stdout.readline()
dog = Watchdog(child.pid, int(sys.argv[1]))
if len(sys.argv) > 2:
    dog.dismiss()
print(child.pid, flush=True)
time.sleep(60)
"""


def parent(*arguments: str) -> tuple[subprocess.Popen[str], int]:
    """A process with a watched child, and the child's pid."""
    started = subprocess.Popen([sys.executable, "-c", PARENT, *arguments], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    return started, int(started.stdout.readline())


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def runs(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


@pytest.mark.parametrize("grace", ["0", "1"])
def test_a_stubborn_child_ends_with_its_parent(grace: str) -> None:
    started, child = parent(grace)
    assert runs(child)
    kill(started)
    eventually(lambda: runs(child), False, 20)


def test_a_dismissed_watchdog_leaves_it_alone() -> None:
    started, child = parent("0", "dismissed")
    kill(started)
    assert runs(child)
    subprocess.run(["kill", f"-{signal.SIGKILL.value}", str(child)], check=True)
