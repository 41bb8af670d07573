"""Arrays, maps and structs. Positions count from 1; in the view store the values are JSON text."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.errors import MillpondError
from millpond.plan.coercion import common_type, is_text_literal
from millpond.plan.expressions import Call, Expr, Literal
from millpond.plan.functions.forms import quoted
from millpond.plan.functions.table import Form, Function, function
from millpond.types import BOOLEAN, INTEGER, NULL, VARCHAR, ArrayType, DataType, Field, MapType, StructType


def element_type(type: DataType) -> DataType:
    assert isinstance(type, ArrayType)
    return type.element


def _array_of_first(args: Sequence[Expr]) -> DataType:
    return ArrayType(element=VARCHAR if args[0].type == NULL else args[0].type)


def _element(args: Sequence[Expr]) -> DataType:
    return element_type(args[0].type)


def _map_value(args: Sequence[Expr]) -> DataType:
    type = args[0].type
    assert isinstance(type, MapType)
    return type.value


def _keys(args: Sequence[Expr]) -> DataType:
    type = args[0].type
    assert isinstance(type, MapType)
    return ArrayType(element=type.key)


def _values(args: Sequence[Expr]) -> DataType:
    return ArrayType(element=_map_value(args))


def _same(args: Sequence[Expr]) -> DataType:
    return args[0].type


def _typed(name: str, which: int = 0) -> Form:
    """A view-store function that is told the SQL type of the values in the JSON of argument `which`."""

    def form(call: Call, args: Sequence[str]) -> str:
        type = call.args[which].type
        inner = type.element if isinstance(type, ArrayType) else type.value if isinstance(type, MapType) else type
        return f"{name}({', '.join((*args, quoted(inner)))})"

    return form


def _build_array(call: Call, args: Sequence[str]) -> str:
    return f"mp_array({', '.join((quoted(element_type(call.type)), *args))})"


def _map_type(args: Sequence[Expr]) -> DataType:
    key, value = common_type(args[0::2]), common_type(args[1::2])
    return MapType(key=key or VARCHAR, value=value or VARCHAR)


def _build_map(call: Call, args: Sequence[str]) -> str:
    type = call.type
    assert isinstance(type, MapType)
    return f"mp_map({', '.join((quoted(type.key), quoted(type.value), *args))})"


def _build_row(call: Call, args: Sequence[str]) -> str:
    assert isinstance(call.type, StructType)
    pairs = [f"{quoted(f.name)}, {quoted(f.type)}, {a}" for f, a in zip(call.type.fields, args, strict=True)]
    return f"mp_struct({', '.join(pairs)})"


def _row_type(args: Sequence[Expr]) -> DataType:
    """ROW(a, b): members are called col1, col2, ... as in Spark."""
    types = [VARCHAR if a.type == NULL else a.type for a in args]
    return StructType(fields=tuple(Field(f"col{n}", t) for n, t in enumerate(types, 1)))


def _struct_type(args: Sequence[Expr]) -> DataType:
    """NAMED_STRUCT('a', x, 'b', y): every other argument is a member's name."""
    names, values = args[0::2], args[1::2]
    if len(names) != len(values) or not all(is_text_literal(n) for n in names):
        given = ", ".join(str(a.type) for a in args)
        takes = "NAMED_STRUCT('name', value, ...)"
        raise MillpondError("WRONG_ARGUMENTS", name="NAMED_STRUCT", given=given, takes=takes)
    types = [VARCHAR if v.type == NULL else v.type for v in values]
    return StructType(fields=tuple(Field(_name(n), t) for n, t in zip(names, types, strict=True)))


def _name(literal: Expr) -> str:
    assert isinstance(literal, Literal)
    return str(literal.value)


def _build_named(call: Call, args: Sequence[str]) -> str:
    return _build_row(call, args[1::2])


def _concat_spark(call: Call, args: Sequence[str]) -> str:
    return f"concat({', '.join(args)})"


def _slice_spark(call: Call, args: Sequence[str]) -> str:
    """ARRAY_SLICE(a, from, to) with both ends included; Spark's slice refuses a start of 0 and a negative length."""
    length = f"greatest({args[2]} - {args[1]} + 1, 0)"
    return f"IF({args[1]} < 1, NULL, slice({args[0]}, {args[1]}, {length}))"


FUNCTIONS: tuple[Function, ...] = (
    function("array", "T...", _array_of_first, "array({args})", _build_array),
    function("map", "ANY...", _map_type, "map({args})", _build_map, operator=True),
    function("named_struct", "ANY...", _struct_type, "named_struct({args})", _build_named),
    function("row", "ANY...", _row_type, "struct({args})", _build_row),
    function(
        "cardinality",
        "ARRAY",
        INTEGER,
        "array_size({0})",
        "mp_json_size({0})",
        aliases=("size", "array_length", "array_size"),
    ),
    function(
        "map_size",
        "MAP",
        INTEGER,
        "IF({0} IS NULL, NULL, size({0}))",
        "mp_json_size({0})",
        aliases=("!", "cardinality", "size"),
    ),
    function(
        "element_at",
        "ARRAY, INTEGER",
        _element,
        "IF({1} = 0, NULL, try_element_at({0}, {1}))",
        _typed("mp_element"),
    ),
    function(
        "map_element",
        "MAP<K>, T",
        _map_value,
        "try_element_at({0}, {1})",
        _typed("mp_member"),
        aliases=("!", "element_at"),
    ),
    function("array_contains", "ARRAY<T>, T", BOOLEAN, "array_contains({0}, {1})", _typed("mp_array_contains")),
    function(
        "array_position",
        "ARRAY<T>, T",
        INTEGER,
        "CAST(array_position({0}, {1}) AS INT)",
        _typed("mp_array_position"),
    ),
    function("array_distinct", "ARRAY", _same, "array_distinct({0})", "mp_array_distinct({0})"),
    function("array_concat", "T...", _same, _concat_spark, "mp_array_concat({args})"),
    function("array_slice", "ARRAY, INTEGER, INTEGER", _same, _slice_spark, "mp_array_slice({args})"),
    function(
        "array_join",
        "ARRAY<T>, VARCHAR, [VARCHAR]",
        VARCHAR,
        "array_join({args})",
        "mp_array_join({args})",
    ),
    function("array_sort", "ARRAY", _same, "sort_array({0})", _typed("mp_array_sort"), aliases=("sort_array",)),
    function("array_reverse", "ARRAY", _same, "reverse({0})", "mp_array_reverse({0})"),
    function("array_max", "ARRAY", _element, "array_max({0})", _typed("mp_array_max")),
    function("array_min", "ARRAY", _element, "array_min({0})", _typed("mp_array_min")),
    function("array_append", "ARRAY<T>, T", _same, "array_append({0}, {1})", _typed("mp_array_append")),
    function("map_keys", "MAP", _keys, "map_keys({0})", "mp_map_keys({0})"),
    function("map_values", "MAP", _values, "map_values({0})", "mp_map_values({0})"),
    function("map_contains_key", "MAP<K>, T", BOOLEAN, "map_contains_key({0}, {1})", "mp_map_contains({0}, {1})"),
)
