"""How many rows and bytes the views have, counted beside the folding."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

from millpond.errors import MillpondError
from millpond.views.reader import ViewReader
from millpond.views.schema import table_name

PAUSE_SECONDS = 2.0
SHARE = 50
"""A count that took one second is not made again for this many: counting takes two percent at most."""


class Sizes:
    """Counts views that have changed, in a thread of its own; `of` answers with the last count."""

    def __init__(self, path: Path) -> None:
        self._reader = ViewReader(path)
        self._changed: set[str] = set()
        self._known: dict[str, tuple[int, int]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="view-sizes", daemon=True)
        self._started = False

    def changed(self, relation_id: str) -> None:
        """Count this view again when there is time."""
        self._changed.add(relation_id)
        if not self._started:
            self._started = True
            self._thread.start()

    def of(self, relation_id: str) -> tuple[int, int]:
        """(rows, bytes)."""
        return self._known.get(relation_id, (0, 0))

    def close(self) -> None:
        self._stop.set()
        if self._started:
            self._thread.join()

    def _run(self) -> None:
        took = 0.0
        while not self._stop.wait(0.2 if not self._known else max(PAUSE_SECONDS, took * SHARE)):
            started = time.monotonic()
            while self._changed and not self._stop.is_set():
                relation_id = self._changed.pop()
                try:
                    self._known[relation_id] = self._count(relation_id)
                except MillpondError:
                    self._known.pop(relation_id, None)
            took = time.monotonic() - started
        self._reader.close()

    def _count(self, relation_id: str) -> tuple[int, int]:
        rows = self._reader.count(relation_id)
        name = table_name(relation_id)
        query = "SELECT name FROM sqlite_schema WHERE tbl_name = ? AND rootpage > 0"
        parts = [part for (part,) in self._reader.query(query, (name,))]
        return rows, sum(self._bytes(part) for part in parts)

    def _bytes(self, name: str) -> int:
        """Pages of a table or index; 0 where SQLite was built without its statistics table."""
        try:
            query = "SELECT pgsize FROM dbstat WHERE aggregate = TRUE AND name = ?"
            found = self._reader.query(query, (name,))
        except MillpondError as error:
            if isinstance(error.__cause__, sqlite3.OperationalError):
                return 0
            raise
        return int(found[0][0]) if found else 0
