"""Pull queries: an answer now, from the view store."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any

from millpond.catalog.model import Relation, SessionContext
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.queries.registry import Queries
from millpond.serve.answers import Answer
from millpond.serve.facts import Facts
from millpond.serve.live_facts import backfill_text
from millpond.serve.pull.prepared import Prepared, PreparedQueries
from millpond.serve.sys_tables import sys_tables
from millpond.sql.statements import Query
from millpond.views.functions import register
from millpond.views.reader import ViewReader
from millpond.views.values import row_encoder


class Pulling:
    """Answers pull queries. Thread-safe: connections are per thread, plans are shared."""

    def __init__(self, catalog: CatalogReader, queries: Queries, views: ViewReader, facts: Facts) -> None:
        self.catalog, self.queries, self.views, self.facts = catalog, queries, views, facts
        self.prepared = PreparedQueries(catalog)
        self.cheap: dict[str, bool] = {}
        self.seen: set[str] = set()
        self.lock = threading.Lock()

    def fast(self, sql: str, context: SessionContext) -> Answer | None:
        """The answer of a statement of a known shape that looks up a key or an index; None for any other."""
        found = self.prepared.find(sql, context)
        if found is None or not self.cheap.get(found[0].sql) or not self._ready(found[0]):
            return None
        return self._answer(found[0], found[1], context)

    def answer(self, sql: str, query: Query, context: SessionContext) -> Answer:
        """The answer of any query over views. Raises what is wrong with it, and VIEW_NOT_READY."""
        prepared, bindings = self.prepared.find(sql, context) or self.prepared.prepare(sql, query, context)
        if prepared.system:
            return self._system(prepared, bindings, context)
        if prepared.sql not in self.cheap:
            self.cheap[prepared.sql] = self._looks_up(prepared, bindings)
        return self._answer(prepared, bindings, context)

    def _answer(self, prepared: Prepared, bindings: Sequence[Any], context: SessionContext) -> Answer:
        rows = [prepared.decode(row) for row in self._rows(prepared, bindings)]
        message = "" if self._ready(prepared) else self._note(prepared, empty=not rows)
        return Answer(prepared.columns, rows, context, message, "SELECT")

    def _rows(self, prepared: Prepared, bindings: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            return self.views.query(prepared.sql, bindings)
        except MillpondError as error:
            if error.name != "VIEW_STORE_FAILED" or not prepared.views:
                raise
            raise self._not_ready(prepared.views[0]) from error

    def _ready(self, prepared: Prepared) -> bool:
        """Whether every view has got past its first backfill and has rows: looked up once, then remembered."""
        return all(view.id in self.seen for view in prepared.views)

    def _note(self, prepared: Prepared, empty: bool) -> str:
        """What to say of views that are still filling; raises VIEW_NOT_READY where that would look like emptiness."""
        notes = []
        for view in prepared.views:
            if view.id in self.seen:
                continue
            status = self.queries.filling(view.id)
            rows = self.views.query(f'SELECT 1 FROM "v_{view.id.replace("-", "_")}" LIMIT 1')
            if rows and (status is None or status.caught_up):
                self.seen.add(view.id)
            elif not rows and status is not None and not status.caught_up:
                raise self._not_ready(view)
            elif not rows:
                notes.append(f"View '{view.name}' has seen nothing yet: its query found no row to keep.")
            elif status is not None:
                progress = backfill_text(status.backfill_done, status.backfill_total)
                notes.append(f"View '{view.name}' is still filling: {progress}.")
        return " ".join(notes)

    def _not_ready(self, view: Relation) -> MillpondError:
        status = self.queries.filling(view.id)
        done, total = (status.backfill_done, status.backfill_total) if status else (0, 0)
        return MillpondError("VIEW_NOT_READY", name=view.name, progress=backfill_text(done, total))

    def _looks_up(self, prepared: Prepared, bindings: Sequence[Any]) -> bool:
        """Whether SQLite answers by keys and indexes alone."""
        plan = self.views.query(f"EXPLAIN QUERY PLAN {prepared.sql}", bindings)
        steps = [str(row[3]) for row in plan]
        return bool(steps) and all(s.startswith("SEARCH") for s in steps)

    def _system(self, prepared: Prepared, bindings: Sequence[Any], context: SessionContext) -> Answer:
        """A query over deltastream.sys: its tables are loaded into a store of their own in memory."""
        if prepared.views:
            raise MillpondError(
                "NOT_QUERYABLE",
                what="A view beside deltastream.sys",
                instead="Ask the two in two statements.",
            )
        connection = sqlite3.connect(":memory:")
        try:
            register(connection)
            for name, table in sys_tables(self.catalog, self.facts).items():
                _load(connection, f"sys_{name}", table.columns, table.rows)
            rows = [prepared.decode(row) for row in connection.execute(prepared.sql, bindings)]
        finally:
            connection.close()
        return Answer(prepared.columns, rows, context, "", "SELECT")


def _load(connection: sqlite3.Connection, name: str, columns: Sequence[Any], rows: Sequence[Sequence[Any]]) -> None:
    listed = ", ".join(f'"{c.name}"' for c in columns)
    connection.execute(f'CREATE TABLE "{name}" ({listed})')
    encode: Callable[[Sequence[Any]], Sequence[Any]] = row_encoder(tuple(columns))
    marks = ", ".join("?" * len(columns))
    connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', [tuple(encode(r)) for r in rows])
