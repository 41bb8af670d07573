"""Aggregate functions: names, types, and how a pull query computes them in SQLite.

Spark's forms are in `millpond.spark`, because they depend on how a query keeps its state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millpond.plan.coercion import MAX_PRECISION, decimal, is_decimal, is_integer
from millpond.plan.expressions import Expr
from millpond.plan.functions.forms import ordered, precision_scale, quoted, same_type
from millpond.plan.functions.signature import Signature
from millpond.plan.functions.table import AggregateFunction
from millpond.types import BIGINT, DOUBLE, VARCHAR, ArrayType, DataType, DecimalType

AggregateForm = Callable[[Sequence[Expr], Sequence[str], bool], str]


def _sum_type(args: Sequence[Expr]) -> DataType:
    type = args[0].type
    if is_decimal(type):
        return DecimalType(precision=MAX_PRECISION, scale=type.scale)
    return BIGINT if is_integer(type) else DOUBLE


def _average_type(args: Sequence[Expr]) -> DataType:
    type = args[0].type
    return decimal(MAX_PRECISION, max(type.scale, 6)) if is_decimal(type) else DOUBLE


def _array_type(args: Sequence[Expr]) -> DataType:
    return ArrayType(element=args[0].type)


def _count(args: Sequence[Expr], texts: Sequence[str], distinct: bool) -> str:
    """COUNT(*) has no argument."""
    return f"count({'DISTINCT ' if distinct else ''}{texts[0] if texts else '*'})"


def _sum(args: Sequence[Expr], texts: Sequence[str], distinct: bool) -> str:
    return _numeric("sum", _sum_type(args), args, texts, distinct)


def _average(args: Sequence[Expr], texts: Sequence[str], distinct: bool) -> str:
    return _numeric("avg", _average_type(args), args, texts, distinct)


def _numeric(name: str, type: DataType, args: Sequence[Expr], texts: Sequence[str], distinct: bool) -> str:
    """SQLite's own for integers and floats; decimals are exact in a function of ours.

    SQLite takes DISTINCT only with one argument, so the scale is a part of the name's first argument there.
    """
    if not is_decimal(args[0].type):
        own = f"{name}({'DISTINCT ' if distinct else ''}{texts[0]})"
        # A NaN is kept as text, which SQLite would count as 0.
        return own if is_integer(args[0].type) else f"iif(max(typeof({texts[0]})) = 'text', NULL, {own})"
    flag = ", 1" if distinct else ", 0"
    return f"mp_dec_{name}({texts[0]}, {precision_scale(type)}{flag})"


def _extreme(name: str) -> AggregateForm:
    return lambda args, texts, distinct: f"{name}({ordered(args[0], texts[0])})"


def _flagged(name: str) -> AggregateForm:
    """An aggregate of ours; whether DISTINCT is given is its last argument."""
    return lambda args, texts, distinct: f"{name}({', '.join(texts)}, {int(distinct)})"


def _collect(always_distinct: bool) -> AggregateForm:
    def form(args: Sequence[Expr], texts: Sequence[str], distinct: bool) -> str:
        return f"mp_collect({texts[0]}, {quoted(args[0].type)}, {int(distinct or always_distinct)})"

    return form


def _aggregate(
    spellings: str,
    takes: str,
    returns: DataType | Callable[[Sequence[Expr]], DataType],
    sqlite: AggregateForm | None,
) -> AggregateFunction:
    names = tuple(spellings.split())
    return AggregateFunction(names[0], Signature.parse(takes, returns), sqlite, names)


AGGREGATES: tuple[AggregateFunction, ...] = (
    _aggregate("count", "[ANY]", BIGINT, _count),
    _aggregate("sum", "NUMBER", _sum_type, _sum),
    _aggregate("avg mean", "NUMBER", _average_type, _average),
    _aggregate("min", "SCALAR", same_type, _extreme("min")),
    _aggregate("max", "SCALAR", same_type, _extreme("max")),
    _aggregate("stddev stddev_samp", "DOUBLE", DOUBLE, _flagged("mp_stddev_samp")),
    _aggregate("stddev_pop", "DOUBLE", DOUBLE, _flagged("mp_stddev_pop")),
    _aggregate("variance var_samp", "DOUBLE", DOUBLE, _flagged("mp_var_samp")),
    _aggregate("var_pop", "DOUBLE", DOUBLE, _flagged("mp_var_pop")),
    _aggregate("listagg string_agg group_concat", "PRINTABLE, [VARCHAR = ',']", VARCHAR, _flagged("mp_listagg")),
    _aggregate("latest_by_offset last_value", "ANY", same_type, None),
    _aggregate("earliest_by_offset first_value", "ANY", same_type, None),
    _aggregate("collect_list array_agg", "ANY", _array_type, _collect(False)),
    _aggregate("collect_set", "ANY", _array_type, _collect(True)),
)
