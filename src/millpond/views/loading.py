"""Where the rows of a view that is being loaded wait: a scratch database beside the store.

Putting a million rows one by one into a tree that is ordered by key costs a random page each; appending them
and sorting once does not.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from millpond.catalog.model import Relation
from millpond.views.rows import Rows
from millpond.views.schema import column_definitions, quote, table_name

STATEMENT_ROWS = 100
"""Rows that one statement appends: fewer cost time, more save none."""
STATEMENT_VALUES = 32_766
"""Values that a statement of SQLite takes at most: of a wide view it appends fewer rows."""


class Stage:
    """Staged rows, by view. They do not outlive the writer: a load that was cut short begins again."""

    def __init__(self, connection: sqlite3.Connection, store: Path) -> None:
        self._connection = connection
        self._path = store.with_name(store.name + "-load")
        self._tables: set[str] = set()
        self._attached = False

    def add(self, relation: Relation, rows: Rows) -> None:
        """Append rows; later ones win."""
        table = self._table(relation)
        blanks = ", NULL" * len(relation.columns)
        marks = ", ".join("?" * (len(relation.columns) + 2))
        self._connection.execute("BEGIN")
        try:
            self._append(f"INSERT INTO {table} VALUES ", f"({marks}, 0)", rows.upserts)
            self._connection.executemany(f"INSERT INTO {table} VALUES (?{blanks}, ?, 1)", rows.deletes)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _append(self, insert: str, marks: str, rows: Sequence[Sequence[Any]]) -> None:
        """Many rows a statement: with one for each, half the time goes into running statements."""
        size = min(STATEMENT_ROWS, STATEMENT_VALUES // marks.count("?"))
        whole = len(rows) - len(rows) % size
        many = insert + ", ".join([marks] * size)
        for start in range(0, whole, size):
            self._connection.execute(many, tuple(chain.from_iterable(rows[start : start + size])))
        self._connection.executemany(insert + marks, rows[whole:])

    def move(self, relation: Relation) -> None:
        """Put the last row of each key into the view, in key order; within the caller's transaction."""
        if table_name(relation.id) not in self._tables:
            return
        columns = ", ".join(quote(c.name) for c in relation.columns)
        # max(rowid) makes SQLite take the other columns from the row that has it.
        last = f"SELECT *, max(rowid) FROM {self._table(relation)} GROUP BY _key"
        self._connection.execute(
            f"INSERT OR REPLACE INTO main.{quote(table_name(relation.id))}(_key, {columns}, _ingested) "
            f"SELECT _key, {columns}, _ingested FROM ({last}) WHERE NOT _deleted"
        )

    def drop(self, relation_id: str) -> None:
        """Forget what was staged for a view; the file goes with the last of them."""
        name = table_name(relation_id)
        if name in self._tables:
            self._tables.discard(name)
            self._connection.execute(f"DROP TABLE IF EXISTS load.{quote(name)}")
        if self._attached and not self._tables:
            self._connection.execute("DETACH load")
            self._attached = False
            self.remove_file()

    def remove_file(self) -> None:
        """Delete the scratch file."""
        self._path.unlink(missing_ok=True)

    def _table(self, relation: Relation) -> str:
        name = table_name(relation.id)
        if name not in self._tables:
            self._attach()
            self._connection.execute(
                f"CREATE TABLE load.{quote(name)}"
                f"(_key BLOB, {column_definitions(relation)}, _ingested INTEGER, _deleted INTEGER)"
            )
            self._tables.add(name)
        return f"load.{quote(name)}"

    def _attach(self) -> None:
        if not self._attached:
            self.remove_file()
            self._connection.execute("ATTACH ? AS load", (str(self._path),))
            self._connection.execute("PRAGMA load.journal_mode = MEMORY")
            self._connection.execute("PRAGMA load.synchronous = OFF")
            self._attached = True
