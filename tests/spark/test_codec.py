"""The Java decoder and encoder against the oracle in Python, on types, values and faults of all kinds."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millpond.spark.codec import RecordFormat, decode, encode_value
from millpond.types import Column, DataType, StructType
from tests.spark import json_codec_oracle as oracle
from tests.spark.job_per_example import JOB_PER_EXAMPLE
from tests.spark.record_strategies import batches

pytestmark = pytest.mark.spark

Batch = tuple[tuple[Column, ...], list[bytes]]


def records_frame(spark: SparkSession, values: Sequence[bytes | None], keys: Sequence[bytes | None] = ()) -> DataFrame:
    """A batch frame with the columns of Kafka's source."""
    rows = [(keys[i] if keys else None, None if v is None else bytearray(v), "t", 0, i) for i, v in enumerate(values)]
    return spark.createDataFrame(rows, "key binary, value binary, topic string, partition int, offset bigint").coalesce(
        1
    )


def decoded(
    spark: SparkSession, columns: tuple[Column, ...], values: Sequence[bytes | None], **options: Any
) -> list[Any]:
    column = decode(columns, "json", query_id="test", error_handling="IGNORE", **options)
    return [r[0] for r in records_frame(spark, values).select(column).collect()]


def plain(data_type: DataType, value: Any) -> Any:
    """Spark's Python value as the oracle has it."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, datetime) and data_type.name == "TIMESTAMP_LTZ":
        return oracle.as_utc(value)
    if isinstance(value, Row) and isinstance(data_type, StructType):
        return [plain(f.type, v) for f, v in zip(data_type.fields, value, strict=True)]
    if isinstance(value, list):
        return [plain(data_type.element, v) for v in value]  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {plain(data_type.key, k): plain(data_type.value, v) for k, v in value.items()}  # type: ignore[attr-defined]
    return value


def plain_row(columns: tuple[Column, ...], row: Row | None) -> list[Any] | None:
    return None if row is None else [plain(c.type, v) for c, v in zip(columns, row, strict=True)]


def expected_row(columns: tuple[Column, ...], record: bytes) -> list[Any] | None:
    try:
        return oracle.decode(columns, record)
    except oracle.UndecodableError:
        return None


def marked(value: Any) -> Any:
    """The value in a form in which NaN is itself, 0.0 is not -0.0, and 1 is not True."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value.hex()
    if isinstance(value, list):
        return [marked(v) for v in value]
    if isinstance(value, dict):
        return {k: marked(v) for k, v in value.items()}
    return (type(value).__name__, value)


@settings(JOB_PER_EXAMPLE, max_examples=25)
@given(batch=batches)
def test_records_decode_as_the_oracle_says_and_survive_a_round_trip(spark: SparkSession, batch: Batch) -> None:
    columns, records = batch
    last = columns[-1:]
    value = decode(columns, "json", query_id="test", error_handling="IGNORE")
    needed = decode(columns, "json", query_id="test", error_handling="IGNORE", needed=[last[0].name])
    sources = [F.col("r").getField(c.name) for c in columns]
    written = [
        encode_value(columns, RecordFormat("json", {"timestamp.format": form}), sources).alias(form)
        for form in ("sql", "iso8601")
    ]
    rows = records_frame(spark, records).select(value.alias("r"), needed.alias("needed"))
    for record, row in zip(records, rows.select("r", "needed", *written).collect(), strict=True):
        expected = expected_row(columns, record)
        assert marked(plain_row(columns, row.r)) == marked(expected), record
        assert marked(plain_row(last, row.needed)) == marked(expected and expected[-1:]), record
        for data in (bytes(row.sql), bytes(row.iso8601)) if expected else ():
            assert marked(oracle.decode(columns, data)) == marked(expected), (record, data)
            assert [n for n, _ in json.loads(data, object_pairs_hook=list)] == [c.name for c in columns]
