"""Bytes <-> Python values, by type."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.catalog.model import Relation, RelationKind
from millpond.errors import MillpondError
from millpond.stores.formats.json_reader import decode_json
from millpond.stores.formats.json_writer import encode_json
from millpond.stores.formats.numbers import java_float
from millpond.stores.formats.primitive import decode_primitive, encode_primitive
from millpond.stores.formats.records import (
    encode_key,
    encode_value,
    key_columns,
    key_decoder,
    key_rows,
    value_decoder,
)
from millpond.stores.formats.undecodable import UndecodableError
from millpond.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMP_LTZ,
    TINYINT,
    VARCHAR,
    ArrayType,
    Column,
    DataType,
    DecimalType,
    Field,
    MapType,
    StructType,
)
from tests.calendar_cases import HELD, OUTSIDE

D10_2 = DecimalType(precision=10, scale=2)
POINT = StructType(fields=(Field("x", BIGINT), Field("Name", VARCHAR)))

DECODED: list[tuple[DataType, str, Any]] = [
    (BIGINT, "12", 12),
    (BIGINT, '"12"', 12),
    (BIGINT, "12.0", 12),
    (BIGINT, "1.2e1", 12),
    (BIGINT, "9223372036854775807", 2**63 - 1),
    (BIGINT, "9007199254740993.0", 2**53 + 1),
    (TINYINT, "-128", -128),
    (DOUBLE, "1", 1.0),
    (DOUBLE, '"1.5"', 1.5),
    (DOUBLE, '"Infinity"', math.inf),
    (DOUBLE, '"-Infinity"', -math.inf),
    (FLOAT, "0.1", 0.10000000149011612),
    (D10_2, "1.005", Decimal("1.01")),
    (D10_2, "12345678.90", Decimal("12345678.90")),
    (D10_2, "7", Decimal("7.00")),
    (D10_2, '"-0.001"', Decimal("0.00")),
    (BOOLEAN, "true", True),
    (BOOLEAN, '"FALSE"', False),
    (VARCHAR, '"é\\u0000"', "é\0"),
    (VARCHAR, "12", "12"),
    (VARCHAR, "1.10", "1.10"),
    (VARCHAR, "1e400", "1e400"),
    (VARCHAR, "true", "true"),
    (VARCHAR, '{"a":[1.10]}', '{"a":[1.1]}'),
    (BYTES, '"AQI="', b"\1\2"),
    (DATE, '"2024-02-29"', date(2024, 2, 29)),
    (TIME, '"23:59:59.5"', time(23, 59, 59, 500_000)),
    (TIMESTAMP, '"2024-02-29 23:59:59.123"', datetime(2024, 2, 29, 23, 59, 59, 123_000)),
    (TIMESTAMP, '"2024-02-29T23:59:59"', datetime(2024, 2, 29, 23, 59, 59)),
    (TIMESTAMP, "1500", datetime(1970, 1, 1, 0, 0, 1, 500_000)),
    (TIMESTAMP, "1.5", datetime(1970, 1, 1, 0, 0, 0, 1_500)),
    (TIMESTAMP_LTZ, "-1", datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)),
    (TIMESTAMP_LTZ, '"2024-01-01 00:00:00Z"', datetime(2024, 1, 1, tzinfo=UTC)),
    (TIMESTAMP_LTZ, '"2024-01-01T02:00:00+02:00"', datetime(2024, 1, 1, tzinfo=UTC)),
    (TIMESTAMP_LTZ, '"2023-12-31 18:30:00-0530"', datetime(2024, 1, 1, tzinfo=UTC)),
    (ArrayType(element=BIGINT), '[1,null,"3"]', [1, None, 3]),
    (MapType(key=BIGINT, value=D10_2), '{"1":2.5}', {1: Decimal("2.50")}),
    (POINT, '{"X":1,"Name":"a","more":2}', {"x": 1, "Name": "a"}),
    (POINT, "{}", {"x": None, "Name": None}),
    (BIGINT, "null", None),
]

NOT_DECODED: list[tuple[DataType, str]] = [
    (BIGINT, '"abc"'),
    (BIGINT, "1.5"),
    (BIGINT, "9223372036854775808"),
    (BIGINT, "true"),
    (BIGINT, "[]"),
    (TINYINT, "128"),
    (DOUBLE, '"one"'),
    (DOUBLE, '"nan"'),
    (FLOAT, "1e39"),
    (D10_2, "123456789"),
    (D10_2, "99999999.995"),
    (D10_2, "1e999999999"),
    (BOOLEAN, "1"),
    (BYTES, '"?"'),
    (DATE, '"2023-02-29"'),
    (DATE, '"2023-2-9"'),
    (TIME, '"24:00:00"'),
    (TIMESTAMP, '"2024-01-01 00:00:00Z"'),
    (TIMESTAMP, '"2024-01-01"'),
    (TIMESTAMP, '"123456-01-01 00:00:00"'),
    (TIMESTAMP_LTZ, '"2024-01-01 00:00:00+19:00"'),
    (TIMESTAMP_LTZ, "99999999999999999"),
    (ArrayType(element=BIGINT), "{}"),
    (MapType(key=VARCHAR, value=BIGINT), "[]"),
    (POINT, "3"),
]


def one(type_: DataType) -> tuple[Column, ...]:
    return (Column("c", type_),)


@pytest.mark.parametrize(("type_", "text", "expected"), [*DECODED, *HELD], ids=str)
def test_json_decodes_to(type_: DataType, text: str, expected: Any) -> None:
    (found,) = decode_json(b'{"c":%s}' % text.encode(), one(type_))
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("type_", "text"), [*NOT_DECODED, *OUTSIDE], ids=str)
def test_json_that_is_no_value_of_the_type_says_so(type_: DataType, text: str) -> None:
    with pytest.raises(UndecodableError, match=r"^column 'c'"):
        decode_json(b'{"c":%s}' % text.encode(), one(type_))


@pytest.mark.parametrize("data", [b"", b"[1]", b"null", b'{"c":1', b'{"c":1} 2', b'{"c":NaN}', b"\xff"])
def test_what_is_no_json_object_is_undecodable(data: bytes) -> None:
    for type_ in (BIGINT, D10_2):
        with pytest.raises(UndecodableError):
            decode_json(data, one(type_))


def test_a_double_may_be_nan() -> None:
    (found,) = decode_json(b'{"c":"NaN"}', one(DOUBLE))
    assert math.isnan(found)
    assert encode_json([found], one(DOUBLE)) == b'{"c":"NaN"}'


def test_names_match_exactly_first_then_without_case() -> None:
    columns = (Column("url", VARCHAR), Column("URL", VARCHAR), Column("ip", VARCHAR))
    assert decode_json(b'{"URL":"a","url":"b","IP":"c"}', columns) == ("b", "a", "c")
    assert decode_json(b'{"IP":"c","Ip":"d"}', columns[2:]) == (None,)


ENCODED: list[tuple[DataType, Any, str]] = [
    (BIGINT, 12, "12"),
    (D10_2, Decimal("1.5"), "1.50"),
    (D10_2, 3, "3.00"),
    (DOUBLE, 1e10, "1.0E10"),
    (DOUBLE, -math.inf, '"-Infinity"'),
    (FLOAT, 0.1, "0.1"),
    (BOOLEAN, True, "true"),
    (VARCHAR, 'é"\n\x01/', '"é\\"\\n\\u0001/"'),
    (BYTES, b"\1\2", '"AQI="'),
    (DATE, date(2024, 2, 29), '"2024-02-29"'),
    (TIME, time(1, 2, 3), '"01:02:03"'),
    (TIMESTAMP, datetime(2024, 1, 2, 3, 4, 5, 6), '"2024-01-02 03:04:05.000006"'),
    (TIMESTAMP_LTZ, datetime(2024, 1, 2, 3, 4, 5, 6000, UTC), '"2024-01-02 03:04:05.006Z"'),
    (ArrayType(element=D10_2), [Decimal(1), None], "[1.00,null]"),
    (MapType(key=BIGINT, value=BOOLEAN), {7: True}, '{"7":true}'),
    (POINT, {"x": 1, "Name": None}, '{"x":1,"Name":null}'),
    (BIGINT, None, "null"),
]


@pytest.mark.parametrize(("type_", "value", "expected"), ENCODED, ids=str)
def test_json_encodes_to(type_: DataType, value: Any, expected: str) -> None:
    assert encode_json([value], one(type_)).decode() == f'{{"c":{expected}}}'


def test_iso_timestamps_have_a_t() -> None:
    assert encode_json([datetime(2024, 1, 2)], one(TIMESTAMP), "iso8601") == b'{"c":"2024-01-02T00:00:00"}'


@pytest.mark.parametrize(
    ("type_", "value"), [(BIGINT, 2**63), (BIGINT, "1"), (VARCHAR, 1), (D10_2, Decimal("1e9")), (DATE, "x")]
)
def test_what_does_not_fit_is_not_written(type_: DataType, value: Any) -> None:
    with pytest.raises(MillpondError) as caught:
        encode_json([value], one(type_))
    assert caught.value.name == "VALUE_NOT_ENCODABLE"


JAVA_DOUBLES = [
    (0.0, "0.0"),
    (-0.0, "-0.0"),
    (1.0, "1.0"),
    (0.001, "0.001"),
    (0.0001, "1.0E-4"),
    (1234567.0, "1234567.0"),
    (12345678.5, "1.23456785E7"),
    (1e7, "1.0E7"),
    (-2.5e-300, "-2.5E-300"),
    (4.402885783709866e16, "4.402885783709866E16"),
    (2e23, "2.0E23"),
    (5e-324, "4.9E-324"),
    (100.0, "100.0"),
    (math.inf, "Infinity"),
]


@pytest.mark.parametrize(("value", "expected"), JAVA_DOUBLES)
def test_doubles_are_spelled_as_java_does(value: float, expected: str) -> None:
    assert java_float(value) == expected


@given(st.floats(allow_nan=False))
def test_a_spelled_double_is_the_same_double(value: float) -> None:
    assert math.copysign(1, float(java_float(value))) == math.copysign(1, value)
    assert float(java_float(value)) == value


PRIMITIVES = [
    (VARCHAR, "é", "é".encode()),
    (BIGINT, -1, b"\xff" * 8),
    (INTEGER, 1, b"\0\0\0\1"),
    (SMALLINT, 1, b"\0\1"),
    (DOUBLE, 1.0, b"\x3f\xf0" + bytes(6)),
    (BOOLEAN, True, b"\1"),
    (BYTES, b"x", b"x"),
]


@pytest.mark.parametrize(("type_", "value", "data"), PRIMITIVES, ids=str)
def test_primitives_have_kafkas_bytes(type_: DataType, value: Any, data: bytes) -> None:
    assert encode_primitive(type_, value) == data
    assert decode_primitive(type_, data) == value


def test_bad_primitives_are_named() -> None:
    with pytest.raises(UndecodableError, match="3 bytes are not a BIGINT"):
        decode_primitive(BIGINT, b"abc")
    with pytest.raises(UndecodableError):
        decode_primitive(VARCHAR, b"\xff")
    with pytest.raises(MillpondError):
        encode_primitive(BIGINT, "x")
    assert encode_primitive(BIGINT, None) is None


VALUES: dict[DataType, st.SearchStrategy[Any]] = {
    BIGINT: st.integers(-(2**63), 2**63 - 1),
    DOUBLE: st.floats(allow_nan=False),
    VARCHAR: st.text(st.characters(codec="utf-8")),
    BOOLEAN: st.booleans(),
    BYTES: st.binary(max_size=20),
    DATE: st.dates(),
    TIME: st.times(),
    TIMESTAMP: st.datetimes(),
    TIMESTAMP_LTZ: st.datetimes(timezones=st.just(UTC)),
    D10_2: st.decimals(-99999999, 99999999, places=2).map(lambda d: d or abs(d)),
    ArrayType(element=TIMESTAMP): st.lists(st.none() | st.datetimes(), max_size=3),
    MapType(key=DATE, value=DOUBLE): st.dictionaries(st.dates(), st.floats(allow_nan=False), max_size=3),
}
COLUMNS = tuple(Column(f"c{i}", t) for i, t in enumerate(VALUES))


@settings(max_examples=200)
@given(st.tuples(*(st.none() | v for v in VALUES.values())), st.sampled_from(["sql", "iso8601"]))
def test_rows_survive_the_round_trip(row: tuple[Any, ...], timestamp_format: str) -> None:
    assert decode_json(encode_json(row, COLUMNS, timestamp_format), COLUMNS) == row


VIEW = Relation(
    id="1-2",
    database="d",
    schema="s",
    name="v",
    kind=RelationKind.VIEW,
    columns=(Column("url", VARCHAR), Column("device", VARCHAR), Column("visits", BIGINT)),
    primary_key=("url", "device"),
    store="kafka",
    topic="v",
    value_format="json",
    key_format="json",
    key_type=None,
    key_columns=("url", "device"),
    timestamp_column=None,
    timestamp_format="sql",
    owner="o",
    created_at=0,
    updated_at=0,
)


def test_a_key_of_json_is_an_object_of_its_columns() -> None:
    assert encode_key(VIEW, ("./home", "d1")) == b'{"url":"./home","device":"d1"}'
    assert key_decoder(VIEW)(b'{"url":"./home","device":"d1"}') == ("./home", "d1")
    assert key_rows(VIEW)(b'{"url":"./home","device":"d1"}') == ("./home", "d1", None)


def test_a_primitive_key_is_its_bare_value() -> None:
    keyed = replace(VIEW, key_format="primitive", key_columns=("visits",))
    assert encode_key(keyed, (5,)) == b"\0\0\0\0\0\0\0\5"
    assert key_rows(keyed)(b"\0\0\0\0\0\0\0\5") == (None, None, 5)


def test_a_view_over_a_stream_has_hidden_key_columns() -> None:
    hidden = replace(VIEW, primary_key=(), key_columns=())
    assert [c.name for c in key_columns(hidden)] == ["_partition", "_offset"]
    assert encode_key(hidden, (1, 2)) == b'{"_partition":1,"_offset":2}'
    assert key_rows(hidden)(b'{"_partition":1,"_offset":2}') == (None, None, None)


def test_a_stream_without_a_key_writes_none() -> None:
    plain = replace(VIEW, kind=RelationKind.STREAM, primary_key=(), key_columns=(), key_format=None)
    assert encode_key(plain, ()) is None
    assert key_rows(plain)(None) == (None, None, None)


def test_excluded_columns_are_only_in_the_key() -> None:
    apart = replace(VIEW, properties={"value.columns.exclude": "url, device"})
    value = encode_value(apart, ("a", "b", 3))
    assert value == b'{"visits":3}'
    assert value_decoder(apart)(encode_key(apart, ("a", "b")), value) == ("a", "b", 3)
    assert value_decoder(apart)(None, value) == (None, None, 3)


def test_a_primitive_value_is_the_one_column() -> None:
    bare = replace(VIEW, columns=(Column("line", VARCHAR),), value_format="primitive")
    assert encode_value(bare, ("x",)) == b"x"
    assert value_decoder(bare)(None, b"x") == ("x",)
