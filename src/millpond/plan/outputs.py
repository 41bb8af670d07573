"""What the columns of a result are called."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millpond.errors import MillpondError
from millpond.plan.expressions import AggregateCall, Call, ColumnRef, Expr
from millpond.plan.row_functions import ROW_FUNCTIONS
from millpond.plan.scope import Scope
from millpond.sql.position import position_of


def output_name(tree: exp.Expr, expr: Expr, position: int, scope: Scope | None = None) -> str:
    """A result column's name: its alias, its column (as `scope` calls it), its field, else the function or `_colN`."""
    if isinstance(tree, exp.Alias):
        return folded(tree.args["alias"])
    if isinstance(expr, ColumnRef):
        return scope.shown(expr) if scope else expr.name
    if hasattr(tree, "args") and "field" in tree.args:
        return str(tree.args["field"].name).lower()
    if isinstance(tree, exp.Anonymous) and tree.name.lower() in ROW_FUNCTIONS:
        return tree.name.lower()
    if isinstance(expr, AggregateCall | Call) and expr.function.replace("_", "").isalnum():
        return expr.function.lower()
    return f"_col{position}"


def folded(identifier: exp.Expr) -> str:
    """A name that a query gives to something, in lower case unless quoted."""
    return str(identifier.name) if identifier.args.get("quoted") else str(identifier.name).lower()


def alias_name(identifier: exp.Expr) -> str:
    """A name that a persistent query gives to a column. Raises RESERVED_NAME."""
    name = folded(identifier)
    if name.startswith("_"):
        raise MillpondError("RESERVED_NAME", position=position_of(identifier), name=name)
    return name


def is_star(tree: exp.Expr) -> bool:
    """Whether an entry of a SELECT list is `*` or `relation.*`."""
    return isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star))


def starred(tree: exp.Expr, scope: Scope) -> Sequence[tuple[str, ColumnRef]]:
    """The columns that `*` or `relation.*` stands for. Raises COLUMN_NOT_FOUND for an unknown relation."""
    qualifier = [part.name for part in tree.parts[:-1]] if isinstance(tree, exp.Column) else []
    if qualifier and not scope.has_source(qualifier):
        raise MillpondError(
            "COLUMN_NOT_FOUND",
            position=position_of(tree),
            name=f"{'.'.join(qualifier)}.*",
            where=scope.where,
            suggestion="Write * for all columns.",
        )
    return scope.columns(qualifier)
