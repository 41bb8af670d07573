"""What a query over views cannot have."""

from __future__ import annotations

from sqlglot import exp

from millpond.errors import MillpondError
from millpond.plan.expressions import AggregateCall, Expr, walk
from millpond.sql.position import position_of


def refused(what: str, instead: str, tree: exp.Expr | None = None) -> MillpondError:
    """UNSUPPORTED, pointing at `tree`."""
    position = position_of(tree) if tree is not None else None
    return MillpondError("UNSUPPORTED", position=position, feature=f"{what} in a query over views", instead=instead)


def refuse_aggregates(expr: Expr, clause: str, tree: exp.Expr, instead: str) -> Expr:
    """`expr`, which has none. Raises AGGREGATE_NOT_ALLOWED."""
    if any(isinstance(e, AggregateCall) for e in walk(expr)):
        raise MillpondError("AGGREGATE_NOT_ALLOWED", position=position_of(tree), clause=clause, instead=instead)
    return expr


def refuse_nested_aggregates(expr: Expr, tree: exp.Expr) -> Expr:
    """`expr`, where no aggregate is an argument of another. Raises AGGREGATE_NOT_ALLOWED."""
    for call in walk(expr):
        if isinstance(call, AggregateCall):
            for argument in call.args:
                refuse_aggregates(argument, "an aggregate", tree, "Aggregate in a sub-query in FROM first.")
    return expr
