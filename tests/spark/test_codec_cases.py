"""Decoder and encoder, case by case: exact bytes, exact reasons, limits, primitives."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millpond.errors import MillpondError
from millpond.spark.codec import (
    RecordFormat,
    decode,
    encode_key,
    encode_value,
    forget_written,
    mark_written,
    skip_written,
    undecodable_count,
)
from millpond.spark.types import to_spark_schema
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
from tests.spark.test_codec import records_frame

pytestmark = pytest.mark.spark

N = (Column("n", BIGINT),)


def column(data_type: DataType) -> tuple[Column, ...]:
    return (Column("c", data_type),)


ENCODINGS: list[tuple[DataType, Any, str, str]] = [
    (BIGINT, -(2**63), "-9223372036854775808", "-9223372036854775808"),
    (BIGINT, 1_000_000_000, "1000000000", "1000000000"),
    (INTEGER, 0, "0", "0"),
    (DecimalType(precision=10, scale=3), Decimal("-0.500"), "-0.500", "-0.500"),
    (DecimalType(precision=38, scale=0), Decimal("9" * 38), "9" * 38, "9" * 38),
    (BOOLEAN, True, "true", "true"),
    (DOUBLE, 0.1, "0.1", "0.1"),
    (DOUBLE, float("nan"), '"NaN"', '"NaN"'),
    (DOUBLE, float("-inf"), '"-Infinity"', '"-Infinity"'),
    (VARCHAR, 'a"b\\c\n\x01é😀', '"a\\"b\\\\c\\n\\u0001é😀"', '"a\\"b\\\\c\\n\\u0001é😀"'),
    (BYTES, bytearray(b"\x00\xff"), '"AP8="', '"AP8="'),
    (DATE, date(1, 1, 1), '"0001-01-01"', '"0001-01-01"'),
    (TIME, time(1, 2, 3, 4000), '"01:02:03.004"', '"01:02:03.004"'),
    (TIME, time(23, 59, 59), '"23:59:59"', '"23:59:59"'),
    (TIMESTAMP, datetime(2024, 2, 29, 1, 2, 3), '"2024-02-29 01:02:03"', '"2024-02-29T01:02:03"'),
    (TIMESTAMP, datetime(1960, 1, 1, 0, 0, 0, 1), '"1960-01-01 00:00:00.000001"', '"1960-01-01T00:00:00.000001"'),
    (TIMESTAMP_LTZ, datetime(2024, 1, 1, 0, 0, 0, 5000), '"2024-01-01 00:00:00.005Z"', '"2024-01-01T00:00:00.005Z"'),
    (ArrayType(element=INTEGER), [1, None], "[1,null]", "[1,null]"),
    (ArrayType(element=INTEGER), [], "[]", "[]"),
    (MapType(key=INTEGER, value=DOUBLE), {1: 0.5}, '{"1":0.5}', '{"1":0.5}'),
    (
        StructType(fields=(Field("a", VARCHAR), Field("b", DATE))),
        ("x", None),
        '{"a":"x","b":null}',
        '{"a":"x","b":null}',
    ),
]


def test_each_type_is_encoded_in_its_one_way(spark: SparkSession) -> None:
    columns = [Column(f"c{i}", case[0]) for i, case in enumerate(ENCODINGS)]
    row = spark.createDataFrame([tuple(case[1] for case in ENCODINGS)], to_spark_schema(columns))
    for at, form in ((2, "sql"), (3, "iso8601")):
        expected = [f'{{"{c.name}":{case[at]}}}' for c, case in zip(columns, ENCODINGS, strict=True)]
        written = row.select(
            *(encode_value([c], RecordFormat("json", {"timestamp.format": form})).alias(c.name) for c in columns)
        ).collect()[0]
        assert [bytes(w).decode() for w in written] == expected


REASONS: list[tuple[tuple[Column, ...], bytes, str]] = [
    (N, b'{"n": "abc"}', "column 'n': 'abc' is not a BIGINT"),
    (N, b'{"n": 9223372036854775808}', "column 'n': '9223372036854775808' is not a BIGINT"),
    (N, b'{"n": [1]}', "column 'n': '[...' is not a BIGINT"),
    (N, b"", "not JSON: it is empty"),
    (N, b"[1]", "not a JSON object"),
    (N, b'{"n": 1} {', "not JSON: more follows the object at byte 9"),
    (N, b'{"n": 1, x}', "at byte 9"),
    (N, b'{"n": 1', "not JSON: Unexpected end-of-input"),
    (N, b'{"x": "\xff"}', "not JSON: not UTF-8"),
    (N, '{"n": 1}'.encode("utf-16-le"), "not JSON: a zero byte at byte 1"),
    (N, b'{"x":' + b"[" * 100_000, "not JSON: Document nesting depth"),
    (N, b'{"n":' + b"1" * 5000 + b"}", "not JSON: Number value length"),
    (N, b'{"x":"' + b"x" * 10_000_000 + b'"}', "10000008 bytes are more than the limit of 8388608"),
    (column(DecimalType(precision=5, scale=2)), b'{"c": 1e999999999}', "is not a DECIMAL(5, 2)"),
    (column(DATE), b'{"c": "2023-02-29"}', "column 'c': '2023-02-29' is not a DATE"),
    (column(TIMESTAMP), b'{"c": "2024-01-01T00:00:00Z"}', "is not a TIMESTAMP"),
    (column(BYTES), b'{"c": "%%"}', "column 'c': '%%' is not base64"),
    (column(ArrayType(element=INTEGER)), b'{"c": [1, 2, "x"]}', "column 'c[3]': 'x' is not an INTEGER"),
    (
        column(MapType(value=StructType(fields=(Field("f", BOOLEAN),)))),
        b'{"c": {"k": {"f": 7}}}',
        "column 'c[k]->f': '7' is not a BOOLEAN",
    ),
]


@pytest.mark.parametrize(("columns", "record", "reason"), REASONS, ids=[r[2][:40] for r in REASONS])
def test_a_record_that_does_not_decode_says_why_and_where(
    spark: SparkSession, columns: tuple[Column, ...], record: bytes, reason: str
) -> None:
    with pytest.raises(Py4JJavaError) as stopped:
        decoded(records_frame(spark, [record]), columns, "json", error_handling="TERMINATE").collect()
    assert "undecodable record at topic 't', partition 0, offset 0: " in str(stopped.value)
    assert reason in str(stopped.value)


def decoded(frame: DataFrame, columns: Sequence[Column], form: str, **options: Any) -> DataFrame:
    options = {"query_id": "cases", "error_handling": "IGNORE", **options}
    return frame.select(decode(columns, form, **options).alias("r"))


def test_a_tombstone_is_a_null_row_and_no_error(spark: SparkSession) -> None:
    frame = records_frame(spark, [None, b'{"n":1}'])
    rows = decoded(frame, N, "json", query_id="tombstones", error_handling="TERMINATE").collect()
    assert [row.r and row.r.n for row in rows] == [None, 1]
    assert undecodable_count("tombstones") == 0


def test_a_record_that_is_read_again_is_counted_once(spark: SparkSession) -> None:
    frame = records_frame(spark, [b"x", b'{"n":1}', b"y"])
    for _ in range(2):
        decoded(frame, N, "json", query_id="again").collect()
    assert undecodable_count("again") == 2


def test_a_filter_above_does_not_decode_a_second_time(spark: SparkSession) -> None:
    rows = decoded(records_frame(spark, [b'{"n":1}', b'{"n":2}']), N, "json").where("r.n > 1").select("r.n")
    plan = rows._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("decode(") == 1
    assert [row.n for row in rows.collect()] == [2]


def test_names_match_exactly_first_and_then_without_case(spark: SparkSession) -> None:
    values = [b'{"N": 1}', b'{"N": 1, "n": 2}', b'{"n": 2, "N": 1}', b'{"m": 1}']
    rows = decoded(records_frame(spark, values), N, "json").collect()
    assert [row.r.n for row in rows] == [1, 2, 2, None]


PRIMITIVES: list[tuple[DataType, Any, bytes]] = [
    (VARCHAR, "é", "é".encode()),
    (BYTES, bytearray(b"\x00\x01"), b"\x00\x01"),
    (BOOLEAN, True, b"\x01"),
    (SMALLINT, -2, b"\xff\xfe"),
    (INTEGER, 258, b"\x00\x00\x01\x02"),
    (BIGINT, -1, b"\xff" * 8),
    (FLOAT, 1.0, b"\x3f\x80\x00\x00"),
    (DOUBLE, 1.0, b"\x3f\xf0" + b"\x00" * 6),
]


@pytest.mark.parametrize(("data_type", "value", "data"), PRIMITIVES, ids=[str(p[0]) for p in PRIMITIVES])
def test_primitives_have_the_bytes_of_kafka_s_serializers(
    spark: SparkSession, data_type: DataType, value: Any, data: bytes
) -> None:
    columns = column(data_type)
    frame = records_frame(spark, [None, None], [data, None])
    rows = decoded(frame, columns, "primitive", of_key=True)
    key = encode_key(columns, "primitive", values=[F.col("r").getField("c")])
    first, second = rows.select("r.c", key.alias("key")).collect()
    assert (first.c, bytes(first.key)) == (value, data)
    assert (second.c, second.key) == (None, None)


def test_a_primitive_of_another_length_is_undecodable(spark: SparkSession) -> None:
    with pytest.raises(Py4JJavaError, match="column 'c': 3 bytes are not a BIGINT of 8 bytes"):
        decoded(records_frame(spark, [b"abc"]), column(BIGINT), "primitive", error_handling="TERMINATE").collect()


@pytest.mark.parametrize("columns", [(*N, Column("m", BIGINT)), column(DATE), column(ArrayType())])
def test_only_one_column_of_a_serializable_type_is_primitive(spark: SparkSession, columns: tuple[Column, ...]) -> None:
    with pytest.raises(MillpondError) as refused:
        encode_value(columns, "primitive")
    assert refused.value.name == "NO_PRIMITIVE_FORM"


def test_text_that_is_not_utf8_is_repaired_when_it_is_written(spark: SparkSession) -> None:
    row = spark.sql("SELECT CAST(unhex('61FF62') AS STRING) AS c")
    assert bytes(row.select(encode_value(column(VARCHAR), "json")).collect()[0][0]).decode() == '{"c":"a\ufffdb"}'


def test_rows_that_were_written_before_are_skipped(spark: SparkSession) -> None:
    mark_written("skips", {0: [1, 2, 7], 1: [2**40]})
    frame = spark.createDataFrame([(0, 1), (0, 3), (1, 1), (1, 2**40), (2, 1)], "p int, o bigint")
    kept = frame.where(skip_written("skips", F.col("p"), F.col("o")))
    assert [tuple(r) for r in kept.collect()] == [(0, 3), (1, 1), (2, 1)]
    forget_written("skips")
    assert kept.count() == 5


def test_dates_and_times_are_of_the_years_1_to_9999(spark: SparkSession) -> None:
    for cases in (HELD, [(*case, None) for case in OUTSIDE]):
        for data_type in (DATE, TIMESTAMP, TIMESTAMP_LTZ):
            own = [case for case in cases if case[0] == data_type]
            frame = records_frame(spark, [b'{"c":%s}' % text.encode() for _, text, _ in own])
            found = decoded(frame, column(data_type), "json").select(F.col("r.c").cast("string")).collect()
            expected = [None if value is None else _as_spark_writes(value) for _, _, value in own]
            assert [row[0] for row in found] == expected


def test_a_date_or_time_that_an_expression_made_beyond_the_year_9999_is_written_as_null(spark: SparkSession) -> None:
    made = {
        DATE: ("date_add(DATE'9999-12-31', {})", "9999-12-31"),
        TIMESTAMP: ("TIMESTAMP_NTZ'9999-12-31 00:00:00' + make_dt_interval({})", "9999-12-31 00:00:00"),
        TIMESTAMP_LTZ: ("TIMESTAMP_LTZ'9999-12-31 00:00:00Z' + make_dt_interval({})", "9999-12-31 00:00:00Z"),
    }
    for data_type, (expression, last) in made.items():
        rows = spark.range(2).select(F.expr(expression.format("CAST(id AS INT)")).alias("c"))
        written = rows.coalesce(1).select(encode_value(column(data_type), "json").alias("v")).collect()
        assert [bytes(row.v).decode() for row in written] == [f'{{"c":"{last}"}}', '{"c":null}']


def _as_spark_writes(value: date | datetime) -> str:
    text = str(value).removesuffix("+00:00")
    return text.rstrip("0") if "." in text else text
