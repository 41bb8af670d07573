"""How long one statement on a connection may take."""

from __future__ import annotations

import sqlite3
import time

STEPS = 20_000
"""Of SQLite's machine between two looks at the clock: some tenths of a millisecond, and not to be felt."""


class TimeLimit:
    """Ends a statement that takes longer than `seconds` after `begin` with SQLITE_INTERRUPT; 0 ends none."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.deadline = float("inf")

    def watch(self, connection: sqlite3.Connection) -> None:
        """For all statements of the connection from now on."""
        if self.seconds:
            connection.set_progress_handler(self._is_over, STEPS)

    def begin(self) -> None:
        """A statement is about to run."""
        if self.seconds:
            self.deadline = time.monotonic() + self.seconds

    def _is_over(self) -> bool:
        return time.monotonic() > self.deadline
