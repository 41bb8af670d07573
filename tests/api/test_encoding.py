"""Values as text: one case a type."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from millpond.api.deltastream.encoding import RowEncoder, text_encoder
from millpond.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    TIME,
    TIMESTAMP,
    TIMESTAMP_LTZ,
    VARBINARY,
    VARCHAR,
    ArrayType,
    Column,
    DataType,
    DecimalType,
    Field,
    MapType,
    Sized,
    StructType,
)

NOON = datetime(2026, 1, 31, 12, 0, 0)

SOME_STRUCT = StructType(fields=(Field("at", TIMESTAMP), Field("ok", ArrayType(element=BOOLEAN)), Field("x", VARCHAR)))

CASES: list[tuple[DataType, Any, str]] = [
    (INTEGER, -7, "-7"),
    (BIGINT, 2**63 - 1, "9223372036854775807"),
    (BOOLEAN, True, "true"),
    (BOOLEAN, False, "false"),
    (VARCHAR, "ü\n", "ü\n"),
    (DOUBLE, 0.1, "0.1"),
    (DOUBLE, 1e300, "1e+300"),
    (DOUBLE, 2, "2.0"),
    (DOUBLE, float("nan"), "NaN"),
    (DOUBLE, float("inf"), "Infinity"),
    (FLOAT, 0.10000000149011612, "0.1"),
    (FLOAT, 16777216.0, "16777216.0"),
    (FLOAT, float("-inf"), "-Infinity"),
    (DecimalType(precision=10, scale=2), Decimal("12.30"), "12.30"),
    (DecimalType(precision=38, scale=0), Decimal("1E+20"), "100000000000000000000"),
    (DATE, date(2026, 1, 31), "2026-01-31"),
    (TIME, time(1, 2, 3), "01:02:03"),
    (TIME, time(1, 2, 3, 450_000), "01:02:03.450"),
    (Sized("TIME", 3), time(1, 2, 3), "01:02:03.000"),
    (TIMESTAMP, NOON, "2026-01-31 12:00:00.000"),
    (Sized("TIMESTAMP", 0), NOON, "2026-01-31 12:00:00"),
    (TIMESTAMP, NOON.replace(microsecond=123_456), "2026-01-31 12:00:00.123456"),
    (Sized("TIMESTAMP", 9), NOON, "2026-01-31 12:00:00.000000"),
    (TIMESTAMP, datetime(1, 1, 1), "0001-01-01 00:00:00.000"),
    (TIMESTAMP_LTZ, NOON.replace(tzinfo=UTC), "2026-01-31 12:00:00.000Z"),
    (TIMESTAMP_LTZ, NOON.replace(tzinfo=timezone(timedelta(hours=2))), "2026-01-31 10:00:00.000Z"),
    (BYTES, b"\x00\xff", "AP8="),
    (VARBINARY, b"", ""),
    (ArrayType(element=VARCHAR), ["a", None], '["a",null]'),
    (ArrayType(element=DecimalType(precision=10, scale=2)), [Decimal("1.10")], "[1.10]"),
    (ArrayType(element=DOUBLE), [0.5, float("nan")], '[0.5,"NaN"]'),
    (MapType(key=BIGINT, value=DATE), {1: date(2026, 1, 31)}, '{"1":"2026-01-31"}'),
    (SOME_STRUCT, {"ok": [True], "at": NOON}, '{"at":"2026-01-31 12:00:00.000","ok":[true],"x":null}'),
]


@pytest.mark.parametrize(("type_", "value", "text"), CASES, ids=[f"{t} {v}" for t, v, _ in CASES])
def test_a_value_is_written_as(type_: DataType, value: Any, text: str) -> None:
    assert text_encoder(type_)(value) == text


def test_null_is_null_in_every_type_and_a_short_row_is_filled_up() -> None:
    columns = [Column(f"c{i}", type_) for i, (type_, _, _) in enumerate(CASES)]
    assert RowEncoder(columns).row([None] * len(columns)) == [None] * len(columns)
    assert RowEncoder(columns).row([1]) == ["1", *[None] * (len(columns) - 1)]
