"""What SQLite's errors mean for the view store."""

from __future__ import annotations

import re
import sqlite3
import threading
from pathlib import Path

from millpond.errors import MillpondError
from millpond.views.value_limits import too_large

CORRUPT = (
    "SQLITE_CORRUPT",
    "SQLITE_NOTADB",
    "SQLITE_READONLY_DBMOVED",
    "SQLITE_FORMAT",
    "SQLITE_IOERR_SHORT_READ",
)
LOCKED = ("SQLITE_BUSY", "SQLITE_LOCKED")
_raised = threading.local()


def noted(error: MillpondError | TimeoutError) -> MillpondError:
    """`error`, remembered in this thread: SQLite says no more than that a function of ours raised something."""
    found = error if isinstance(error, MillpondError) else MillpondError("QUERY_TIMED_OUT")
    _raised.error = found
    return found


def refusal(error: sqlite3.Error) -> MillpondError | None:
    """What a function of ours or a limit had against the statement that ended with `error`; None: neither."""
    if _code(error) == "SQLITE_TOOBIG":
        return too_large()
    if is_timeout(error):
        return MillpondError("QUERY_TIMED_OUT")
    if not str(error).startswith("user-defined"):
        return None
    found: MillpondError | None = _raised.__dict__.pop("error", None)
    return found


def is_corrupt(error: sqlite3.Error) -> bool:
    """The file is no longer a database: only making it anew helps."""
    return _code(error).startswith(CORRUPT)


def is_timeout(error: sqlite3.Error) -> bool:
    """A statement was ended by its `TimeLimit`."""
    return _code(error) == "SQLITE_INTERRUPT"


_LIMITS = re.compile(r"too many|too large|too long|parser stack overflow|at most \d+ tables", re.IGNORECASE)


def is_too_large(error: sqlite3.Error) -> bool:
    """A statement is beyond one of SQLite's limits: columns, terms, arguments, tables, depth."""
    return _code(error) == "SQLITE_ERROR" and _LIMITS.search(str(error)) is not None


def not_evaluated(error: sqlite3.Error) -> MillpondError:
    """The named error for a statement of the user's that SQLite does not take, or not to its end."""
    refused = refusal(error)
    if refused is not None:
        return refused
    name = "QUERY_TOO_LARGE" if is_too_large(error) else "ROW_NOT_EVALUATED"
    return MillpondError(name, reason=str(error))


def named(error: sqlite3.Error, path: Path) -> MillpondError:
    """The named error for what happened to the store at `path`."""
    code = _code(error)
    if code == "SQLITE_FULL":
        return MillpondError("VIEW_STORE_FULL", path=path)
    refused = refusal(error)
    if refused is not None:
        return refused
    if code.startswith(LOCKED):
        return MillpondError("VIEW_STORE_LOCKED", path=path)
    if is_corrupt(error):
        return MillpondError("VIEW_STORE_CORRUPT", path=path, reason=str(error))
    return MillpondError("VIEW_STORE_FAILED", path=path, reason=str(error))


def _code(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""
