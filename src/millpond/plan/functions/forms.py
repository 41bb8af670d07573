"""Pieces that several families use to write a call in Spark or SQLite."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millpond.plan.coercion import is_decimal, is_integer
from millpond.plan.expressions import Call, Expr, Literal
from millpond.types import DataType

BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
DECIMAL_ORDER = 'COLLATE "DECIMAL"'
"""Decimals are TEXT in the view store: this collation orders them as numbers."""


NUMBERS_ONLY = "nullif({}, 'NaN')"
"""A FLOAT or DOUBLE in SQLite's own arithmetic: NaN is kept as text there and would count as 0; it gives NULL."""


def constant(call: Call, index: int) -> object:
    """The value of a constant argument, for forms that are written differently for each value."""
    arg = call.args[index]
    assert isinstance(arg, Literal)
    return arg.value


def quoted(text: object) -> str:
    """A text constant in SQLite."""
    return "'" + str(text).replace("'", "''") + "'"


def quoted_spark(text: object) -> str:
    """A text constant in Spark, where a backslash escapes."""
    return "'" + str(text).replace("\\", "\\\\").replace("'", "\\'") + "'"


def ordered(expr: Expr, text: str) -> str:
    """`text` in SQLite as the first operand of a comparison of values of the type of `expr`."""
    return f"{text} {DECIMAL_ORDER}" if is_decimal(expr.type) else text


def precision_scale(type: DataType) -> str:
    """'p, s' of a DECIMAL."""
    assert is_decimal(type)
    return f"{type.precision}, {type.scale}"


def same_type(args: Sequence[Expr]) -> DataType:
    """A return rule: the type of the first argument."""
    return args[0].type


def by_kind(integer: str, decimal: str, floating: str) -> Callable[[Call, Sequence[str]], str]:
    """A form that differs by the kind of number of the first argument. {bits} and {ps} describe the result type."""

    def form(call: Call, args: Sequence[str]) -> str:
        kind = call.args[0].type
        if is_integer(kind):
            return integer.format(*args, bits=BITS.get(call.type.name, 64), type=call.type)
        if is_decimal(kind):
            ps = precision_scale(call.type) if is_decimal(call.type) else ""
            return decimal.format(*args, ps=ps, type=call.type)
        return floating.format(*args, type=call.type)

    return form
