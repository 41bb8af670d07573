"""Python values of SQL types -> JSON, byte for byte as the JVM side writes it: keys are compared so."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, TypeAlias

import orjson

from millpond.errors import MillpondError
from millpond.stores.formats import temporal
from millpond.stores.formats.numbers import fitted, java_float, narrowed, single
from millpond.types import ArrayType, Column, DataType, DecimalType, MapType, StructType

Write: TypeAlias = Callable[[Any], Any]
"""A Python value (not None) -> what orjson writes for it. ValueError or TypeError for what does not fit."""

SEPARATORS = {"sql": " ", "iso8601": "T"}


def encode_json(row: Sequence[Any], columns: tuple[Column, ...], timestamp_format: str = "sql") -> bytes:
    """A JSON object of all columns in order. Raises VALUE_NOT_ENCODABLE."""
    written = {}
    for column, value in zip(columns, row, strict=True):
        try:
            written[column.name] = None if value is None else writer(column.type, timestamp_format)(value)
        except (ValueError, TypeError, AttributeError, ArithmeticError):
            raise MillpondError(
                "VALUE_NOT_ENCODABLE", value=repr(value), type=str(column.type), column=column.name
            ) from None
    return orjson.dumps(written)


def value_text(value: Any, type_: DataType, timestamp_format: str = "sql") -> str:
    """One value (not None) as JSON text."""
    return orjson.dumps(writer(type_, timestamp_format)(value)).decode()


@lru_cache(1024)
def writer(type_: DataType, timestamp_format: str = "sql") -> Write:
    """The writer of a type."""
    match type_:
        case ArrayType():
            return partial(_array, writer(type_.element, timestamp_format))
        case MapType():
            return partial(_map, writer(type_.key, timestamp_format), writer(type_.value, timestamp_format))
        case StructType():
            return partial(_struct, [(f.name, writer(f.type, timestamp_format)) for f in type_.fields])
        case DecimalType():
            return partial(_decimal, type_)
    return _scalar(type_, SEPARATORS[timestamp_format])


def _scalar(type_: DataType, separator: str) -> Write:
    match type_.name:
        case "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT":
            return partial(_integer, type_.name)
        case "FLOAT" | "DOUBLE":
            return partial(_float, type_.name == "FLOAT")
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return partial(_timestamp, separator, type_.name == "TIMESTAMP_LTZ")
    return SCALARS[type_.name]


def _checked(wanted: type, value: Any) -> Any:
    if type(value) is not wanted:
        raise TypeError(f"{value!r} is not a {wanted.__name__}")
    return value


def _integer(type_name: str, value: Any) -> int:
    return narrowed(type_name, _checked(int, value))


def _float(bits32: bool, value: Any) -> Any:
    number = float(value)
    number = single(number) if bits32 and math.isfinite(number) else number
    text = java_float(number, bits32=bits32)
    return orjson.Fragment(text) if math.isfinite(number) else text


def _decimal(type_: DecimalType, value: Any) -> orjson.Fragment:
    if isinstance(value, float):
        value = repr(value)
    return orjson.Fragment(f"{fitted(type_, Decimal(value)):f}")


def _timestamp(separator: str, zoned: bool, value: datetime) -> str:
    return temporal.timestamp_text(temporal.from_datetime(value), separator, zoned=zoned)


def _date(value: date) -> str:
    return temporal.date_text(temporal.from_date(value))


def _time(value: time) -> str:
    return temporal.time_text(temporal.from_time(value))


def _bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _array(element: Write, value: Sequence[Any]) -> list[Any]:
    return [None if v is None else element(v) for v in value]


def _map(key: Write, write: Write, value: dict[Any, Any]) -> dict[str, Any]:
    return {_name(key(k)): None if v is None else write(v) for k, v in value.items()}


def _name(written: Any) -> str:
    return written if isinstance(written, str) else orjson.dumps(written).decode()


def _struct(members: list[tuple[str, Write]], value: dict[str, Any]) -> dict[str, Any]:
    return {name: None if (v := value.get(name)) is None else write(v) for name, write in members}


SCALARS: dict[str, Write] = {
    "VARCHAR": partial(_checked, str),
    "BOOLEAN": partial(_checked, bool),
    "BYTES": _bytes,
    "VARBINARY": _bytes,
    "DATE": _date,
    "TIME": _time,
}
