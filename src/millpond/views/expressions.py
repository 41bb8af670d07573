"""Bound expressions as SQLite text over the view store's encodings (`millpond.views.values`)."""

from __future__ import annotations

import math
from collections.abc import Callable

from millpond.errors import MillpondError
from millpond.plan.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    ColumnRef,
    Element,
    Expr,
    FieldAccess,
    Literal,
)
from millpond.plan.functions.forms import quoted
from millpond.plan.functions.table import Function, find_aggregate, get_function, written
from millpond.types import DataType, MapType
from millpond.views.casts import cast
from millpond.views.values import to_sqlite_value


def literal_to_sqlite(literal: Literal) -> str:
    """A constant as SQLite text."""
    value = to_sqlite_value(literal.type, literal.value)
    match value:
        case None:
            return "NULL"
        case bool():
            return "1" if value else "0"
        case int():
            return str(value) if value > -(2**63) else "(-9223372036854775807 - 1)"
        case float():
            return repr(value) if math.isfinite(value) else "9e999" if value > 0 else "-9e999"
        case bytes():
            return f"X'{value.hex()}'"
    return _text(str(value))


def _text(value: str) -> str:
    """SQLite reads its statements as C strings: a NUL goes in as a number."""
    if "\0" not in value:
        return quoted(value)
    return "(" + " || ".join(quoted(part) for part in value.split("\0")).replace(" || ", " || char(0) || ") + ")"


def to_sqlite(
    expr: Expr,
    column: Callable[[ColumnRef], str],
    literal: Callable[[Literal], str] = literal_to_sqlite,
) -> str:
    """`expr` as SQLite text; `column` and `literal` write columns and constants.

    `literal` is not asked for constants that decide how a call is written (units, patterns, paths), so it may answer
    with a parameter; it must be a numbered one, because an argument can be written twice. The connection must have
    been through `millpond.views.functions.register`. Raises NOT_IN_PULL_QUERY for a function without such a form.
    """
    return _Renderer(column, literal).render(expr)


class _Renderer:
    def __init__(self, column: Callable[[ColumnRef], str], literal: Callable[[Literal], str]) -> None:
        self.column = column
        self.literal = literal

    def render(self, expr: Expr) -> str:
        match expr:
            case ColumnRef():
                return self.column(expr)
            case Literal():
                return self.literal(expr)
            case Call():
                return self._call(expr)
            case Cast():
                return cast(self.render(expr.operand), expr.operand.type, expr.type)
            case Case():
                return self._case(expr)
            case FieldAccess():
                return f"mp_member({self.render(expr.operand)}, {quoted(expr.field)}, {_type(expr.type)})"
            case Element():
                return self._element(expr)
            case AggregateCall():
                return self._aggregate(expr)
        raise TypeError(f"{type(expr).__name__} is no expression")

    def _call(self, expr: Call) -> str:
        function = get_function(expr.function)
        if function.sqlite is None:
            raise MillpondError("NOT_IN_PULL_QUERY", name=expr.function.upper())
        return written(function.sqlite, expr, [self._argument(function, k, a) for k, a in enumerate(expr.args)])

    def _argument(self, function: Function, index: int, argument: Expr) -> str:
        if isinstance(argument, Literal) and function.signature.is_constant(index):
            return literal_to_sqlite(argument)
        return self.render(argument)

    def _case(self, expr: Case) -> str:
        branches = " ".join(f"WHEN {self.render(when)} THEN {self.render(then)}" for when, then in expr.branches)
        otherwise = f" ELSE {self.render(expr.otherwise)}" if expr.otherwise is not None else ""
        return f"CASE {branches}{otherwise} END"

    def _element(self, expr: Element) -> str:
        name = "mp_member" if isinstance(expr.operand.type, MapType) else "mp_index"
        return f"{name}({self.render(expr.operand)}, {self.render(expr.index)}, {_type(expr.type)})"

    def _aggregate(self, expr: AggregateCall) -> str:
        function = find_aggregate(expr.function)
        if function is None or function.sqlite is None:
            raise MillpondError("NOT_IN_PULL_QUERY", name=expr.function.upper())
        return function.sqlite(expr.args, [self.render(a) for a in expr.args], expr.distinct)


def _type(type: DataType) -> str:
    return quoted(type)
