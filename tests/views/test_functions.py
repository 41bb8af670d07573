"""Every case of the function table, evaluated by SQLite over the view store's encodings."""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from millpond.errors import MillpondError
from millpond.plan.expressions import ColumnRef, Expr, Literal
from millpond.plan.scope import Scope
from millpond.types import VARCHAR, Column
from millpond.views.expressions import to_sqlite
from millpond.views.faults import refusal
from millpond.views.functions import register
from millpond.views.time_limit import TimeLimit
from millpond.views.values import from_sqlite_value, row_encoder, to_sqlite_value
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


@pytest.mark.parametrize("sql", ["latest_by_offset(v)", "earliest_by_offset(v)"])
def test_what_has_no_view_store_form_is_refused_by_name(sql: str) -> None:
    scope = Scope.of_relation(("t",), [Column(n, t) for n, t in GROUP])
    with pytest.raises(MillpondError) as error:
        to_sqlite(bound(sql, scope), _column)
    assert error.value.name == "NOT_IN_PULL_QUERY"


NOT_A_NUMBER = {
    "f + 1": None,
    "- f": None,
    "abs(f)": None,
    "sqrt(f)": None,
    "round(f, 1)": None,
    "cast(f as integer)": None,
    "cast(f as varchar)": "NaN",
    "f > 1e308": True,
    "sum(f)": None,
    "avg(f)": None,
    "stddev(f)": None,
}


@pytest.mark.parametrize(("sql", "expected"), NOT_A_NUMBER.items())
def test_nan_never_counts_as_zero(sql: str, expected: object) -> None:
    connection = sqlite3.connect(":memory:")
    register(connection)
    _fill(connection, "grouped", GROUP, [(None, None, math.nan, None), (None, None, math.nan, None)])
    assert evaluate(connection, bound(sql, group_scope()), "grouped") == expected
    connection.close()


def test_constants_may_be_parameters_but_for_those_that_decide_the_form(connection: sqlite3.Connection) -> None:
    expr = bound("timestampdiff(minute, dt, ts) > 5 and date_format(ts, 'yyyy') = '2024'", sample_scope())
    values: list[Any] = []

    def parameter(literal: Literal) -> str:
        values.append(to_sqlite_value(literal.type, literal.value))
        return f"?{len(values)}"

    text = to_sqlite(expr, _column, parameter)
    assert values == [5, "2024"]
    assert connection.execute(f"SELECT {text} FROM sample", values).fetchone() == (1,)


def test_like_looks_at_case() -> None:
    connection = sqlite3.connect(":memory:")
    register(connection)
    assert connection.execute("SELECT 'A' LIKE 'a'").fetchone() == (0,)
    connection.close()


TOO_LARGE = [
    "repeat('x', 2000000000)",
    "repeat(repeat('x', 100000), 100000)",
    "lpad('x', 2000000000, 'y')",
    "rpad('x', 2000000000, 'y')",
    "space(2000000000)",
    "regexp_replace(repeat('x', 100000), 'x', '" + "$0" * 170 + "')",
    "repeat('x', 9000000) || repeat('x', 9000000)",
    "concat_ws(repeat('x', 9000000), 'a', 'b', 'c')",
    "replace(repeat('x', 10000000), 'x', 'yy')",
    "split(repeat('x,', 2000000), ',')",
    "regexp_split(repeat('x,', 2000000), ',')",
    "regexp_extract_all(repeat('x', 2000000), 'x')",
    "array[repeat('x', 9000000), repeat('x', 9000000)]",
    "array_join(split(repeat('x,', 10000), ','), repeat('x', 10000))",
]


@pytest.mark.parametrize("sql", TOO_LARGE)
def test_a_value_that_would_fill_the_memory_is_refused_before_it_is_made(
    connection: sqlite3.Connection, sql: str
) -> None:
    limit = TimeLimit(60)
    limit.begin()
    with pytest.raises(sqlite3.Error) as caught:
        evaluate(connection, bound(sql, sample_scope()), "sample")
    limit.end()
    refused = refusal(caught.value)
    assert refused is not None
    assert refused.name == "VALUE_TOO_LARGE"


AWKWARD = ["it's", "a\\b", "nul\0inside", "\0", "new\nline", "?1", "😀"]


@pytest.mark.parametrize("value", AWKWARD)
def test_any_text_survives_as_a_constant(connection: sqlite3.Connection, value: str) -> None:
    assert evaluate(connection, Literal(VARCHAR, value), "sample") == value


@pytest.mark.parametrize("sql", ["regexp_like('{}', '(a|a)+$')", "regexp_replace('{}', '(a|a)+$', 'b')"])
def test_a_pattern_that_never_ends_is_ended_and_lets_others_run(connection: sqlite3.Connection, sql: str) -> None:
    ticks = 0
    ended = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not ended.wait(0.01):
            ticks += 1

    other = threading.Thread(target=tick)
    other.start()
    limit = TimeLimit(0.3)
    limit.begin()
    try:
        with pytest.raises(sqlite3.Error) as caught:
            evaluate(connection, bound(sql.format("a" * 50 + "!"), sample_scope()), "sample")
    finally:
        limit.end()
        ended.set()
        other.join()
    refused = refusal(caught.value)
    assert refused is not None
    assert refused.name == "QUERY_TIMED_OUT"
    assert ticks > 5


@pytest.mark.parametrize("pattern", ["a{100000000}", "((ab){1000}){1000}", "x{a}", "a{,5}"])
def test_a_pattern_whose_counts_fill_the_memory_or_are_none_is_refused_when_it_is_read(pattern: str) -> None:
    with pytest.raises(MillpondError) as error:
        bound(f"regexp_like('a', '{pattern}')", sample_scope())
    assert error.value.name == "INVALID_CONSTANT"
