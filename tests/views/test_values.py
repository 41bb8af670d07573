"""Python values <-> SQLite's, through a real table."""

from __future__ import annotations

import math
import sqlite3
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from millpond.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    TIME,
    TIMESTAMP,
    TIMESTAMP_LTZ,
    VARCHAR,
    ArrayType,
    Column,
    DataType,
    DecimalType,
    Field,
    MapType,
    StructType,
)
from millpond.views.connection import open_writer
from millpond.views.schema import sqlite_type
from millpond.views.values import from_sqlite_value, row_decoder, row_encoder, to_sqlite_value

D = DecimalType(precision=38, scale=4)
CASES: list[tuple[DataType, Any, Any]] = [
    (BIGINT, 2**63 - 1, 2**63 - 1),
    (BOOLEAN, True, 1),
    (DOUBLE, 1.0, 1.0),
    (DOUBLE, math.inf, math.inf),
    (VARCHAR, "1", "1"),
    (D, Decimal("1.5"), "1.5000"),
    (DATE, date(1969, 12, 31), -1),
    (TIME, time(0, 0, 1, 5), 1_000_005),
    (TIMESTAMP, datetime(1970, 1, 2), 86_400_000_000),
    (TIMESTAMP_LTZ, datetime(1970, 1, 1, 0, 0, 0, 1, UTC), 1),
    (BYTES, b"\0", b"\0"),
    (ArrayType(element=D), [Decimal("1.1000"), None], "[1.1000,null]"),
    (MapType(key=BIGINT, value=DATE), {1: date(2024, 1, 2)}, '{"1":"2024-01-02"}'),
    (StructType(fields=(Field("a", DOUBLE),)), {"a": 1.5}, '{"a":1.5}'),
    (BIGINT, None, None),
]


@pytest.fixture
def sqlite(tmp_path: Any) -> Any:
    connection = open_writer(tmp_path / "v.db")
    yield connection
    connection.close()


@pytest.mark.parametrize(("type_", "value", "kept"), CASES, ids=str)
def test_a_value_is_kept_and_comes_back(type_: DataType, value: Any, kept: Any, sqlite: sqlite3.Connection) -> None:
    assert to_sqlite_value(type_, value) == kept
    sqlite.execute(f"CREATE TABLE t(c {sqlite_type(type_)})")
    sqlite.execute("INSERT INTO t VALUES (?)", (kept,))
    found = from_sqlite_value(type_, sqlite.execute("SELECT c FROM t").fetchone()[0])
    assert found == value
    assert type(found) is type(value)


def test_nan_is_text_and_sorts_above_all_numbers(sqlite: sqlite3.Connection) -> None:
    sqlite.execute("CREATE TABLE t(c REAL)")
    for value in (math.nan, math.inf, -1.0):
        sqlite.execute("INSERT INTO t VALUES (?)", (to_sqlite_value(DOUBLE, value),))
    found = [from_sqlite_value(DOUBLE, c) for (c,) in sqlite.execute("SELECT c FROM t ORDER BY c")]
    assert found[:2] == [-1.0, math.inf]
    assert math.isnan(found[2])


def test_decimals_are_ordered_by_value(sqlite: sqlite3.Connection) -> None:
    sqlite.execute(f"CREATE TABLE t(c {sqlite_type(D)})")
    sqlite.executemany("INSERT INTO t VALUES (?)", [("10.0000",), ("9.0000",), ("-1.0000",)])
    assert [c for (c,) in sqlite.execute("SELECT c FROM t ORDER BY c")] == ["-1.0000", "9.0000", "10.0000"]


def test_rows_without_anything_to_convert_are_left_alone() -> None:
    row = ("a", 1)
    assert row_decoder((Column("a", VARCHAR), Column("b", BIGINT)))(row) is row


def test_rows_are_converted_where_they_must_be() -> None:
    columns = (Column("a", VARCHAR), Column("b", D), Column("c", DATE))
    assert row_encoder(columns)(["x", Decimal(1), None]) == ("x", "1.0000", None)
    assert row_decoder(columns)(("x", "1.0000", 0)) == ("x", Decimal("1.0000"), date(1970, 1, 1))


def test_a_time_that_its_type_does_not_hold_is_shown_as_null_and_its_row_with_it() -> None:
    assert from_sqlite_value(TIMESTAMP, 10**18) is None
    columns = (Column("n", BIGINT), Column("t", TIMESTAMP), Column("d", DATE), Column("a", ArrayType(element=DATE)))
    row = (1, 253_402_300_800_000_000, -(10**6), '["+10000-01-01"]')
    assert row_decoder(columns)(row) == (1, None, None, None)
