"""JSON -> Python values of SQL types. The same rules as the decoder of the JVM side.

A value may also come as the text that stands for it; a name matches exactly first, then without case.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, TypeAlias

import orjson

from millpond.stores.formats import temporal
from millpond.stores.formats.numbers import NumberText, narrowed, parse_decimal, parse_float, parse_integer
from millpond.stores.formats.undecodable import UndecodableError, not_a
from millpond.types import ArrayType, Column, DataType, DecimalType, MapType, StructType

Read: TypeAlias = Callable[[Any], Any]
"""A JSON value that is not null -> the Python value of one type. Raises UndecodableError."""

EXACT_BELOW = 1 << 53


class InexactError(Exception):
    """A number whose digits are needed was read as a float: parse again, keeping digits."""


def decode_json(data: bytes, columns: tuple[Column, ...]) -> tuple[Any, ...]:
    """The row that a JSON object stands for, in column order. Raises UndecodableError."""
    return json_decoder(columns)(data)


@lru_cache(512)
def json_decoder(columns: tuple[Column, ...]) -> Callable[[bytes], tuple[Any, ...]]:
    """`decode_json` for these columns, ready made."""
    fields = object_reader(tuple((c.name, c.type) for c in columns))
    load = parse_exactly if any(has_decimal(c.type) for c in columns) else parse_quickly

    def decode(data: bytes) -> tuple[Any, ...]:
        try:
            return fields(load(data))
        except InexactError:
            return fields(parse_exactly(data))

    return decode


def parse_quickly(data: bytes | str) -> Any:
    """JSON, numbers with a point or an exponent as floats. InexactError for one that no float can hold."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if "infinity" in str(error):
            raise InexactError from None
        raise UndecodableError(f"not JSON: {error}") from None


def parse_exactly(data: bytes | str) -> Any:
    """JSON, numbers with a point or an exponent as `NumberText`."""
    with contextlib.suppress(InexactError):
        parse_quickly(data)  # it is stricter than the standard library: UTF-8, no lone surrogates
    try:
        return json.loads(data, parse_float=NumberText, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise UndecodableError(f"not JSON: {error}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def has_decimal(type_: DataType) -> bool:
    """Whether digits matter anywhere in the type."""
    match type_:
        case DecimalType():
            return True
        case ArrayType():
            return has_decimal(type_.element)
        case MapType():
            return has_decimal(type_.key) or has_decimal(type_.value)
        case StructType():
            return any(has_decimal(f.type) for f in type_.fields)
    return False


@lru_cache(1024)
def reader(type_: DataType) -> Read:
    """The reader of a type."""
    match type_:
        case ArrayType():
            return partial(_array, type_, reader(type_.element))
        case MapType():
            return partial(_map, type_, reader(type_.key), reader(type_.value))
        case StructType():
            fields = object_reader(tuple((f.name, f.type) for f in type_.fields))
            names = [f.name for f in type_.fields]
            return lambda value: dict(zip(names, fields(value), strict=True))
        case DecimalType():
            return partial(_decimal, type_)
    return SCALARS[type_.name]


def object_reader(members: tuple[tuple[str, DataType], ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Object -> the values of these members in order, None where there is none."""
    readers = [(name, reader(type_)) for name, type_ in members]

    def read(value: Any) -> tuple[Any, ...]:
        if type(value) is not dict:
            raise UndecodableError("not a JSON object")
        return tuple([_member(value, name, convert) for name, convert in readers])

    return read


def _member(value: dict[str, Any], name: str, convert: Read) -> Any:
    found = value[name] if name in value else without_case(value, name)
    if found is None:
        return None
    try:
        return convert(found)
    except UndecodableError as error:
        raise UndecodableError(f"column '{name}': {error}") from None


def without_case(value: Mapping[str, Any], name: str) -> Any:
    """The one member whose name differs from `name` in case only, or None."""
    wanted = name.lower()
    found = [v for key, v in value.items() if key.lower() == wanted]
    return found[0] if len(found) == 1 else None


def _text(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is float:
        raise InexactError
    if kind is NumberText:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    return str(value) if kind is int else json_text(value)


def json_text(value: Any) -> str:
    """Parsed JSON as text again, digits kept."""
    kept = orjson.dumps(value, default=_digits_kept, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    return kept.decode()


def _digits_kept(value: Any) -> Any:
    if isinstance(value, NumberText):
        return orjson.Fragment(value)
    raise TypeError


def _integer(type_name: str, value: Any) -> int:
    kind = type(value)
    if kind is int:
        return narrowed(type_name, value)
    if kind is float:
        if abs(value) < EXACT_BELOW and value.is_integer():
            return narrowed(type_name, int(value))
        raise InexactError
    return parse_integer(type_name, _string(type_name, value))


def _float(type_name: str, value: Any) -> float:
    if type(value) in (int, float):
        return parse_float(type_name, repr(value)) if type_name == "FLOAT" or type(value) is int else value
    return parse_float(type_name, _string(type_name, value))


def _decimal(type_: DecimalType, value: Any) -> Decimal:
    return parse_decimal(type_, str(value) if type(value) is int else _string(type_, value))


def _boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    word = _string("BOOLEAN", value).lower()
    if word not in ("true", "false") or type(value) is NumberText:
        raise not_a("BOOLEAN", value)
    return word == "true"


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(_string("BYTES", value), validate=True)
    except (binascii.Error, ValueError):
        raise UndecodableError(f"'{value}' is not base64, as BYTES must be") from None


def timestamp_micros(zoned: bool, value: Any) -> int:
    """Epoch microseconds of a JSON text, or of a number of milliseconds."""
    if type(value) is str:
        return temporal.parse_timestamp(value, zoned=zoned)
    if type(value) is int:
        return value * 1000
    if type(value) is float:
        raise InexactError
    if type(value) is NumberText:
        millis = parse_decimal(DecimalType(precision=18, scale=3), value)
        return int(millis * 1000)
    raise not_a("TIMESTAMP_LTZ" if zoned else "TIMESTAMP", value)


def plain_string(type_name: object, value: Any) -> str:
    """A JSON string that is not a number."""
    if type(value) is str:
        return value
    raise not_a(type_name, value)


def _string(type_name: object, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise not_a(type_name, value)


def _array(type_: ArrayType, element: Read, value: Any) -> list[Any]:
    if type(value) is not list:
        raise not_a(type_, value)
    return [None if v is None else element(v) for v in value]


def _map(type_: MapType, key: Read, read: Read, value: Any) -> dict[Any, Any]:
    if type(value) is not dict:
        raise not_a(type_, value)
    return {key(k): None if v is None else read(v) for k, v in value.items()}


SCALARS: dict[str, Read] = {
    "VARCHAR": _text,
    **{name: partial(_integer, name) for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")},
    "FLOAT": partial(_float, "FLOAT"),
    "DOUBLE": partial(_float, "DOUBLE"),
    "BOOLEAN": _boolean,
    "BYTES": _bytes,
    "VARBINARY": _bytes,
    "DATE": lambda v: temporal.to_date(temporal.parse_date(plain_string("DATE", v))),
    "TIME": lambda v: temporal.to_time(temporal.parse_time(plain_string("TIME", v))),
    "TIMESTAMP": lambda v: temporal.to_datetime(timestamp_micros(False, v), zoned=False),
    "TIMESTAMP_LTZ": lambda v: temporal.to_datetime(timestamp_micros(True, v), zoned=True),
}
