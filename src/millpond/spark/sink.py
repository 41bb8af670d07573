"""Sink -> the records to write: key, value (null deletes), headers; and the stream that writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from millpond.catalog.model import KAFKA_TYPES, RelationKind
from millpond.plan.nodes import INGESTED, KEY, OFFSET, PARTITION, Kind, Sink
from millpond.spark.batches import empty_batches, has_timers
from millpond.spark.codec import encode_key, encode_value, skip_written
from millpond.spark.expressions import to_spark
from millpond.spark.formats import written_format
from millpond.spark.kinesis_sink import kinesis_writer
from millpond.spark.run import Run
from millpond.spark.source import DELETED, POSITION
from millpond.stores.formats.records import ROW_KEY

Writer: TypeAlias = Callable[[Sink, DataFrame, Run], DataStreamWriter]
"""A stream writer with its format and options; checkpoint, mode, name and trigger are the same for all."""
CATCH_UP_PRODUCER = {"linger.ms": "20", "batch.size": "262144", "compression.type": "lz4"}
REAL_TIME_PRODUCER = {"linger.ms": "0"}


def records(node: Sink, rows: DataFrame, run: Run) -> DataFrame:
    """Columns key, value and headers, as Kafka's sink takes them."""
    if POSITION not in rows.columns:
        rows = rows.withColumn(POSITION, F.col(OFFSET.name))
    if run.skip_written and node.kind is Kind.APPEND:
        rows = rows.where(skip_written(run.query_id, F.col(PARTITION.name), F.col(POSITION)))
    carried = [c for c in node.relation.columns if c.name not in node.exclude]
    value = encode_value(carried, written_format(node.relation, "value", carried, run))
    written = rows.select(
        _key(node, run).alias("key"), _or_delete(node, value).alias("value"), _headers(node, run).alias("headers")
    )
    # A compacted topic refuses a record without a key, and a plain NULL has no other form.
    return written.where(F.col("key").isNotNull()) if node.kind is Kind.UPSERT else written


def _key(node: Sink, run: Run) -> SparkColumn:
    relation = node.relation
    if node.kind is Kind.APPEND and relation.kind is RelationKind.VIEW:
        position = [F.col(PARTITION.name).alias("_partition"), F.col(POSITION).alias("_offset")]
        return encode_key(list(ROW_KEY), "json", position)
    if not node.key and node.kind is Kind.APPEND:
        return F.col(KEY.name)
    types = {c.name: c for c in node.input.columns}
    columns = [types[name] for name in node.key]
    return encode_key(columns, written_format(relation, "key", columns, run))


def _or_delete(node: Sink, value: SparkColumn) -> SparkColumn:
    if node.kind is Kind.APPEND:
        return value
    there = ~F.col(DELETED)
    if node.having is not None:
        there = there & F.coalesce(F.expr(to_spark(node.having)), F.lit(False))
    return F.when(there, value)


def _headers(node: Sink, run: Run) -> SparkColumn:
    source = F.concat_ws(":", F.col(PARTITION.name), F.col(POSITION))
    headers = [_header("mp.src", source), _header("mp.ts", F.col(INGESTED.name))]
    if node.kind is Kind.APPEND:
        headers.append(_header("mp.query", F.lit(run.query_id[:8])))
    return F.array(*headers)


def _header(name: str, value: SparkColumn) -> SparkColumn:
    return F.struct(F.lit(name).alias("key"), value.cast("string").cast("binary").alias("value"))


def start_writing(
    node: Sink, frame: DataFrame, run: Run, checkpoint: str, trigger: Mapping[str, Any]
) -> StreamingQuery:
    """Start the streaming query that writes `frame`'s records to the sink's topic, in whatever kind of store."""
    writer = WRITERS[run.stores[node.relation.store].type](node, frame, run)
    writer = writer.option("checkpointLocation", checkpoint).outputMode("update").queryName(_name(run))
    ends = "availableNow" in trigger
    with empty_batches(frame.sparkSession, not (ends and has_timers(node))):
        return writer.trigger(**trigger).start()


def _kafka_writer(node: Sink, frame: DataFrame, run: Run) -> DataStreamWriter:
    producer = {
        **(REAL_TIME_PRODUCER if run.real_time else CATCH_UP_PRODUCER),
        **dict(node.producer),
        **run.stores[node.relation.store].options,
        "acks": "all",
    }
    writer = frame.writeStream.format("kafka").option("topic", node.relation.topic).option("includeHeaders", "true")
    return writer.options(**{f"kafka.{k}": v for k, v in producer.items()})


WRITERS: dict[str, Writer] = {**dict.fromkeys(KAFKA_TYPES, _kafka_writer), "KINESIS": kinesis_writer}
"""How each type of store is written."""


def _name(run: Run) -> str:
    """Unique among running queries: Spark refuses a second of one name."""
    return f"{run.query_id}/{'real-time' if run.real_time else 'catch-up'}"
