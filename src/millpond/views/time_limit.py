"""How long one statement on a connection may take."""

from __future__ import annotations

import sqlite3
import threading
import time

from millpond.errors import MillpondError

STEPS = 20_000
"""Of SQLite's machine between two looks at the clock: some tenths of a millisecond, and not to be felt."""
LONGEST_CALL = 1.0
"""Seconds of one function's call in a statement without a limit of its own: a row of a push query, a constant."""
_thread = threading.local()


def seconds_left() -> float | None:
    """What is left to the statement that this thread runs, for a function that may take long; None: no end.

    SQLite looks at the clock between two steps of its own, not while it waits for a function. Raises QUERY_TIMED_OUT.
    """
    deadline: float | None = getattr(_thread, "deadline", None)
    if deadline is None:
        return LONGEST_CALL
    left = deadline - time.monotonic()
    if left <= 0:
        raise MillpondError("QUERY_TIMED_OUT")
    return None if left == float("inf") else left


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
        """A statement is about to run, in this thread."""
        if self.seconds:
            self.deadline = time.monotonic() + self.seconds
        _thread.deadline = self.deadline

    def end(self) -> None:
        """The statement is over."""
        _thread.deadline = None

    def _is_over(self) -> bool:
        return time.monotonic() > self.deadline
