"""The Java decoder and encoder of delimited text against their twins in Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from millpond.spark.codec import RecordFormat, decode, encode_value
from millpond.spark.types import to_spark_schema
from millpond.stores.formats.delimited import delimited_decoder, encode_delimited
from millpond.stores.formats.undecodable import UndecodableError
from tests import delimited_records as dr
from tests.spark.job_per_example import JOB_PER_EXAMPLE
from tests.spark.test_avro import listed
from tests.spark.test_codec import marked, plain, records_frame

pytestmark = pytest.mark.spark


def java_rows(
    spark: SparkSession, columns: dr.Columns, delimiter: str, records: Sequence[bytes], handling: str = "IGNORE"
) -> list[Any]:
    column = decode(
        columns, RecordFormat("delimited", {"delimiter": delimiter}), query_id="csv", error_handling=handling
    )
    found = records_frame(spark, records).select(column.alias("r")).collect()
    return [None if row.r is None else [plain(c.type, v) for c, v in zip(columns, row.r, strict=True)] for row in found]


def python_rows(columns: dr.Columns, delimiter: str, records: Sequence[bytes]) -> list[Any]:
    read, found = delimited_decoder(columns, delimiter), []
    for data in records:
        try:
            found.append(as_list(columns, read(data)))
        except UndecodableError:
            found.append(None)
    return found


def as_list(columns: dr.Columns, row: Sequence[Any]) -> Any:
    return [listed(c.type, v) for c, v in zip(columns, row, strict=True)]


def test_lines_become_rows(spark: SparkSession) -> None:
    for columns, delimiter, record, row in dr.GOOD:
        assert marked(java_rows(spark, columns, delimiter, [record])) == marked([as_list(columns, row)]), record


@pytest.mark.parametrize(("columns", "delimiter", "record", "reason"), dr.BAD, ids=repr)
def test_what_is_no_row_says_why(
    spark: SparkSession, columns: dr.Columns, delimiter: str, record: bytes, reason: str
) -> None:
    with pytest.raises(Py4JJavaError) as caught:
        java_rows(spark, columns, delimiter, [record], "TERMINATE")
    assert reason in str(caught.value)


def test_rows_become_lines(spark: SparkSession) -> None:
    for columns, delimiter, row, record in dr.WRITTEN:
        frame = spark.createDataFrame([row], to_spark_schema(columns))
        assert (
            bytes(
                frame.select(encode_value(columns, RecordFormat("delimited", {"delimiter": delimiter}))).collect()[0][0]
            )
            == record
        )


@JOB_PER_EXAMPLE
@given(table=dr.tables)
def test_rows_are_written_as_the_twin_writes_them_and_read_back(spark: SparkSession, table: Any) -> None:
    columns, delimiter, rows = table
    expected = [encode_delimited(row, columns, delimiter, "iso8601") for row in rows]
    frame = spark.createDataFrame(rows, to_spark_schema(columns)).coalesce(1)
    column = encode_value(columns, RecordFormat("delimited", {"timestamp.format": "iso8601", "delimiter": delimiter}))
    assert [bytes(r[0]) for r in frame.select(column).collect()] == expected
    stained = [stain(data) for data in expected]
    read = java_rows(spark, columns, delimiter, [*expected, *stained])
    assert marked(read[: len(rows)]) == marked([as_list(columns, row) for row in rows])
    assert marked(read) == marked(python_rows(columns, delimiter, [*expected, *stained]))


def stain(data: bytes) -> bytes:
    """The record with one byte put in somewhere."""
    chance = random.Random(data)
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice([b'"', b",", b"\n", b"\r", b" ", b"\t", b"\xc3"]) + data[at:]
