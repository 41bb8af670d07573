"""Scan -> a streaming DataFrame: the topic's records, decoded, with the hidden columns beside them."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millpond.plan.nodes import INGESTED, KEY, OFFSET, PARTITION, ROWTIME, TOPIC, Kind, Scan
from millpond.spark.codec import decode
from millpond.spark.run import Run
from millpond.types import Column

DELETED = "__deleted"
"""Of an upsert plan: this record deletes its key."""


def read_records(spark: SparkSession, scan: Scan, run: Run) -> DataFrame:
    """The raw records of the scan's topic."""
    options = {
        "kafka.bootstrap.servers": run.bootstrap,
        "subscribe": scan.relation.topic,
        "startingOffsets": run.starting_offsets,
        "includeHeaders": "false",
        "failOnDataLoss": "true",
        "groupIdPrefix": f"millpond-{run.query_id[:8]}",
    }
    if run.max_rows and not run.real_time:
        options["maxOffsetsPerTrigger"] = str(run.max_rows)
    return spark.readStream.format("kafka").options(**options).load()


def decoded(records: DataFrame, scan: Scan, run: Run) -> DataFrame:
    """Visible columns and hidden ones; an undecodable record is gone (a dead letter), a null value a delete."""
    relation = scan.relation
    value = decode(
        columns=relation.columns,
        value_format=relation.value_format,
        timestamp_format=relation.timestamp_format,
        error_handling=scan.error_handling,
        dead_letter_topic=run.dead_letter_topic,
        bootstrap=run.bootstrap,
        query_id=run.query_id,
        needed=scan.needed,
    )
    rows = records.select(
        value.alias("__row"),
        F.col("value").isNull().alias(DELETED),
        F.col("key").alias(KEY.name),
        F.col("topic").alias(TOPIC.name),
        F.col("partition").alias(PARTITION.name),
        F.col("offset").alias(OFFSET.name),
        F.col("timestamp").alias("__timestamp"),
        F.unix_millis("timestamp").alias(INGESTED.name),
    )
    deletes = F.col(DELETED) & F.lit(scan.kind is Kind.UPSERT)
    rows = rows.where(F.col("__row").isNotNull() | deletes)
    columns = [F.col("__row").getField(c.name).alias(c.name) for c in relation.columns if _built(c, scan)]
    return rows.select(*columns, *_hidden(scan))


def _built(column: Column, scan: Scan) -> bool:
    return scan.needed is None or column.name in scan.needed


def _hidden(scan: Scan) -> list[SparkColumn]:
    kept = [DELETED, KEY.name, TOPIC.name, PARTITION.name, OFFSET.name, INGESTED.name]
    return [_rowtime(scan).alias(ROWTIME.name), *map(F.col, kept)]


def _rowtime(scan: Scan) -> SparkColumn:
    column = scan.relation.column(scan.timestamp_column) if scan.timestamp_column else None
    if column is None:
        return F.col("__timestamp")
    return event_time(column, F.col("__row").getField(column.name))


def event_time(column: Column, value: SparkColumn) -> SparkColumn:
    """A timestamp column as an instant: BIGINT is epoch milliseconds, TIMESTAMP is UTC."""
    return F.timestamp_millis(value) if column.type.name == "BIGINT" else value.cast("timestamp")
