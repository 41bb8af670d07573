"""Questions about bound expressions, and how to change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from millpond.plan.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    ColumnRef,
    Element,
    Expr,
    FieldAccess,
    walk,
)
from millpond.plan.functions.table import get_function


def contains_aggregate(expr: Expr) -> bool:
    """Whether an aggregate is in `expr`."""
    return any(isinstance(part, AggregateCall) for part in walk(expr))


def columns_of(expr: Expr) -> frozenset[str]:
    """Names of the input's columns that `expr` reads."""
    return frozenset(part.name for part in walk(expr) if isinstance(part, ColumnRef))


def is_deterministic(expr: Expr) -> bool:
    """Whether `expr` gives the same for the same row: no UUID(), RAND() or clock in it."""
    calls = [part for part in walk(expr) if isinstance(part, Call)]
    return all(get_function(call.function).deterministic for call in calls)


def rewrite(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """`expr` with `change` applied to every part, the innermost first."""
    return change(_with_children(expr, lambda child: rewrite(child, change)))


def rewrite_top(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """`expr` with the outermost parts replaced for which `change` gives something; those are not looked into."""
    found = change(expr)
    return found if found is not None else _with_children(expr, lambda child: rewrite_top(child, change))


def _with_children(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    if isinstance(expr, Call | AggregateCall):
        return replace(expr, args=tuple(map(change, expr.args)))
    if isinstance(expr, Cast | FieldAccess):
        return replace(expr, operand=change(expr.operand))
    if isinstance(expr, Element):
        return replace(expr, operand=change(expr.operand), index=change(expr.index))
    if isinstance(expr, Case):
        branches = tuple((change(when), change(then)) for when, then in expr.branches)
        otherwise = None if expr.otherwise is None else change(expr.otherwise)
        return replace(expr, branches=branches, otherwise=otherwise)
    return expr
