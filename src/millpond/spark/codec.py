"""Kafka records <-> rows, and the marks beside them, as columns that run in our Java classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import DataType, StructType

from millpond.errors import MillpondError
from millpond.spark.types import to_spark_schema
from millpond.types import Column

RECORD = ("key", "value", "topic", "partition", "offset")
"""The columns of Kafka's source that a decoder reads: the bytes, and where they were."""

PRIMITIVES = ("VARCHAR", "BYTES", "VARBINARY", "BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE")
"""Types that Kafka has a serializer for."""

HELD = {
    "date": ("DATE'0001-01-01'", "DATE'9999-12-31'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ'0001-01-01 00:00:00'", "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'"),
    "timestamp": ("TIMESTAMP_LTZ'0001-01-01 00:00:00Z'", "TIMESTAMP_LTZ'9999-12-31 23:59:59.999999Z'"),
}
"""The first and the last value of a type of Spark's that is given to no more than the years 1 to 9999."""


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """How keys or values are written. A bare name stands for a format without settings.

    `settings` are for the JVM side, and never shown, as there may be secrets in them: `timestamp.format` of JSON and
    delimited text that is written; `delimiter`; of Avro and Protobuf how to reach the schema registry, or the
    `schema.id` to write by; of Protobuf `protobuf.files` and `protobuf.message`, the descriptor, if it is given.
    """

    name: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)


def decode(
    columns: Sequence[Column],
    form: RecordFormat | str,
    *,
    query_id: str,
    error_handling: str = "LOG",
    dead_letter_topic: str | None = None,
    producer: Mapping[str, str] | None = None,
    scan: int = 0,
    needed: Collection[str] | None = None,
    of_key: bool = False,
    record: Sequence[str] = RECORD,
) -> SparkColumn:
    """A struct of the `needed` columns (None: all) of a Kafka record's value, or of its key.

    All `columns` are type-checked, the needed ones built. The struct is NULL for a null value, and for one
    that does not decode; `error_handling` says what happens to that record: LOG (to `dead_letter_topic`, with the
    Java client's settings `producer`), IGNORE (it is counted) or TERMINATE (the query fails). `scan` is the number of
    the scan whose progress this is.
    """
    jvm, form = _jvm(), _format(form)
    names = [c.name for c in columns if needed is None or c.name in needed]
    topic = dead_letter_topic if producer and dead_letter_topic else None
    bad_records = jvm.io.millpond.BadRecords(error_handling.upper(), query_id, topic, dict(producer or {}))
    schema, settings = _schema(columns, form.name), dict(form.settings)
    java_columns = [_java(F.col(name)) for name in record]
    java = jvm.io.millpond.Codec.decode(schema, names, form.name, of_key, scan, bad_records, settings, java_columns)
    return ClassicColumn(java)


def encode_value(
    columns: Sequence[Column], form: RecordFormat | str, values: Sequence[SparkColumn] | None = None
) -> SparkColumn:
    """The bytes of a record's value: an object of `columns` in their order, a line of them, or one primitive.

    `values` are where the columns come from, in the same order; without them, the columns of the same names.
    """
    form = _format(form)
    sources = [F.col(_quoted(c.name)) for c in columns] if values is None else values
    typed = zip(to_spark_schema(columns).fields, sources, strict=True)
    row = F.struct(*(_held(source.cast(f.dataType), f.dataType).alias(f.name) for f, source in typed))
    schema = _schema(columns, form.name)
    return ClassicColumn(_jvm().io.millpond.Codec.encode(schema, form.name, dict(form.settings), _java(row)))


def _held(value: SparkColumn, data_type: DataType) -> SparkColumn:
    """NULL for a date or time that an expression made and that its type does not hold: no decoder would take it."""
    bounds = HELD.get(data_type.typeName())
    return value if bounds is None else F.when(value.between(F.expr(bounds[0]), F.expr(bounds[1])), value)


def encode_key(
    columns: Sequence[Column], form: RecordFormat | str, values: Sequence[SparkColumn] | None = None
) -> SparkColumn:
    """The bytes of a record's key, as `encode_value` writes them: equal keys have equal bytes."""
    return encode_value(columns, form, values)


def _format(form: RecordFormat | str) -> RecordFormat:
    return RecordFormat(form) if isinstance(form, str) else form


def skip_written(query_id: str, partition: SparkColumn, offset: SparkColumn) -> SparkColumn:
    """True for the source records that `mark_written` has not named: keep those."""
    arguments = (_java(partition.cast("int")), _java(offset.cast("bigint")))
    return ClassicColumn(_jvm().io.millpond.Codec.notWritten(query_id, *arguments))


def mark_written(query_id: str, written: Mapping[int, Collection[int]]) -> None:
    """Say which offsets of which source partitions a query has in its sink already; before it starts."""
    for partition, offsets in written.items():
        packed = b"".join(offset.to_bytes(8, "big") for offset in offsets)
        _jvm().io.millpond.SkipWritten.add(query_id, partition, packed)


def forget_written(query_id: str) -> None:
    """Free what `mark_written` said of a query: from then on none of its records is skipped."""
    _jvm().io.millpond.SkipWritten.clear(query_id)


def undecodable_count(query_id: str) -> int:
    """Records that a query could not decode since the JVM started."""
    return int(_jvm().io.millpond.DeadLetters.count(query_id))


def lost_dead_letters(query_id: str) -> int:
    """Dead letters of a query that did not reach their topic."""
    return int(_jvm().io.millpond.DeadLetters.lost(query_id))


def rows_read(query_id: str) -> int:
    """Records that a query has decoded or tried to since the JVM started."""
    return int(_jvm().io.millpond.Progress.rows(query_id))


def late_rows(query_id: str) -> int:
    """Rows that came too late since the JVM started, as of the last batch that ended."""
    return int(_jvm().io.millpond.Progress.late(query_id))


def state_size(query_id: str) -> tuple[int, int]:
    """Rows in the query's state stores and bytes of memory that these hold, as of the last batch that ended."""
    progress = _jvm().io.millpond.Progress
    return int(progress.stateRows(query_id)), int(progress.stateBytes(query_id))


def read_positions(query_id: str) -> dict[int, dict[int, int]]:
    """Number of the scan -> partition -> the offset after the last record read since `forget_positions`."""
    found: dict[int, dict[int, int]] = {}
    for line in str(_jvm().io.millpond.Progress.positions(query_id)).splitlines():
        scan, partition, offset = map(int, line.split(" "))
        found.setdefault(scan, {})[partition] = offset
    return found


def forget_positions(query_id: str) -> None:
    """Begin anew with a query's positions, before each of its starts."""
    _jvm().io.millpond.Progress.starts(query_id)


def watch_progress(spark: SparkSession) -> None:
    """Have late rows and state counted, of every query of the session."""
    spark._jsparkSession.streams().addListener(_jvm().io.millpond.Progress.BatchEnds())


def forget_query(query_id: str) -> None:
    """Free everything that is kept of a query that is gone."""
    classes = _jvm().io.millpond
    classes.Progress.forget(query_id)
    classes.DeadLetters.forget(query_id)
    classes.SkipWritten.clear(query_id)


def first_seen(df: DataFrame, keys: Sequence[str], value: str, name: str, expiry: str | None = None) -> DataFrame:
    """The rows of `df` with a BOOLEAN column `name`: is this the first row of its keys with that value?

    False for NULL values. `keys` may name `value` too. `expiry` is the event-time column that says until when
    a key gets rows: a timestamp, or a window, whose end counts; once the watermark has passed it, the state
    goes and the column carries the watermark on. Without it the state is kept for ever.
    """
    others = [key for key in keys if key != value]
    frame = _jvm().io.millpond.FirstSeen.apply(df._jdf, others, value, name, expiry)
    return DataFrame(frame, df.sparkSession)


def pack(schema: StructType, struct: SparkColumn) -> SparkColumn:
    """The bytes of a struct column, which equal structs have in common."""
    return ClassicColumn(_jvm().io.millpond.JoinInput.pack(str(schema.json()), _java(struct)))


def unpack(schema: StructType, packed: SparkColumn) -> SparkColumn:
    """The struct that `pack` made the bytes of; NULL for NULL."""
    return ClassicColumn(_jvm().io.millpond.JoinInput.unpack(str(schema.json()), _java(packed)))


def witnessed(
    query_id: str, join: int, side: int, time: SparkColumn, partition: SparkColumn, record: SparkColumn
) -> SparkColumn:
    """`time` (microseconds), noted for the join as that of an event in `partition`; `record` is in milliseconds."""
    columns = (_java(c) for c in (time, partition, record))
    return ClassicColumn(_jvm().io.millpond.JoinInput.witnessed(query_id, join, side, *columns))


def keys_of_partitions(partitions: int) -> list[bytes]:
    """For each shuffle partition a key that leads to it."""
    return [bytes(key) for key in _jvm().io.millpond.JoinInput.keyOfEachPartition(partitions)]


def join_operator(rows: DataFrame, operator: str, settings: Sequence[Any], arguments: Sequence[Any]) -> DataFrame:
    """The result of the Java operator over rows of both sides; `settings` are those of JoinSettings.java."""
    classes = _jvm().io.millpond
    frame = getattr(classes, operator).apply(rows._jdf, classes.JoinSettings(*settings), *arguments)
    return DataFrame(frame, rows.sparkSession)


def catches_up(query_id: str) -> None:
    """A query is about to read again from its last commit."""
    _jvm().io.millpond.Progress.catchesUp(query_id)


def _schema(columns: Sequence[Column], record_format: str) -> str:
    """Spark's JSON of the columns' types. Raises NO_PRIMITIVE_FORM."""
    if record_format == "primitive" and not (len(columns) == 1 and columns[0].type.name in PRIMITIVES):
        raise MillpondError(
            "NO_PRIMITIVE_FORM",
            columns=", ".join(f"{c.name} {c.type}" for c in columns),
            types=", ".join(PRIMITIVES),
        )
    return str(to_spark_schema(columns).json())


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _java(column: SparkColumn) -> Any:
    return column._jc  # type: ignore[attr-defined,unused-ignore]


def _jvm() -> Any:
    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if session is None:
        raise RuntimeError("no Spark session")
    return session._jvm
