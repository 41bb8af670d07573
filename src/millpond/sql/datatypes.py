"""Data types: read from text."""

from __future__ import annotations

from difflib import get_close_matches

from sqlglot.tokenizer_core import TokenType

from millpond import types
from millpond.sql.cursor import Cursor
from millpond.types import ArrayType, DataType, DecimalType, Field, MapType, Sized, StructType

_SCALARS = {
    t.name: t
    for t in (
        types.BOOLEAN,
        types.TINYINT,
        types.SMALLINT,
        types.INTEGER,
        types.BIGINT,
        types.FLOAT,
        types.DOUBLE,
        types.DATE,
        types.BYTES,
    )
}
_SIZED = {t.name: t for t in (types.VARCHAR, types.VARBINARY, types.TIME, types.TIMESTAMP, types.TIMESTAMP_LTZ)}
_ALIASES = {"STRING": "VARCHAR", "INT": "INTEGER", "REAL": "FLOAT", "NUMERIC": "DECIMAL", "DEC": "DECIMAL"}
_NESTED = ("ARRAY", "MAP", "STRUCT")
_NAMES = (*_SCALARS, *_SIZED, *_ALIASES, "DECIMAL", *_NESTED)
_LARGEST_SIZE = {"TIME": 9, "TIMESTAMP": 9, "TIMESTAMP_LTZ": 9}


def at_type_name(cursor: Cursor) -> bool:
    """Whether a type's name is next."""
    return cursor.at_any(_NAMES)


def data_type(cursor: Cursor) -> DataType:
    """The type that must be next. TIMESTAMP alone is TIMESTAMP(3), DECIMAL alone DECIMAL(10, 0)."""
    word = cursor.key()
    name = _ALIASES.get(word, word)
    if not at_type_name(cursor):
        _unknown(cursor)
    cursor.advance()
    if name == "DECIMAL":
        return _decimal(cursor)
    if name in _SIZED:
        return _sized(cursor, _SIZED[name])
    return _nested(cursor, name) if name in _NESTED else _SCALARS[name]


def _unknown(cursor: Cursor) -> None:
    if cursor.ended or not cursor.at_type(TokenType.VAR):
        cursor.fail("a data type")
    near = get_close_matches(cursor.key(), _NAMES, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    cursor.problem(f"There is no data type '{cursor.token_text()}'.{hint}")


def _sized(cursor: Cursor, plain: Sized) -> Sized:
    if not cursor.accept("("):
        return plain
    size = cursor.count("a number")
    largest = _LARGEST_SIZE.get(plain.name, 2**31 - 1)
    if size > largest or (size == 0 and plain.name not in _LARGEST_SIZE):
        lowest = 0 if plain.name in _LARGEST_SIZE else 1
        cursor.problem(f"The number of {plain.name} is between {lowest} and {largest}.", back=1)
    cursor.expect(")")
    return Sized(plain.name, size)


def _decimal(cursor: Cursor) -> DecimalType:
    if not cursor.accept("("):
        return DecimalType()
    precision = cursor.count("the number of digits")
    if not 1 <= precision <= 38:
        cursor.problem("A DECIMAL has between 1 and 38 digits.", back=1)
    scale = cursor.count("the number of digits after the point") if cursor.accept(",") else 0
    if scale > precision:
        cursor.problem("A DECIMAL cannot have more digits after the point than it has digits.", back=1)
    cursor.expect(")")
    return DecimalType(precision=precision, scale=scale)


def _nested(cursor: Cursor, name: str) -> DataType:
    cursor.deeper()
    cursor.expect("<")
    found: DataType
    if name == "ARRAY":
        found = ArrayType(element=data_type(cursor))
    elif name == "MAP":
        key = data_type(cursor)
        cursor.expect(",")
        found = MapType(key=key, value=data_type(cursor))
    else:
        found = StructType(fields=_fields(cursor))
    cursor.expect(">")
    cursor.depth -= 1
    return found


def _fields(cursor: Cursor) -> tuple[Field, ...]:
    fields = [_field(cursor)]
    while cursor.accept(","):
        fields.append(_field(cursor))
        if any(f.name == fields[-1].name for f in fields[:-1]):
            cursor.problem(f"The field '{fields[-1].name}' is given twice.", back=1)
    return tuple(fields)


def _field(cursor: Cursor) -> Field:
    """A struct's member; any word may name it, and its name stays as written."""
    if not cursor.at_name():
        cursor.fail("a field's name")
    return Field(cursor.advance().text, data_type(cursor))
