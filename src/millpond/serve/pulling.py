"""Pull queries: an answer now, from the view store."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from millpond.catalog.model import Relation, SessionContext
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.queries.life import Status
from millpond.serve.answers import Answer
from millpond.serve.facts import Facts
from millpond.serve.live_facts import backfill_text
from millpond.serve.pull.prepared import Prepared, PreparedQueries
from millpond.serve.pull.subqueries import SEVERAL_ROWS
from millpond.serve.sys_tables import sys_tables
from millpond.sql.parser import parse
from millpond.sql.printer import print_statement
from millpond.sql.statements import Query
from millpond.types import Column
from millpond.views.faults import not_evaluated
from millpond.views.functions import register
from millpond.views.progress import ViewProgress
from millpond.views.reader import ViewReader
from millpond.views.schema import table_name
from millpond.views.time_limit import TimeLimit
from millpond.views.values import row_encoder

FIRST_ROW_SECONDS = 10.0
"""How long the first question to a new view waits for its first row: Spark's first query takes some seconds."""
SETTLE_SECONDS = 1.5
"""From the moment in which all is read until it must be in the view, or has no row in it."""
LOOK_SECONDS = 0.05
AWAITED_ROWS = 20_000
"""A backlog of more rows takes longer than anybody should wait: then its progress is the answer."""


class Filling(Protocol):
    """Who knows how the query stands that writes a view."""

    def filling(self, relation_id: str) -> Status | None: ...

    def unread(self, relation_id: str) -> int:
        """Rows that are there for the query but that it has not read."""
        ...


class Pulling:
    """Answers pull queries. Thread-safe: connections are per thread, plans are shared."""

    def __init__(
        self,
        catalog: CatalogReader,
        queries: Filling,
        views: ViewReader,
        facts: Facts,
        progress: Callable[[str], ViewProgress | None] = lambda relation_id: None,
    ) -> None:
        self.catalog, self.queries, self.views, self.facts, self.progress = catalog, queries, views, facts, progress
        self.prepared = PreparedQueries(catalog)
        self.seen: set[str] = set()
        """Views that have been filled and had rows: from then on no rows means no rows."""

    def fast(self, sql: str, context: SessionContext) -> Answer | None:
        """The answer of a statement of a known shape that looks up a key or an index; None for any other."""
        found = self.prepared.find(sql, context)
        if found is None or not found[0].cheap or not self._ready(found[0]):
            return None
        return self._answer(found[0], found[1], context)

    def answer(self, sql: str, query: Query, context: SessionContext) -> Answer:
        """The answer of any query over views. Raises what is wrong with it, and VIEW_NOT_READY."""
        prepared, bindings = self.prepared.find(sql, context) or self.prepared.prepare(sql, query, context)
        if prepared.system:
            return self._system(prepared, bindings, context)
        answer = self._answer(prepared, bindings, context)
        if prepared.cheap is None:
            prepared.cheap = self._looks_up(prepared, bindings)
        return answer

    def explain(self, query: Query, context: SessionContext) -> list[str]:
        """How SQLite goes about it, a step a line. The query is written anew: its own text may be a whole EXPLAIN."""
        (alone,) = parse(print_statement(query))
        assert isinstance(alone, Query)
        prepared, bindings = self.prepared.prepare(alone.text, alone, context)
        if not prepared.system:
            self._rows(f"SELECT 1 FROM ({prepared.sql}) LIMIT 0", bindings, prepared)
        steps = [] if prepared.system else self._steps(prepared, bindings)
        return ["pull query over the view store", *(f"  {step}" for step in steps)]

    def _answer(self, prepared: Prepared, bindings: Sequence[Any], context: SessionContext) -> Answer:
        message = "" if self._ready(prepared) else self._note(prepared)
        rows = [prepared.decode(row) for row in self._rows(prepared.sql, bindings, prepared)]
        return Answer(prepared.columns, rows, context, message, "SELECT")

    def _rows(self, sql: str, bindings: Sequence[Any], prepared: Prepared) -> list[tuple[Any, ...]]:
        """Raises VIEW_NOT_READY for a table that is not there yet, QUERY_TOO_LARGE, ROW_NOT_EVALUATED for no result."""
        try:
            return self.views.query(sql, bindings)
        except MillpondError as error:
            if error.name != "VIEW_STORE_FAILED":
                raise
            cause = error.__cause__
            if prepared.views and (not isinstance(cause, sqlite3.Error) or "no such table" in str(cause)):
                raise self._not_ready(prepared.views[0]) from error
            if isinstance(cause, sqlite3.Error):
                raise _not_evaluated(cause) from error
            raise

    # --- views that are still being filled ---

    def _ready(self, prepared: Prepared) -> bool:
        """Whether every view has got past its first backfill, has had rows, and is not being rebuilt."""
        return all(view.id in self.seen and not self._loading(view) for view in prepared.views)

    def _loading(self, view: Relation) -> bool:
        found = self.progress(view.id)
        return found is not None and found.loading

    def _note(self, prepared: Prepared) -> str:
        """What to say of views that are still filling; raises VIEW_NOT_READY where that would look like emptiness."""
        return " ".join(filter(None, (self._note_of(view, prepared) for view in prepared.views)))

    def _note_of(self, view: Relation, prepared: Prepared) -> str:
        if self._loading(view):
            raise self._not_ready(view)
        if view.id in self.seen:
            return ""
        status = self.queries.filling(view.id)
        filling = status is not None and not status.caught_up
        few = status is None or status.backfill_total <= AWAITED_ROWS
        rows = self._has_rows(view, prepared) or (few and self._comes(view, prepared))
        if not rows and filling:
            raise self._not_ready(view)
        if not rows:
            return f"View '{view.name}' has seen nothing yet: {self._progress_text(view)}."
        if filling:
            return f"View '{view.name}' is still filling: {self._progress_text(view)}."
        self.seen.add(view.id)
        return ""

    def _has_rows(self, view: Relation, prepared: Prepared) -> bool:
        return bool(self._rows(f'SELECT 1 FROM "{table_name(view.id)}" LIMIT 1', (), prepared))

    def _comes(self, view: Relation, prepared: Prepared) -> bool:
        """Wait for the first row of a view whose query has just been made, while there is something for it to read.

        Whoever writes a row and asks at once gets the row, not the news that the query starts.
        """
        quiet = time.monotonic()
        deadline = quiet + FIRST_ROW_SECONDS
        unread = seen = self.queries.unread(view.id) > 0
        while seen and time.monotonic() < (deadline if unread else min(deadline, quiet + SETTLE_SECONDS)):
            time.sleep(LOOK_SECONDS)
            if self._has_rows(view, prepared):
                return True
            unread = self.queries.unread(view.id) > 0
            quiet = time.monotonic() if unread else quiet
        return False

    def _not_ready(self, view: Relation) -> MillpondError:
        return MillpondError("VIEW_NOT_READY", name=view.name, progress=self._progress_text(view))

    def _progress_text(self, view: Relation) -> str:
        """How much of its changelog the view has, while it is rebuilt; else how much of its source its query has."""
        found = self.progress(view.id)
        if found is not None and found.loading:
            total = sum(found.ends.values())
            return f"{total - found.lag} of {total} changelog records read"
        status = self.queries.filling(view.id)
        return backfill_text(status) if status else "nothing fills it"

    # --- how it is answered ---

    def _looks_up(self, prepared: Prepared, bindings: Sequence[Any]) -> bool:
        """Whether SQLite finds the rows by equal keys alone. A range of keys may be long, an automatic index is."""
        steps = self._steps(prepared, bindings)
        return bool(steps) and all(
            step.startswith("SEARCH") and not any(mark in step for mark in ("AUTOMATIC", ">", "<")) for step in steps
        )

    def _steps(self, prepared: Prepared, bindings: Sequence[Any]) -> list[str]:
        """After a query on this connection: EXPLAIN does not look whether there are new indexes, nor does its cache."""
        sql = f"EXPLAIN QUERY PLAN {prepared.sql} -- {self.catalog.version}"
        return [str(row[3]) for row in self._rows(sql, bindings, prepared)]

    def _system(self, prepared: Prepared, bindings: Sequence[Any], context: SessionContext) -> Answer:
        """A query over deltastream.sys: its tables are loaded into a store of their own in memory."""
        if prepared.views:
            raise MillpondError(
                "NOT_QUERYABLE",
                what="A view beside deltastream.sys",
                instead="Ask the two in two statements.",
            )
        connection, limit = sqlite3.connect(":memory:"), TimeLimit(self.views.timeout)
        try:
            register(connection)
            limit.watch(connection)
            for name, table in sys_tables(self.catalog, self.facts).items():
                if f'"sys_{name}"' in prepared.sql:
                    _load(connection, f"sys_{name}", table.columns, table.rows)
            limit.begin()
            rows = [prepared.decode(row) for row in connection.execute(prepared.sql, bindings)]
        except sqlite3.Error as error:
            raise _not_evaluated(error) from error
        finally:
            limit.end()
            connection.close()
        return Answer(prepared.columns, rows, context, "", "SELECT")


def _not_evaluated(error: sqlite3.Error) -> MillpondError:
    if SEVERAL_ROWS in str(error):
        return MillpondError("SUBQUERY_SEVERAL_ROWS")
    return not_evaluated(error)


def _load(
    connection: sqlite3.Connection, name: str, columns: tuple[Column, ...], rows: Sequence[Sequence[Any]]
) -> None:
    listed = ", ".join(f'"{c.name}"' for c in columns)
    connection.execute(f'CREATE TABLE "{name}" ({listed})')
    encode = row_encoder(columns)
    marks = ", ".join("?" * len(columns))
    connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', [tuple(encode(r)) for r in rows])
