"""The Java decoder and encoder against the oracle in Python, on types, values and faults of all kinds."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millpond.spark.codec import decode, encode_value, undecodable_count
from millpond.types import Column, DataType, StructType
from tests.spark import json_codec_oracle as oracle
from tests.spark.record_strategies import batches

pytestmark = pytest.mark.spark

Batch = tuple[tuple[Column, ...], list[bytes]]

slow_examples = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # Each example is a Spark job of many records: the assertion names the record, shrinking would take minutes.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


def records_frame(spark: SparkSession, values: Sequence[bytes | None], keys: Sequence[bytes | None] = ()) -> DataFrame:
    """A batch frame with the columns of Kafka's source."""
    rows = [
        (keys[i] if keys else None, None if v is None else bytearray(v), "t", 0, i) for i, v in enumerate(values)
    ]
    return spark.createDataFrame(
        rows, "key binary, value binary, topic string, partition int, offset bigint"
    ).coalesce(1)


def decoded(spark: SparkSession, columns: tuple[Column, ...], values: Sequence[bytes | None], **options: Any) -> list[Any]:
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


@slow_examples
@given(batch=batches)
def test_records_decode_to_what_the_oracle_says(spark: SparkSession, batch: Batch) -> None:
    columns, records = batch
    rows = decoded(spark, columns, records)
    for record, row in zip(records, rows, strict=True):
        assert marked(plain_row(columns, row)) == marked(expected_row(columns, record)), record


@slow_examples
@given(batch=batches)
@pytest.mark.parametrize("timestamp_format", ["sql", "iso8601"])
def test_what_is_encoded_decodes_to_the_same_row(
    spark: SparkSession, timestamp_format: str, batch: Batch
) -> None:
    columns, records = batch
    value = decode(columns, "json", query_id="test", error_handling="IGNORE")
    rows = records_frame(spark, records).select(value.alias("r")).where("r is not null")
    sources = [F.col("r").getField(c.name) for c in columns]
    written = rows.select("r", encode_value(columns, "json", timestamp_format, sources).alias("bytes")).collect()
    for row, data in written:
        text = bytes(data)
        assert marked(oracle.decode(columns, text)) == marked(plain_row(columns, row)), text
        assert [name for name, _ in json.loads(text, object_pairs_hook=list)] == [c.name for c in columns]


@slow_examples
@given(batch=batches)
def test_columns_that_are_not_needed_are_checked_but_not_built(spark: SparkSession, batch: Batch) -> None:
    columns, records = batch
    needed = columns[-1:]
    rows = decoded(spark, columns, records, needed=[c.name for c in needed])
    whole = [expected_row(columns, record) for record in records]
    assert [marked(plain_row(needed, row)) for row in rows] == [
        marked(row and row[-1:]) for row in whole
    ]
    assert undecodable_count("test") >= 0
