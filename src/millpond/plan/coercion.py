"""Which type fits where: implicit widening, the common type of several, the types of decimal results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from millpond.errors import MillpondError
from millpond.plan.expressions import Call, Cast, Expr, Literal
from millpond.plan.literals import constant_cast
from millpond.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    INTEGERS,
    NESTED,
    NULL,
    NUMBERS,
    TEMPORAL,
    TIMESTAMP,
    VARCHAR,
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    Sized,
    StructType,
)

MAX_PRECISION = 38
INTEGER_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 19}
"""Decimal digits that hold every value of the type."""
TIMESTAMPS = ("TIMESTAMP", "TIMESTAMP_LTZ")
MICROSECOND = 6
"""The finest time that is kept; TIMESTAMP(7..9) is read as (6)."""


def is_number(type: DataType) -> bool:
    return type.name in NUMBERS


def is_integer(type: DataType) -> bool:
    return type.name in INTEGERS


def is_decimal(type: DataType) -> TypeGuard[DecimalType]:
    return isinstance(type, DecimalType)


def is_text_literal(expr: Expr) -> bool:
    return isinstance(expr, Literal) and isinstance(expr.value, str)


def decimal_of(type: DataType) -> DecimalType:
    """The decimal type that holds every value of an integer or decimal type."""
    return type if is_decimal(type) else DecimalType(precision=INTEGER_DIGITS[type.name], scale=0)


def decimal(precision: int, scale: int) -> DecimalType:
    """DECIMAL(precision, scale) cut to 38 digits: fraction digits above six go first, whole digits never before.

    >>> str(decimal(40, 10))
    'DECIMAL(38, 8)'
    """
    if precision <= MAX_PRECISION:
        return DecimalType(precision=precision, scale=scale)
    whole = precision - scale
    return DecimalType(precision=MAX_PRECISION, scale=max(MAX_PRECISION - whole, min(scale, MICROSECOND)))


def decimal_result(operator: str, left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of `left operator right`, as in Flink, Spark and SQL Server."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    if operator in "+-":
        return decimal(whole + scale + 1, scale)
    if operator == "*":
        return decimal(left.precision + right.precision + 1, left.scale + right.scale)
    if operator == "/":
        scale = max(6, left.scale + right.precision + 1)
        return decimal(left.precision - left.scale + right.scale + scale, scale)
    smaller = min(left.precision - left.scale, right.precision - right.scale)
    return decimal(smaller + scale, scale)


def common_number(left: DataType, right: DataType) -> DataType:
    """The narrowest type that holds both numbers; with FLOAT or DOUBLE on one side only, DOUBLE."""
    if left.name == right.name and not is_decimal(left):
        return left
    if is_integer(left) and is_integer(right):
        return max(left, right, key=lambda t: INTEGERS.index(t.name))
    if {left.name, right.name} & {"FLOAT", "DOUBLE"}:
        return DOUBLE
    a, b = decimal_of(left), decimal_of(right)
    scale = max(a.scale, b.scale)
    whole = max(a.precision - a.scale, b.precision - b.scale)
    return DecimalType(precision=min(MAX_PRECISION, whole + scale), scale=scale)


def common_pair(left: DataType, right: DataType) -> DataType | None:
    """The type that both fit into without being asked, or None."""
    if left == right or right == NULL:
        return left
    if left == NULL:
        return right
    if is_number(left) and is_number(right):
        return common_number(left, right)
    if left.name == right.name:
        return _common_same(left, right)
    if left.name in BINARY and right.name in BINARY:
        return DataType("BYTES")
    if {left.name, right.name} <= {"DATE", *TIMESTAMPS}:
        return max(left, right, key=lambda t: ("DATE", *TIMESTAMPS).index(t.name))
    return None


def _common_same(left: DataType, right: DataType) -> DataType | None:
    """The common type of two types of one name that differ in their parameters."""
    if isinstance(left, Sized) and isinstance(right, Sized):
        sizes = (left.size, right.size)
        return Sized(left.name, None if None in sizes else max(s for s in sizes if s is not None))
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        element = common_pair(left.element, right.element)
        return element and ArrayType(element=element)
    if isinstance(left, MapType) and isinstance(right, MapType):
        key, value = common_pair(left.key, right.key), common_pair(left.value, right.value)
        return MapType(key=key, value=value) if key and value else None
    if isinstance(left, StructType) and isinstance(right, StructType):
        return _common_struct(left, right)
    return None


def _common_struct(left: StructType, right: StructType) -> DataType | None:
    if len(left.fields) != len(right.fields):
        return None
    fields = []
    for a, b in zip(left.fields, right.fields, strict=True):
        type = common_pair(a.type, b.type)
        if type is None or a.name != b.name:
            return None
        fields.append(Field(a.name, type))
    return StructType(fields=tuple(fields))


def common_type(args: Sequence[Expr], *, comparing: bool = False) -> DataType | None:
    """The one type that all `args` can take. A text literal beside a time is read as that time.

    `comparing`: a text literal beside a number or a BOOLEAN is read as one, too (`n = '5'`).
    """
    found: DataType = NULL
    for arg in sorted(args, key=is_text_literal):
        if is_text_literal(arg) and _literal_fits(found, comparing):
            continue
        pair = common_pair(found, _open_type(arg))
        if pair is None:
            return None
        found = pair
    return _closed_type(found)


def _open_type(expr: Expr) -> DataType:
    """The type of `expr`; a bare NULL that is written as a member of a ROW has the type NULL, which fits everywhere."""
    if not (isinstance(expr, Call) and isinstance(expr.type, StructType)):
        return expr.type
    pairs = written_parts(expr, expr.type)
    if pairs is None:
        return expr.type
    types = [_open_type(part) for part, _ in pairs]
    return StructType(fields=tuple(Field(f.name, t) for f, t in zip(expr.type.fields, types, strict=True)))


def _closed_type(type: DataType) -> DataType:
    """`type` with VARCHAR for a member of which there is nothing but NULL."""
    if not isinstance(type, StructType):
        return type
    types = [VARCHAR if f.type == NULL else _closed_type(f.type) for f in type.fields]
    return StructType(fields=tuple(Field(f.name, t) for f, t in zip(type.fields, types, strict=True)))


def _literal_fits(type: DataType, comparing: bool) -> bool:
    """Whether a text literal beside a value of `type` is read as one of that type."""
    return type.name in TEMPORAL or (comparing and (is_number(type) or type.name == "BOOLEAN"))


def fits(arg: Expr, target: DataType) -> bool:
    """Whether `arg` may stand where `target` is wanted, with an implicit cast or without."""
    source = arg.type
    if source in (NULL, target):
        return True
    if is_text_literal(arg) and target.name in TEMPORAL:
        return True
    if is_number(source) and is_number(target):
        return _widens(source, target)
    if source.name == target.name:
        return source.name not in NESTED or common_pair(source, target) == target
    pairs = {("DATE", "TIMESTAMP"), ("DATE", "TIMESTAMP_LTZ"), TIMESTAMPS, TIMESTAMPS[::-1]}
    return (source.name, target.name) in pairs or (source.name in BINARY and target.name in BINARY)


def _widens(source: DataType, target: DataType) -> bool:
    if is_decimal(source) and is_decimal(target):
        return True
    return NUMBERS.index(source.name) <= NUMBERS.index(target.name)


def same_representation(source: DataType, target: DataType) -> bool:
    """Whether a value of `source` is already one of `target`, so that no cast is needed."""
    if source == target:
        return True
    if source.name in BINARY and target.name in BINARY:
        return True
    if source.name in TIMESTAMPS and target.name in TIMESTAMPS:
        return fraction_digits(source) <= fraction_digits(target)
    if source.name != target.name or source.name in (*NESTED, "DECIMAL"):
        return False
    return size_of(target) is None or (size_of(source) or MAX_SIZE) <= (size_of(target) or 0)


MAX_SIZE = 2**31 - 1


def size_of(type: DataType) -> int | None:
    return type.size if isinstance(type, Sized) else None


def fraction_digits(type: DataType) -> int:
    """Digits after the second of a TIME or TIMESTAMP type: what its text shows."""
    size = size_of(type)
    if size is None:
        return 0 if type.name == "TIME" else TIMESTAMP.size or 3
    return min(size, MICROSECOND)


def coerce(expr: Expr, target: DataType) -> Expr:
    """`expr` as `target`: itself where the value is the same, else wrapped in an explicit Cast."""
    if isinstance(expr, Literal):
        if expr.type == NULL:
            return Literal(target, None)
        if isinstance(expr.value, str) and target.name != "VARCHAR":
            return _read_constant(expr.value, target)
        if is_integer(expr.type) and is_integer(target) and _widens(expr.type, target):
            return Literal(target, expr.value)
    return expr if same_representation(expr.type, target) else rebuilt(expr, target, coerce) or Cast(target, expr)


def written_parts(expr: Expr, target: DataType) -> list[tuple[Expr, DataType]] | None:
    """The parts of an ARRAY[...], MAP[...], ROW(...) or NAMED_STRUCT(...), each with its type in `target`.

    None for an expression whose parts are not written out, and where `target` has other parts.
    """
    match expr, target:
        case Call(function="array"), ArrayType():
            return [(part, target.element) for part in expr.args]
        case Call(function="map"), MapType():
            return [(part, (target.key, target.value)[n % 2]) for n, part in enumerate(expr.args)]
        case Call(function="row" | "named_struct"), StructType():
            parts = expr.args if expr.function == "row" else expr.args[1::2]
            types = [field.type for field in target.fields]
            return list(zip(parts, types, strict=True)) if len(parts) == len(types) else None
    return None


def rebuilt(expr: Expr, target: DataType, change: Callable[[Expr, DataType], Expr]) -> Expr | None:
    """The cast of a nested value whose parts are written out is one of its parts, which every engine can do.

    >>> str(rebuilt(Call(ArrayType(), "array", (Literal(NULL, None),)), ArrayType(element=DOUBLE), coerce).type)
    'ARRAY<DOUBLE>'
    """
    pairs = written_parts(expr, target)
    if pairs is None:
        return None
    parts = [change(part, type) for part, type in pairs]
    assert isinstance(expr, Call)
    unnamed = expr.function == "row" and _member_names(expr.type) == _member_names(target)
    if isinstance(target, StructType) and not unnamed:
        named = zip(target.fields, parts, strict=True)
        return Call(target, "named_struct", tuple(e for f, p in named for e in (Literal(VARCHAR, f.name), p)))
    return Call(target, expr.function, tuple(parts))


def _member_names(type: DataType) -> list[str]:
    return [field.name for field in type.fields] if isinstance(type, StructType) else []


def _read_constant(text: str, target: DataType) -> Literal:
    """A text constant that stands for a time, a number or a BOOLEAN; INVALID_CONSTANT where it is none."""
    found = constant_cast(text, target)
    if found is None:
        raise MillpondError("INVALID_CONSTANT", kind=str(target), text=text, reason="it does not read as one")
    return found


def castable(source: DataType, target: DataType) -> bool:
    """Whether CAST(source AS target) means anything at all (a value may still become NULL)."""
    if source == NULL or source.name == target.name or target.name == "VARCHAR":
        return source.name not in NESTED or target.name == "VARCHAR" or _castable_nested(source, target)
    if source.name == "VARCHAR":
        return target.name not in NESTED
    if source == BOOLEAN or target == BOOLEAN:
        return is_number(source) or is_number(target)
    if is_number(source) and is_number(target):
        return True
    if source.name in BINARY and target.name in BINARY:
        return True
    pairs = {("DATE", t) for t in TIMESTAMPS} | {(t, "DATE") for t in TIMESTAMPS}
    pairs |= {(t, "TIME") for t in TIMESTAMPS} | {TIMESTAMPS, TIMESTAMPS[::-1]}
    return (source.name, target.name) in pairs


def _castable_nested(source: DataType, target: DataType) -> bool:
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return castable(source.element, target.element)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return castable(source.key, target.key) and castable(source.value, target.value)
    if isinstance(source, StructType) and isinstance(target, StructType):
        pairs = list(zip(source.fields, target.fields, strict=False))
        return len(source.fields) == len(target.fields) and all(castable(a.type, b.type) for a, b in pairs)
    return False
