"""Bound expressions: typed, named after nothing but the columns of their input. No engine in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TypeAlias

from millpond.types import DataType

LiteralValue: TypeAlias = bool | int | float | Decimal | str | bytes | date | time | datetime | timedelta | None


@dataclass(frozen=True, slots=True)
class Expr:
    """An expression of `type`."""

    type: DataType

    def children(self) -> tuple[Expr, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class ColumnRef(Expr):
    """A column of the input, by its name there (unique within the input)."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant."""

    value: LiteralValue


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A scalar function or operator, by its name in the function table (`millpond.plan.functions`).

    Operators are functions too: 'and', 'or', 'not', '=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '/', '%',
    'negate', '||', 'like', 'not like' is not(like), 'in', 'between', 'is null', 'is not null', ...
    """

    function: str
    args: tuple[Expr, ...]

    def children(self) -> tuple[Expr, ...]:
        return self.args


@dataclass(frozen=True, slots=True)
class AggregateCall(Expr):
    """An aggregate function; COUNT(*) has no args. Only inside Aggregate nodes after planning."""

    function: str
    args: tuple[Expr, ...]
    distinct: bool = False

    def children(self) -> tuple[Expr, ...]:
        return self.args


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    """CAST(operand AS type): NULL where the value has no such form (TRY_CAST semantics everywhere)."""

    operand: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Case(Expr):
    """CASE WHEN condition THEN value ... ELSE otherwise END; the operand form is rewritten to this."""

    branches: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None

    def children(self) -> tuple[Expr, ...]:
        flat = tuple(e for pair in self.branches for e in pair)
        return flat if self.otherwise is None else (*flat, self.otherwise)


@dataclass(frozen=True, slots=True)
class FieldAccess(Expr):
    """`operand->field` of a STRUCT; `field` is the member's exact name."""

    operand: Expr
    field: str

    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Element(Expr):
    """`array[i]` (1-based, NULL outside) or `map[key]` (NULL if absent)."""

    operand: Expr
    index: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.operand, self.index)


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and everything below it, parents first."""
    yield expr
    for child in expr.children():
        yield from walk(child)


def map_children(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """`expr` with each direct child replaced by `change(child)`."""
    match expr:
        case Call() | AggregateCall():
            return replace(expr, args=tuple(map(change, expr.args)))
        case Cast() | FieldAccess():
            return replace(expr, operand=change(expr.operand))
        case Element():
            return replace(expr, operand=change(expr.operand), index=change(expr.index))
        case Case():
            branches = tuple((change(condition), change(value)) for condition, value in expr.branches)
            return replace(expr, branches=branches, otherwise=expr.otherwise and change(expr.otherwise))
        case _:
            return expr
