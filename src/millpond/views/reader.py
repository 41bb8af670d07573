"""Reading the view store: any thread, any number at once, never in the writer's way."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from millpond.errors import MillpondError
from millpond.views.connection import open_reader
from millpond.views.faults import named
from millpond.views.schema import quote, table_name
from millpond.views.time_limit import TimeLimit

Parameters = Sequence[Any] | Mapping[str, Any]

LOOK_SECONDS = 0.02
"""How long a look at the store's file counts: a look costs half as much as finding a row by its key."""


class ViewReader:
    """What queries see of the views. A store that was deleted and made anew is noticed by itself.

    `timeout`: seconds that one `query` may take; 0 for as long as it takes.
    """

    def __init__(self, path: Path, timeout: float = 0.0) -> None:
        self.path, self.timeout = path, timeout
        self._local = threading.local()

    def query(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """All rows of a SELECT, as SQLite keeps them. Raises VIEW_STORE_*, QUERY_TIMED_OUT."""
        connection = self.connection()
        self._local.limit.begin()
        try:
            return connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        finally:
            self._local.limit.end()

    def connection(self) -> sqlite3.Connection:
        """This thread's connection, for callers that register something of their own. Raises VIEW_STORE_*."""
        local, now = self._local, time.monotonic()
        if now - getattr(local, "looked", -1.0) > LOOK_SECONDS:
            self._look(now)
        connection: sqlite3.Connection = local.connection
        return connection

    def _look(self, now: float) -> None:
        """Connect, unless this thread is connected to the file that is there now."""
        try:
            found = self.path.stat()
        except OSError as error:
            self.close()
            raise MillpondError("VIEW_STORE_FAILED", path=self.path, reason="it is not there yet") from error
        local, identity = self._local, (found.st_ino, found.st_dev)
        if getattr(local, "identity", None) != identity:
            self.close()
            local.connection, local.identity = self.connect(), identity
            local.limit = TimeLimit(self.timeout)
            local.limit.watch(local.connection)
        local.looked = now

    def connect(self) -> sqlite3.Connection:
        """A connection of its own, which the caller closes. Raises VIEW_STORE_*."""
        try:
            return open_reader(self.path)
        except sqlite3.Error as error:
            raise named(error, self.path) from error

    def offsets(self, relation_id: str) -> dict[int, int]:
        """Next offset per partition of the view's changelog; empty while the view has not been loaded."""
        return _offsets(self.connection(), relation_id)

    def count(self, relation_id: str) -> int:
        """How many rows a view has; a look at every one of them."""
        return int(self.query(f"SELECT count(*) FROM {quote(table_name(relation_id))}")[0][0])

    @contextlib.contextmanager
    def snapshot(self, relation_id: str) -> Iterator[tuple[sqlite3.Connection, dict[int, int]]]:
        """A connection that sees one moment of the store, and the view's offsets at that moment.

        Keep it short: the write-ahead log cannot be emptied while a moment is being looked at.
        """
        connection = self.connect()
        try:
            connection.execute("BEGIN")
            yield connection, _offsets(connection, relation_id)
        except sqlite3.Error as error:
            raise named(error, self.path) from error
        finally:
            connection.close()

    def close(self) -> None:
        """Close this thread's connection."""
        connection = self._local.__dict__.pop("connection", None)
        self._local.__dict__.pop("identity", None)
        self._local.__dict__.pop("looked", None)
        if connection is not None:
            connection.close()

    def _failed(self, error: sqlite3.Error) -> MillpondError:
        found = named(error, self.path)
        if found.name == "VIEW_STORE_CORRUPT":
            self.close()
        return found


def _offsets(connection: sqlite3.Connection, relation_id: str) -> dict[int, int]:
    query = "SELECT partition, next_offset FROM _offsets WHERE relation = ?"
    return dict(connection.execute(query, (relation_id,)).fetchall())
