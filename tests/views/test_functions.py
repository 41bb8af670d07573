"""Every case of the function table, evaluated by SQLite over the view store's encodings."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from millpond.errors import MillpondError
from millpond.plan.expressions import ColumnRef, Expr
from millpond.plan.scope import Scope
from millpond.types import Column
from millpond.views.expressions import to_sqlite
from millpond.views.functions import register
from millpond.views.values import from_sqlite_value, row_encoder
from tests.plan.functions.cases import (
    GROUP,
    GROUP_ROWS,
    SAMPLE,
    SCALAR_FILES,
    CaseLine,
    bound,
    group_scope,
    read_cases,
    sample_scope,
    show,
)


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    """A table `sample` of one row and a table `grouped` of five."""
    connection = sqlite3.connect(":memory:")
    register(connection)
    _fill(connection, "sample", [(n, t) for n, t, _ in SAMPLE], [tuple(v for _, _, v in SAMPLE)])
    _fill(connection, "grouped", GROUP, GROUP_ROWS)
    yield connection
    connection.close()


def _fill(connection: sqlite3.Connection, table: str, columns: Any, rows: Any) -> None:
    encode = row_encoder(tuple(Column(n, t) for n, t in columns))
    connection.execute(f"CREATE TABLE {table}({', '.join(n for n, _ in columns)})")
    marks = ", ".join("?" * len(columns))
    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", [encode(r) for r in rows])


def evaluate(connection: sqlite3.Connection, expr: Expr, table: str) -> Any:
    text = to_sqlite(expr, _column)
    (value,) = connection.execute(f"SELECT {text} FROM {table}").fetchone()
    return from_sqlite_value(expr.type, value)


def _column(reference: ColumnRef) -> str:
    return f'"{reference.name}"'


@pytest.mark.parametrize("case", read_cases(*SCALAR_FILES), ids=lambda c: c.sql)
def test_a_scalar_expression_means_what_its_case_says(connection: sqlite3.Connection, case: CaseLine) -> None:
    found = evaluate(connection, bound(case.sql, sample_scope()), "sample")
    assert case.accepts(found), f"{show(found)} instead of {case.expected}"


@pytest.mark.parametrize("case", read_cases("aggregates"), ids=lambda c: c.sql)
def test_an_aggregate_means_what_its_case_says(connection: sqlite3.Connection, case: CaseLine) -> None:
    found = evaluate(connection, bound(case.sql, group_scope()), "grouped")
    assert case.accepts(found), f"{show(found)} instead of {case.expected}"


@pytest.mark.parametrize("sql", ["rowkey()", "rowmeta()", "latest_by_offset(v)", "earliest_by_offset(v)"])
def test_what_has_no_view_store_form_is_refused_by_name(sql: str) -> None:
    scope = Scope.of_relation(("t",), [Column(n, t) for n, t in GROUP])
    with pytest.raises(MillpondError) as error:
        to_sqlite(bound(sql, scope), _column)
    assert error.value.name == "NOT_IN_PULL_QUERY"
