"""Projection and condition of a push query, row by row, in the very engine that answers pull queries."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeAlias

from millpond.plan.expressions import ColumnRef, Expr, walk
from millpond.types import Column
from millpond.views.expressions import to_sqlite
from millpond.views.faults import not_evaluated
from millpond.views.functions import register
from millpond.views.schema import quote
from millpond.views.values import row_decoder, row_encoder

Row: TypeAlias = tuple[Any, ...]
CACHED_STATEMENTS = 1024
_local = threading.local()


def compile_row(
    columns: tuple[Column, ...], exprs: Sequence[Expr], condition: Expr | None = None
) -> Callable[[Sequence[Any]], Row | None]:
    """A function from a row of `columns` (Python values) to the values of `exprs`; None if `condition` is not true.

    Raises NOT_IN_PULL_QUERY for a function without a view-store form. What it returns may be called in any thread.
    """
    places = [_place(columns, e) for e in exprs]
    if condition is None and None not in places:
        return lambda row: tuple([row[i] for i in places])  # type: ignore[index]
    names = {c.name: f"c{i}" for i, c in enumerate(columns)}
    sql = _statement(len(columns), exprs, condition, lambda ref: names[ref.name])
    encode = row_encoder(columns)
    decode = row_decoder(tuple(Column(f"e{i}", e.type) for i, e in enumerate(exprs)))

    def evaluate(row: Sequence[Any]) -> Row | None:
        try:
            found = _connection().execute(sql, tuple(encode(row))).fetchone()
        except sqlite3.Error as error:
            raise not_evaluated(error) from error
        return None if found is None else tuple(decode(found))

    return evaluate


def _place(columns: tuple[Column, ...], expr: Expr) -> int | None:
    """The index of the column that `expr` merely names."""
    if not isinstance(expr, ColumnRef):
        return None
    return next(i for i, c in enumerate(columns) if c.name == expr.name)


def _statement(width: int, exprs: Sequence[Expr], condition: Expr | None, column: Callable[[ColumnRef], str]) -> str:
    listed = ", ".join(to_sqlite(e, column) for e in exprs) or "NULL"
    where = f" WHERE {to_sqlite(condition, column)}" if condition is not None else ""
    given = ", ".join(f"?{i + 1} AS c{i}" for i in range(width))
    return f"SELECT {listed} FROM (SELECT {given}){where}"


def _connection() -> sqlite3.Connection:
    """This thread's scratch database."""
    found: sqlite3.Connection | None = getattr(_local, "connection", None)
    if found is None:
        found = sqlite3.connect(":memory:", isolation_level=None, cached_statements=CACHED_STATEMENTS)
        register(found)
        _local.connection = found
    return found


@dataclass(frozen=True, slots=True)
class Selection:
    """What a push query makes of a relation's rows. Made by `select`."""

    columns: tuple[Column, ...]
    """Of the result."""
    exprs: tuple[Expr, ...]
    condition: Expr | None
    apply: Callable[[Sequence[Any]], Row | None]
    """A row -> its projection, None if the condition is not true."""
    project: Callable[[Sequence[Any]], Row]
    """The same without the condition."""
    fingerprint: str
    """Tells queries with other columns or another condition apart."""

    def only_uses(self, names: Sequence[str]) -> bool:
        """Whether the condition depends on no other columns than these."""
        used = {e.name for e in walk(self.condition) if isinstance(e, ColumnRef)} if self.condition else set()
        return used <= set(names)

    def snapshot_sql(self, table: str) -> str:
        """SELECT of key, ingested and the projection from a view's table, with keys after ?1, at most ?2, in order."""
        listed = ", ".join(["_key", "_ingested", *(to_sqlite(e, _stored) for e in self.exprs)])
        if self.condition is None:
            return f"SELECT {listed} FROM {quote(table)} WHERE _key > ?1 ORDER BY _key LIMIT ?2"
        # The plus keeps SQLite from walking the whole table in key order where an index finds the rows.
        where = to_sqlite(self.condition, _stored)
        return f"SELECT {listed} FROM {quote(table)} WHERE ({where}) AND _key > ?1 ORDER BY +_key LIMIT ?2"


def _stored(reference: ColumnRef) -> str:
    return quote(reference.name)


def select(
    columns: tuple[Column, ...],
    output: tuple[Column, ...],
    exprs: Sequence[Expr],
    condition: Expr | None = None,
) -> Selection:
    """What becomes of rows of `columns`: `exprs`, named and typed by `output`, where `condition` is true."""
    project = compile_row(columns, exprs)

    def always(row: Sequence[Any]) -> Row:
        found = project(row)
        assert found is not None
        return found

    text = repr((tuple(str(c) for c in output), tuple(exprs), condition))
    return Selection(
        output,
        tuple(exprs),
        condition,
        project if condition is None else compile_row(columns, exprs, condition),
        always,
        blake2b(text.encode(), digest_size=8).hexdigest(),
    )
