"""Trees of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from harness.processes import command, cpu_seconds, end, proportional_memory, resident_memory, tree

FAMILY = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; sum(range(3_000_000)); time.sleep(60)"])
print(child.pid, flush=True)
child.wait()
"""


def start_family() -> tuple[subprocess.Popen[bytes], int]:
    """(a process, the id of its child)"""
    parent = subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent.stdout:
        return parent, int(parent.stdout.readline())


def test_a_tree_is_known_measured_and_ended_whole() -> None:
    parent, child = start_family()
    try:
        assert {p.pid for p in tree(parent.pid)} == {parent.pid, child}
        deadline = time.monotonic() + 20
        while cpu_seconds(parent.pid, lambda pid: pid == child) == 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert cpu_seconds(parent.pid) >= cpu_seconds(parent.pid, lambda pid: pid == child) > 0
        assert 0 < proportional_memory(child) <= resident_memory(child) * 1.1
    finally:
        end(parent, grace=10)
    assert tree(parent.pid) == []
    assert command(child) == []


def test_a_process_that_has_ended_has_nothing() -> None:
    done = subprocess.Popen(["true"])
    done.wait()
    assert (tree(done.pid), proportional_memory(done.pid), cpu_seconds(done.pid)) == ([], 0, 0)
    assert cpu_seconds(os.getpid()) > 0
