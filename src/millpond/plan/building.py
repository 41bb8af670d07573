"""Parts of expressions that need their operands' types: CASE, CAST, MAP, elements, conditions."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.errors import MillpondError
from millpond.plan.calls import call
from millpond.plan.coercion import castable, coerce, common_type, is_number, rebuilt
from millpond.plan.expressions import Case, Cast, Element, Expr, Literal
from millpond.plan.literals import constant_cast
from millpond.types import (
    BOOLEAN,
    DATE,
    INTEGER,
    NULL,
    TIME,
    TIMESTAMP,
    TIMESTAMP_LTZ,
    ArrayType,
    DataType,
    MapType,
)

CAST_HINTS = {
    ("BIGINT", "TIMESTAMP"): "Use TO_TIMESTAMP_LTZ(x, 3) for epoch milliseconds, (x, 0) for seconds.",
    ("BIGINT", "TIMESTAMP_LTZ"): "Use TO_TIMESTAMP_LTZ(x, 3) for epoch milliseconds, (x, 0) for seconds.",
    ("TIMESTAMP", "BIGINT"): "Use UNIX_MILLIS(x) for epoch milliseconds, UNIX_TIMESTAMP(x) for seconds.",
    ("TIMESTAMP_LTZ", "BIGINT"): "Use UNIX_MILLIS(x) for epoch milliseconds, UNIX_TIMESTAMP(x) for seconds.",
}


def make_case(whens: Sequence[Expr], thens: Sequence[Expr], otherwise: Expr | None) -> Expr:
    """A searched CASE whose results all have their common type; TYPE_MISMATCH if there is none."""
    results = [*thens, *([otherwise] if otherwise is not None else [])]
    shared = common_type(results)
    if shared is None:
        given = ", ".join(dict.fromkeys(str(r.type) for r in results))
        raise MillpondError(
            "TYPE_MISMATCH",
            what="The results of one CASE",
            given=f"of different kinds ({given})",
            instead="Cast them to one type.",
        )
    branches = tuple((w, coerce(t, shared)) for w, t in zip(whens, thens, strict=True))
    return Case(shared, branches, coerce(otherwise, shared) if otherwise is not None else None)


def make_map(args: Sequence[Expr]) -> Expr:
    """MAP(key, value, ...): keys are constants, because Spark stops at a NULL key or one that comes twice."""
    keys, values = args[0::2], args[1::2]
    shared = common_type(keys), common_type(values)
    constants = {k.value for k in keys if isinstance(k, Literal)} - {None}
    if not args or len(keys) != len(values) or None in shared or len(constants) != len(keys):
        given = ", ".join(str(a.type) for a in args)
        takes = "MAP(constant, value, ...) with keys that differ"
        raise MillpondError("WRONG_ARGUMENTS", name="MAP", given=given, takes=takes)
    pairs = zip(keys, values, strict=True)
    return call("map", [coerce(e, t) for pair in pairs for e, t in zip(pair, shared, strict=True) if t])


def balanced(operator: str, parts: list[Expr]) -> Expr:
    """`parts` joined by AND or OR, as flat a tree as can be."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return call(operator, [balanced(operator, parts[:middle]), balanced(operator, parts[middle:])])


def condition(expr: Expr) -> Expr:
    """`expr` where a BOOLEAN is wanted; TYPE_MISMATCH for anything else but NULL."""
    if expr.type.name not in ("BOOLEAN", "NULL"):
        raise MillpondError(
            "TYPE_MISMATCH", what="A condition", given=str(expr.type), instead="Compare it with something."
        )
    return coerce(expr, BOOLEAN)


def _indexes(index: Expr, operand: ArrayType | MapType) -> bool:
    if isinstance(operand, ArrayType):
        return index.type.name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
    return common_type([index, Literal(operand.key, None)]) == operand.key or (
        is_number(index.type) and is_number(operand.key)
    )


def _plain_time(target: DataType) -> bool:
    """Whether a cast is one to a time of the usual precision: how DATE '...' and TIMESTAMP '...' arrive."""
    return target in (DATE, TIME, TIMESTAMP, TIMESTAMP_LTZ)


def make_cast(operand: Expr, target: DataType) -> Expr:
    """CAST(operand AS target); a constant time is read at once. TYPE_MISMATCH where there is no such cast."""
    if isinstance(operand, Literal) and isinstance(operand.value, str) and _plain_time(target):
        constant = constant_cast(operand.value, target)
        if constant is not None:
            return constant
    if not castable(operand.type, target):
        raise MillpondError(
            "TYPE_MISMATCH",
            what=str(operand.type),
            given=f"cast to {target}",
            instead=CAST_HINTS.get((operand.type.name, target.name), "Cast it through VARCHAR."),
        )
    if operand.type == target:
        return operand
    if operand.type == NULL:
        return Literal(target, None)
    return rebuilt(operand, target, make_cast) or Cast(target, operand)


def make_element(operand: Expr, index: Expr) -> Expr:
    """`operand[index]` of an ARRAY or a MAP; TYPE_MISMATCH for anything else."""
    wanted = operand.type.key if isinstance(operand.type, MapType) else INTEGER
    if not isinstance(operand.type, ArrayType | MapType) or not _indexes(index, operand.type):
        raise MillpondError(
            "TYPE_MISMATCH",
            what=f"{operand.type}",
            given=f"indexed with {index.type}",
            instead="An ARRAY takes a number from 1, a MAP a key of its key type, a STRUCT a member's name.",
        )
    element = operand.type.value if isinstance(operand.type, MapType) else operand.type.element
    return Element(element, operand, coerce(index, wanted))
