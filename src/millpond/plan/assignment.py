"""A value that is stored in a column: INSERT's casts, wider than those of an expression, narrower than CAST's."""

from __future__ import annotations

from millpond.errors import MillpondError
from millpond.plan.coercion import coerce, fits, is_number
from millpond.plan.expressions import Expr
from millpond.types import TEMPORAL, Column


def assign(expr: Expr, column: Column) -> Expr:
    """`expr` as a value of `column`. Raises TYPE_MISMATCH; a number that is too large for it becomes NULL."""
    source, target = expr.type, column.type
    narrowing = is_number(source) and is_number(target)
    timely = source.name in TEMPORAL and target.name in TEMPORAL
    if fits(expr, target) or narrowing or timely or source.name == target.name != "STRUCT":
        return coerce(expr, target)
    raise MillpondError(
        "TYPE_MISMATCH",
        what=f"A value for column '{column.name}' ({target})",
        given=str(source),
        instead="CAST it.",
    )
