"""A child process that ends when we do, even if we are killed with -9.

The kernel's own parent-death signal is bound to the thread that started the child, not to the process, and
exists on Linux only. So a small shell holds the reading end of a pipe whose writing end is ours alone.
When we die the pipe closes, `read` returns, and the shell ends the child, gently first if it may take its time.
(A child that we fork without exec would hold the writing end too: processes of ours are spawned.)
"""

from __future__ import annotations

import subprocess

SCRIPT = """
read -r _
i=0
[ "$2" = 0 ] || kill -TERM "$1" 2>/dev/null || exit 0
while [ $i -lt "$2" ] && kill -0 "$1" 2>/dev/null; do sleep 1; i=$((i + 1)); done
kill -KILL "$1" 2>/dev/null
"""


class Watchdog:
    """Ends process `pid` when this process dies; SIGKILL follows SIGTERM after `grace` seconds, with 0 it comes alone.

    Call `dismiss` as soon as `pid` has ended, so that nobody else is hit who is given the same number later.
    """

    def __init__(self, pid: int, grace: int = 10) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", SCRIPT, "watchdog", str(pid), str(grace)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """The child has ended: watch no longer."""
        self._shell.kill()
        self._shell.wait()
        if self._shell.stdin:
            self._shell.stdin.close()
