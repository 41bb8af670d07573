"""Joins -> Spark: rows of both sides, tagged and packed, through one shuffle into an operator of ours in Java."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from millpond.plan.expressions import Expr
from millpond.plan.nodes import (
    INGESTED,
    KEY,
    OFFSET,
    PARTITION,
    ROWTIME,
    TOPIC,
    IntervalJoin,
    Join,
    JoinType,
    Kind,
    TemporalJoin,
)
from millpond.spark.codec import join_operator, keys_of_partitions, pack, unpack, witnessed
from millpond.spark.expressions import to_spark
from millpond.spark.run import Run
from millpond.spark.source import DELETED, POSITION
from millpond.spark.type_names import quote
from millpond.spark.types import to_spark_type

LEFT, RIGHT, HEARTBEAT, KEYLESS = 0, 1, 2, 4
"""What `side` says in the operator's input: see JoinRow.java."""
LATENESS_MS = 600_000
"""How far an event of a temporal join may lag behind the latest, unless its source says it."""
CARRIED = (KEY.name, TOPIC.name, OFFSET.name)
"""Hidden columns that go along with the left side's own."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One input of a join: its rows, its place (LEFT or RIGHT), and what of them goes through."""

    rows: DataFrame
    place: int
    keys: Sequence[Expr]
    names: Sequence[str]
    beats: bool
    """Others wait for it, so in real time it tells every task how far it is."""

    @property
    def schema(self) -> StructType:
        return StructType([self.rows.schema[name] for name in self.names])


def join(node: Join, left: DataFrame, right: DataFrame, run: Run, number: int) -> DataFrame:
    """Columns of `node` in order, then the hidden ones. `number` tells the joins of a plan apart."""
    pads_left = node.join_type in (JoinType.LEFT, JoinType.FULL)
    pads_right = node.join_type in (JoinType.RIGHT, JoinType.FULL)
    temporal = isinstance(node, TemporalJoin)
    left_names = list(dict.fromkeys((*(c.name for c in node.left.columns), *CARRIED)))
    right_names = [c.name for c in node.right.columns]
    sides = (
        _Side(left, LEFT, node.left_keys, left_names, pads_right),
        _Side(right, RIGHT, node.right_keys, right_names, temporal or pads_left),
    )
    rows = [_tagged(side, node.inputs[side.place].kind, run, number) for side in sides]
    settings = [run.query_id, number, run.real_time, run.max_rows is not None and not temporal]
    settings += [node.idle_timeout_ms, pads_left, pads_right]
    joined = join_operator(rows[0].union(rows[1]), _operator(node), settings, _arguments(node))
    return _result(node, joined, sides)


def _operator(node: Join) -> str:
    return type(node).__name__


def _arguments(node: Join) -> list[Any]:
    if isinstance(node, IntervalJoin):
        return [node.before_ms, node.after_ms, node.grace_ms]
    assert isinstance(node, TemporalJoin)
    given = node.allowed_latency_ms
    return [LATENESS_MS if given is None else given, given is not None]


# --- in ---


def _tagged(side: _Side, kind: Kind, run: Run, number: int) -> DataFrame:
    """The columns of JoinRow.INPUT."""
    rows = side.rows
    values = [F.expr(to_spark(key)).cast(to_spark_type(key.type)) for key in side.keys]
    keys = F.struct(*(value.alias(f"k{n}") for n, value in enumerate(values)))
    payload = pack(side.schema, F.struct(*(F.col(quote(name)) for name in side.names)))
    ingested = F.coalesce(F.col(INGESTED.name), F.lit(0))
    time = F.coalesce(F.unix_micros(F.col(ROWTIME.name)), ingested * 1000)
    position = F.col(POSITION if POSITION in rows.columns else OFFSET.name)
    tagged = rows.select(
        keys.alias("keys"),
        witnessed(run.query_id, number, side.place, time, F.col(PARTITION.name), ingested).alias("time"),
        F.col(PARTITION.name).alias("partition"),
        position.alias("position"),
        ingested.alias("ingested"),
        (payload if kind is Kind.APPEND else F.when(~F.col(DELETED), payload)).alias("payload"),
    )
    keyless = reduce(or_, (F.col("keys")[f"k{n}"].isNull() for n in range(len(side.keys))))
    key_schema = StructType(tagged.schema["keys"].dataType.fields)
    place = F.when(keyless, F.lit(side.place | KEYLESS)).otherwise(F.lit(side.place))
    rest = [F.col(name) for name in ("time", "partition", "position", "ingested", "payload")]
    plain = tagged.select(pack(key_schema, F.col("keys")).alias("key"), place.alias("side"), *rest)
    return _with_heartbeats(plain, side) if side.beats and run.real_time else plain


def _with_heartbeats(rows: DataFrame, side: _Side) -> DataFrame:
    """After each row, how far its partition is, to every task: in the same channel, so never ahead of a row."""
    partitions = int(str(rows.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    row = F.struct("key", "side", "payload")
    beats = [_beat(key, side.place) for key in keys_of_partitions(partitions)]
    exploded = rows.select("time", "partition", "position", "ingested", F.explode(F.array(row, *beats)).alias("row"))
    return exploded.select("row.key", "row.side", "time", "partition", "position", "ingested", "row.payload")


def _beat(key: bytes, place: int) -> SparkColumn:
    none = F.lit(None).cast("binary")
    return F.struct(F.lit(key).alias("key"), F.lit(place | HEARTBEAT).alias("side"), none.alias("payload"))


# --- out ---


def _result(node: Join, joined: DataFrame, sides: Sequence[_Side]) -> DataFrame:
    left, right = (unpack(side.schema, F.col(name)) for side, name in zip(sides, ("left", "right"), strict=True))
    rows = joined.select(left.alias("l"), right.alias("r"), "time", "partition", "position", "ingested")
    names = [("l", c.name) for c in node.left.columns] + [("r", c.name) for c in node.right.columns]
    visible = [F.col(s)[n].alias(c.name) for (s, n), c in zip(names, node.columns, strict=True)]
    offset = F.col("position") if isinstance(node, IntervalJoin) else F.col("l")[OFFSET.name]
    hidden = [
        F.timestamp_micros("time").alias(ROWTIME.name),
        F.lit(False).alias(DELETED),
        F.col("l")[KEY.name].alias(KEY.name),
        F.col("l")[TOPIC.name].alias(TOPIC.name),
        F.col("partition").alias(PARTITION.name),
        offset.alias(OFFSET.name),
        F.col("ingested").alias(INGESTED.name),
        F.col("position").alias(POSITION),
    ]
    return rows.select(*visible, *hidden)
