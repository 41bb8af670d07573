"""Logical plan -> DataFrame, one function a node. The result of a Sink has the columns key, value and headers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millpond.plan.nodes import (
    HIDDEN,
    OFFSET,
    ROWTIME,
    Aggregate,
    Filter,
    IntervalJoin,
    Join,
    Node,
    Project,
    Scan,
    Sink,
    TemporalJoin,
    Unnest,
    Window,
)
from millpond.spark.aggregates import WINDOW, aggregate
from millpond.spark.expressions import to_spark
from millpond.spark.joins import join
from millpond.spark.run import Run
from millpond.spark.sink import records
from millpond.spark.source import DELETED, POSITION, Reader, decoded, read_records
from millpond.spark.type_names import quote
from millpond.spark.types import to_spark_type
from millpond.types import Column

ORDINAL_BITS = 20
"""An unnested row's position is its record's offset and, below it, its place in the array: 2^20 elements a record."""


class Translator:
    """Builds the DataFrame of one plan. `read` gives a scan's raw records: tests hand in memory streams."""

    def __init__(self, spark: SparkSession, run: Run, read: Reader = read_records) -> None:
        self.spark = spark
        self.run = run
        self.read = read
        self.joins = 0
        self.rules: dict[type[Node], Callable[[Any], DataFrame]] = {
            Scan: self._scan,
            Filter: self._filter,
            Project: self._project,
            Unnest: self._unnest,
            Window: self._window,
            TemporalJoin: self._join,
            IntervalJoin: self._join,
            Aggregate: self._aggregate,
            Sink: self._sink,
        }

    def translate(self, node: Node) -> DataFrame:
        """The DataFrame of `node`."""
        return self.rules[type(node)](node)

    def _scan(self, node: Scan) -> DataFrame:
        return decoded(self.read(self.spark, node, self.run), node, self.run)

    def _filter(self, node: Filter) -> DataFrame:
        return self.translate(node.input).where(to_spark(node.condition))

    def _project(self, node: Project) -> DataFrame:
        rows = self.translate(node.input)
        values = [
            F.expr(to_spark(e)).cast(to_spark_type(c.type)).alias(c.name)
            for c, e in zip(node.columns, node.exprs, strict=True)
        ]
        return rows.select(*values, *_hidden(rows))

    def _unnest(self, node: Unnest) -> DataFrame:
        rows = self.translate(node.input)
        place, element = "__place", node.element
        exploded = rows.select("*", F.posexplode(F.expr(to_spark(node.array))).alias(place, element))
        exploded = exploded.withColumn(POSITION, _position_below(exploded, F.col(place).cast("bigint")))
        if node.ordinality:
            exploded = exploded.withColumn(node.ordinality, F.col(place).cast("bigint") + 1)
        return exploded.select(*_named(node.columns), *_hidden(exploded))

    def _window(self, node: Window) -> DataFrame:
        """CUMULATE is a HOP of its step, of whose windows those count that end within the row's full window."""
        rows = self.translate(node.input)
        if node.allowed_latency_ms is not None:
            rows = rows.withWatermark(ROWTIME.name, f"{node.allowed_latency_ms} milliseconds")
        size, step = f"{node.size_ms} milliseconds", f"{node.step_ms} milliseconds"
        rows = rows.withColumn(WINDOW, F.window(F.col(ROWTIME.name), size, step))
        start, end = F.col(WINDOW)["start"], F.col(WINDOW)["end"]
        if node.function == "CUMULATE":
            start = _floor(F.col(ROWTIME.name), node.size_ms)
            rows = rows.where(F.unix_millis(end) <= F.unix_millis(start) + node.size_ms)
        bounds = [start.cast("timestamp_ntz").alias("window_start"), end.cast("timestamp_ntz").alias("window_end")]
        # Two columns with a watermark are one too many for an operator above: the window's is the one that counts.
        plain = F.col(ROWTIME.name).alias(ROWTIME.name, metadata={"watermark": "that of the window"})
        return rows.select(*_named(node.columns[:-2]), *bounds, plain, *_hidden(rows.drop(ROWTIME.name)))

    def _join(self, node: Join) -> DataFrame:
        left, right = self.translate(node.left), self.translate(node.right)
        self.joins += 1
        return join(node, left, right, self.run, self.joins)

    def _aggregate(self, node: Aggregate) -> DataFrame:
        return aggregate(node, self.translate(node.input))

    def _sink(self, node: Sink) -> DataFrame:
        return records(node, self.translate(node.input), self.run)


def _position_below(rows: DataFrame, place: SparkColumn) -> SparkColumn:
    """Of an element: from its row's position and its own place. That of a joined row may be a hash, of 63 bits."""
    if POSITION in rows.columns:
        return F.xxhash64(F.col(POSITION), place).bitwiseAND(F.lit(2**63 - 1))
    return F.shiftleft(F.col(OFFSET.name), ORDINAL_BITS).bitwiseOR(place)


def _floor(time: SparkColumn, size_ms: int) -> SparkColumn:
    millis = F.unix_millis(time)
    return F.timestamp_millis(millis - F.pmod(millis, F.lit(size_ms)))


def _named(columns: Sequence[Column]) -> list[SparkColumn]:
    return [F.col(quote(c.name)) for c in columns]


def _hidden(rows: DataFrame) -> list[str]:
    names = [*(c.name for c in HIDDEN), DELETED, POSITION, WINDOW]
    return [n for n in names if n in rows.columns]
