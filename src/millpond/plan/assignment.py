"""A value that is stored in a column: INSERT's casts, wider than those of an expression, narrower than CAST's."""

from __future__ import annotations

from millpond.errors import MillpondError
from millpond.plan.coercion import castable, coerce, fits, is_number, written_parts
from millpond.plan.expressions import Call, Expr, Literal
from millpond.types import TEMPORAL, ArrayType, Column, DataType, MapType, StructType


def assign(expr: Expr, column: Column) -> Expr:
    """`expr` as a value of `column`, part by part where it is nested.

    Raises TYPE_MISMATCH; a number that is too large for its place becomes NULL.
    """
    wrong = _misfit(expr, column.type)
    if wrong is None:
        return coerce(expr, column.type)
    raise MillpondError(
        "TYPE_MISMATCH",
        what=f"A value for column '{column.name}' ({column.type})",
        given=str(expr.type),
        instead=_instead(*wrong),
    )


def _misfit(expr: Expr, target: DataType) -> tuple[Expr, DataType] | None:
    """The first part of `expr` that cannot be stored where `target` wants it, with what is wanted there."""
    pairs = written_parts(expr, target)
    if pairs is None or not _named_as(expr, target):
        return None if fits(expr, target) or _storable(expr.type, target) else (expr, target)
    if isinstance(target, MapType):
        wrong_keys = [(key, type) for key, type in pairs[0::2] if not fits(key, type)]
        if wrong_keys:  # two keys that are narrowed could become one
            return wrong_keys[0]
    return next((wrong for part, type in pairs if (wrong := _misfit(part, type))), None)


def _named_as(expr: Expr, target: DataType) -> bool:
    """Whether a NAMED_STRUCT has the members of `target`; ROW has no names of its own."""
    if not (isinstance(expr, Call) and expr.function == "named_struct" and isinstance(target, StructType)):
        return True
    names = [name.value for name in expr.args[0::2] if isinstance(name, Literal)]
    return names == [field.name for field in target.fields]


def _storable(source: DataType, target: DataType) -> bool:
    """Whether any value of `source` has a form in `target`, but for numbers that are too large."""
    match source, target:
        case ArrayType(), ArrayType():
            return _storable(source.element, target.element)
        case MapType(), MapType():
            return _storable(source.key, target.key) and _storable(source.value, target.value)
        case StructType(), StructType():
            if [f.name for f in source.fields] != [f.name for f in target.fields]:
                return False
            return all(_storable(a.type, b.type) for a, b in zip(source.fields, target.fields, strict=True))
    alike = any(source.name in kind and target.name in kind for kind in (TEMPORAL, (source.name,)))
    return alike or (is_number(source) and is_number(target)) or fits(Expr(source), target)


def _instead(expr: Expr, target: DataType) -> str:
    """What to write for `expr` where `target` is wanted."""
    match target:
        case StructType():
            named = ", ".join(f"'{f.name}', ..." for f in target.fields)
            plain = ", ".join(str(f.type) for f in target.fields)
            return f"Write NAMED_STRUCT({named}), or ROW(...) of {plain}."
        case ArrayType():
            return f"Write ARRAY[...] with values of {target.element}."
        case MapType():
            return f"Write MAP['...', ...] with keys of {target.key} and values of {target.value}."
    if castable(expr.type, target):
        return f"Write CAST(... AS {target}) around the {expr.type}."
    return f"Give a value of {target} in place of the {expr.type}."
