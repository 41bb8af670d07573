"""The one type of two columns that meet: the operands of a set operation, and of IN with a sub-query."""

from __future__ import annotations

from sqlglot import exp

from millpond.errors import MillpondError
from millpond.plan.coercion import common_pair
from millpond.sql.position import position_of
from millpond.types import DataType


def common(a: DataType, b: DataType, what: str, tree: exp.Expr) -> DataType:
    """The type that values of both are given. Raises TYPE_MISMATCH."""
    found = common_pair(a, b)
    if found is None:
        raise MillpondError(
            "TYPE_MISMATCH",
            position=position_of(tree),
            what=what,
            given=f"of {a} and {b}",
            instead="CAST one of them.",
        )
    return found
