"""Aggregate -> Spark: the group columns, the aggregates, and the source position and time of the latest row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millpond.plan.expressions import AggregateCall
from millpond.plan.nodes import INGESTED, OFFSET, PARTITION, ROWTIME, Aggregate, Window, walk
from millpond.spark.codec import first_seen
from millpond.spark.expressions import to_spark
from millpond.spark.source import DELETED, POSITION
from millpond.spark.types import to_spark_type

WINDOW = "__window"
PLACE = "__place"
"""Orders the rows of a source partition: the record's offset, or for an unnested row its own position."""
Form = Callable[[Sequence[SparkColumn]], SparkColumn]


def _order() -> SparkColumn:
    """By place; the partition decides between equal ones, so that the answer is the same on every replay."""
    return F.struct(F.col(PLACE), F.col(PARTITION.name))


def _by_offset(pick: Callable[[SparkColumn, SparkColumn], SparkColumn]) -> Form:
    """LATEST/EARLIEST_BY_OFFSET: of the rows whose value is not null."""
    return lambda args: pick(F.when(args[0].isNotNull(), args[0]), F.when(args[0].isNotNull(), _order()))


def _collected(args: Sequence[SparkColumn]) -> SparkColumn:
    """The values that are not null, in the order of offsets."""
    pairs = F.collect_list(F.when(args[0].isNotNull(), F.struct(_order().alias("at"), args[0].alias("value"))))
    return F.transform(F.array_sort(pairs), lambda pair: pair["value"])


def _listagg(args: Sequence[SparkColumn]) -> SparkColumn:
    """The texts in the order of offsets, between them the separator; NULL if there are none."""
    values = _collected(args)
    separator = F.first(args[1]) if len(args) > 1 else F.lit(",")
    return F.when(F.size(values) > 0, F.call_function("array_join", values, separator))


FORMS: dict[str, Form] = {
    "count": lambda args: F.count(args[0] if args else F.lit(1)),
    # try_sum: a BIGINT that overflows becomes NULL, not a wrong number.
    "sum": lambda args: F.try_sum(args[0]),
    "avg": lambda args: F.avg(args[0]),
    "min": lambda args: F.min(args[0]),
    "max": lambda args: F.max(args[0]),
    "stddev": lambda args: F.stddev_samp(args[0]),
    "stddev_samp": lambda args: F.stddev_samp(args[0]),
    "stddev_pop": lambda args: F.stddev_pop(args[0]),
    "variance": lambda args: F.var_samp(args[0]),
    "var_samp": lambda args: F.var_samp(args[0]),
    "var_pop": lambda args: F.var_pop(args[0]),
    "listagg": _listagg,
    "collect_list": _collected,
    "collect_set": lambda args: F.array_sort(F.collect_set(args[0])),
    "latest_by_offset": _by_offset(F.max_by),
    "earliest_by_offset": _by_offset(F.min_by),
}
"""The Spark form of each aggregate of the function table; a test holds the two side by side."""

ORDERED = ("listagg", "collect_list", "latest_by_offset", "earliest_by_offset")
"""Those that look at the order of rows."""


def aggregate(node: Aggregate, rows: DataFrame) -> DataFrame:
    """Columns of `node` in order, then the hidden ones that it keeps: ROWTIME, INGESTED, PARTITION, OFFSET."""
    groups, calls = node.columns[: len(node.groups)], node.columns[len(node.groups) :]
    rows = _with_inputs(node, rows)
    rows, seen = _with_first_seen(node, rows)
    window = [WINDOW] if WINDOW in rows.columns else []
    values = [
        _form(call, n, seen.get(n)).cast(to_spark_type(column.type)).alias(column.name)
        for n, (call, column) in enumerate(zip(node.aggregates, calls, strict=True))
    ]
    grouped = rows.groupBy(*window, *(c.name for c in groups)).agg(*values, *_provenance())
    position = [F.col("__at")[name].alias(name) for name in (PARTITION.name, OFFSET.name)]
    names = [c.name for c in node.columns]
    return grouped.select(*names, ROWTIME.name, INGESTED.name, *position, F.lit(False).alias(DELETED))


def _provenance() -> list[SparkColumn]:
    """The newest times, and the position of the row that came last: in real time, of the one that caused the update."""
    at = F.last(F.struct(PARTITION.name, OFFSET.name)).alias("__at")
    return [F.max(ROWTIME.name).alias(ROWTIME.name), F.max(INGESTED.name).alias(INGESTED.name), at]


def _with_inputs(node: Aggregate, rows: DataFrame) -> DataFrame:
    """Group expressions as `__gN` and aggregate arguments as `__aN_M`, beside the hidden columns."""
    groups = [F.expr(to_spark(g)).alias(c.name) for g, c in zip(node.groups, node.columns, strict=False)]
    args = [
        F.expr(to_spark(arg)).alias(f"__a{n}_{m}")
        for n, call in enumerate(node.aggregates)
        for m, arg in enumerate(call.args)
    ]
    window = [F.col(WINDOW)] if WINDOW in rows.columns else []
    hidden = [F.col(c.name) for c in (ROWTIME, INGESTED, PARTITION, OFFSET)]
    if any(call.function in ORDERED for call in node.aggregates):
        hidden.append(F.col(POSITION if POSITION in rows.columns else OFFSET.name).alias(PLACE))
    return rows.select(*groups, *args, *window, *hidden)


def _with_first_seen(node: Aggregate, rows: DataFrame) -> tuple[DataFrame, dict[int, str]]:
    """One flag column for each distinct argument: is this the first row of its group with that value?"""
    seen: dict[int, str] = {}
    flags: dict[object, str] = {}
    keys = [c.name for c in node.columns[: len(node.groups)]]
    for n, call in enumerate(node.aggregates):
        if not call.distinct or call.function in ("min", "max", "collect_set"):
            continue
        if call.args not in flags:
            flags[call.args] = f"__first{n}"
            rows = first_seen(rows, [*keys, f"__a{n}_0"], f"__a{n}_0", f"__first{n}", expiry=_expiry(node))
        seen[n] = flags[call.args]
    return rows, seen


def _expiry(node: Aggregate) -> str | None:
    """The column after whose time a group gets no more rows; None if it always may."""
    ends = any(isinstance(n, Window) and n.allowed_latency_ms is not None for n in walk(node.input))
    return WINDOW if ends else None


def _form(call: AggregateCall, number: int, first: str | None) -> SparkColumn:
    args = [F.col(f"__a{number}_{m}") for m in range(len(call.args))]
    if first is not None:
        args[0] = F.when(F.col(first), args[0])
    return FORMS[call.function](args)
