"""Scan -> a streaming DataFrame: the topic's records, decoded, with the hidden columns beside them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from operator import or_
from typing import TypeAlias

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millpond.catalog.model import KAFKA_TYPES, Relation
from millpond.plan.functions.temporal import FIRST_SECOND, LAST_SECOND
from millpond.plan.nodes import INGESTED, KEY, OFFSET, PARTITION, ROWTIME, SEQUENCE, TOPIC, Kind, Scan
from millpond.spark.codec import RECORD, decode
from millpond.spark.formats import read_format
from millpond.spark.kinesis_source import read_kinesis
from millpond.spark.run import Run
from millpond.spark.types import to_spark_type
from millpond.types import VARCHAR, Column, StructType

DELETED = "__deleted"
"""Of an upsert plan: this record deletes its key."""
SEQUENCE_NUMBER = "sequence_number"
"""What the source of Kinesis has beside the columns of Kafka's."""
POSITION = "__position"
"""Of an unnested row: its own place in the source partition, instead of its record's offset."""


EVENT_MILLIS = (1000 * FIRST_SECOND, 1000 * LAST_SECOND + 999)
"""0001-01-01 00:00:00.000 and 9999-12-31 23:59:59.999 in UTC, as epoch milliseconds."""

Reader: TypeAlias = Callable[[SparkSession, Scan, Run], DataFrame]
"""Gives the raw records of a scan's topic: the columns `RECORD` and `timestamp`, as Kafka's source names them."""


def read_records(spark: SparkSession, scan: Scan, run: Run) -> DataFrame:
    """The raw records of the scan's topic, from whatever kind of store."""
    return READERS[run.stores[scan.relation.store].type](spark, scan, run)


def _read_kafka(spark: SparkSession, scan: Scan, run: Run) -> DataFrame:
    options = {
        **{f"kafka.{key}": value for key, value in run.stores[scan.relation.store].options.items()},
        "subscribe": scan.relation.topic,
        "startingOffsets": run.starting_offsets.get(scan.number, "earliest"),
        "includeHeaders": "false",
        "failOnDataLoss": "true",
        "groupIdPrefix": f"millpond-{run.query_id[:8]}",
    }
    if run.max_rows and not run.real_time and not scan.at_once:
        options["maxOffsetsPerTrigger"] = str(run.max_rows)
    return spark.readStream.format("kafka").options(**options).load()


READERS: dict[str, Reader] = {**dict.fromkeys(KAFKA_TYPES, _read_kafka), "KINESIS": read_kinesis}
"""How each type of store is read."""


def decoded(records: DataFrame, scan: Scan, run: Run) -> DataFrame:
    """Visible columns and hidden ones; an undecodable record is gone (a dead letter), a null value a delete.

    Columns that the value does not carry come from the key: all of a tombstone's, and those that are excluded.
    """
    relation = scan.relation
    carried = [c for c in relation.columns if c.name not in relation.excluded_columns]
    value = _decode(carried, "value", scan, run, needed=scan.needed)
    more = [name for name in records.columns if name == SEQUENCE_NUMBER]
    read = records.select(*RECORD, "timestamp", *more, value.alias("__row"))
    deletes = scan.kind is Kind.UPSERT and bool(_from_key(scan))
    read = read.where(F.col("__row").isNotNull() | (F.col("value").isNull() & F.lit(deletes)))
    if _from_key(scan):
        read = _with_key(read, scan, run)
    visible = [_value(c, scan).alias(c.name) for c in relation.columns if _built(c.name, scan)]
    return read.select(*visible, *_hidden(scan, read.columns))


def _decode(
    columns: Sequence[Column], part: str, scan: Scan, run: Run, needed: Collection[str] | None = None
) -> SparkColumn:
    letters = run.dead_letters.get(scan.number)
    return decode(
        columns,
        read_format(scan.relation, part, run),
        error_handling=scan.error_handling,
        dead_letter_topic=letters.topic if letters else None,
        producer=run.stores[letters.store].options if letters else None,
        query_id=run.query_id,
        scan=scan.number,
        needed=needed,
        of_key=part == "key",
    )


def _with_key(read: DataFrame, scan: Scan, run: Run) -> DataFrame:
    """The key, decoded where it is needed: a record whose key does not decode then is gone, too."""
    relation = scan.relation
    key = _decode(_key_columns(relation), "key", scan, run)
    if relation.excluded_columns:
        wanted = F.lit(True)
    else:
        wanted = reduce(or_, (_in_value(name).isNull() for name in sorted(_from_key(scan))))
    with_key = read.withColumn("__in_key", F.when(wanted, key))
    lost = wanted & F.col("__in_key").isNull() & (F.col("key").isNotNull() | F.col("value").isNull())
    return with_key.where(~lost)


def _key_columns(relation: Relation) -> list[Column]:
    """The columns that a record's key decodes to."""
    if isinstance(relation.key_type, StructType):
        return [Column(f.name, f.type) for f in relation.key_type.fields]
    name = next(iter(relation.key_columns or relation.primary_key), "key")
    return [Column(name, relation.key_type or VARCHAR)]


def _from_key(scan: Scan) -> set[str]:
    """The visible columns whose values may have to come from the key."""
    relation = scan.relation
    if relation.key_type is None:
        return set()
    keys = {c.name for c in _key_columns(relation)}
    wanted = {*relation.excluded_columns, *(relation.primary_key if scan.kind is Kind.UPSERT else ())}
    return {name for name in wanted & keys if _built(name, scan)}


def _value(column: Column, scan: Scan) -> SparkColumn:
    """Of the record's value, else of its key."""
    spark_type = to_spark_type(column.type)
    places = [] if column.name in scan.relation.excluded_columns else [_in_value(column.name)]
    if column.name in _from_key(scan):
        places.append(F.col("__in_key").getField(column.name).cast(spark_type))
    return F.coalesce(*places) if places else F.lit(None).cast(spark_type)


def _in_value(name: str) -> SparkColumn:
    return F.col("__row").getField(name)


def _built(name: str, scan: Scan) -> bool:
    return scan.needed is None or name in scan.needed


def _hidden(scan: Scan, there: Collection[str]) -> list[SparkColumn]:
    sequence = [F.col(SEQUENCE_NUMBER).alias(SEQUENCE.name)] if SEQUENCE_NUMBER in there else []
    return [
        _rowtime(scan).alias(ROWTIME.name),
        F.col("value").isNull().alias(DELETED),
        F.col("key").alias(KEY.name),
        F.col("topic").alias(TOPIC.name),
        F.col("partition").alias(PARTITION.name),
        F.col("offset").alias(OFFSET.name),
        F.unix_millis("timestamp").alias(INGESTED.name),
        *sequence,
    ]


def _rowtime(scan: Scan) -> SparkColumn:
    """The timestamp column; of a tombstone, or without such a column, the record's own timestamp."""
    own = F.col("timestamp")
    column = scan.relation.column(scan.timestamp_column) if scan.timestamp_column else None
    if column is None:
        return own
    time = event_time(column, _value(column, scan))
    return time if scan.kind is Kind.APPEND else F.when(F.col("value").isNull(), own).otherwise(time)


def event_time(column: Column, value: SparkColumn) -> SparkColumn:
    """A timestamp column as an instant: BIGINT is epoch milliseconds, TIMESTAMP is UTC; NULL outside years 1 to 9999.

    A number that is no time stays a BIGINT of the row; Spark would stop the query over one that overflows.
    """
    if column.type.name != "BIGINT":
        return value.cast("timestamp")
    return F.when(value.between(*EVENT_MILLIS), F.timestamp_millis(value))
