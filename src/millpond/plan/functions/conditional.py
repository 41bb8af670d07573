"""Choices: COALESCE, NULLIF, IF, TYPEOF."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.plan.expressions import Call, Expr
from millpond.plan.functions.forms import DECIMAL_ORDER, quoted, same_type
from millpond.plan.functions.table import Function, function
from millpond.types import VARCHAR, DataType


def _second(args: Sequence[Expr]) -> DataType:
    return args[1].type


def _nullif_sqlite(call: Call, args: Sequence[str]) -> str:
    first = f"{args[0]} {DECIMAL_ORDER}" if call.type.name == "DECIMAL" else args[0]
    return f"nullif({first}, {args[1]})"


def _typeof(call: Call, args: Sequence[str]) -> str:
    return quoted(call.args[0].type)


def _coalesce(call: Call, args: Sequence[str]) -> str:
    return f"coalesce({', '.join(args)})" if len(args) > 1 else args[0]


FUNCTIONS: tuple[Function, ...] = (
    function("coalesce", "T...", same_type, _coalesce, _coalesce),
    function("ifnull", "T, T", same_type, "coalesce({0}, {1})", "coalesce({0}, {1})", aliases=("nvl",)),
    function("nullif", "S, S", same_type, "nullif({0}, {1})", _nullif_sqlite),
    function("if", "BOOLEAN, T, T", _second, "IF({args})", "iif({args})", aliases=("iff", "iif")),
    function(
        "nvl2",
        "ANY, T, T",
        _second,
        "IF({0} IS NOT NULL, {1}, {2})",
        "iif({0} IS NOT NULL, {1}, {2})",
    ),
    function("typeof", "ANY", VARCHAR, _typeof, _typeof),
)
