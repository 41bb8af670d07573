"""How values are written in results: every type as text, NULL as null, by one encoder a column.

Numbers in decimal, BOOLEAN true/false, `YYYY-MM-DD`, `HH:MM:SS[.fff]`, TIMESTAMP `YYYY-MM-DD HH:MM:SS[.fff]`
without zone, TIMESTAMP_LTZ the same in UTC with `Z`, binary in base64, ARRAY, MAP and STRUCT as JSON text.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, TypeAlias

import orjson

from millpond.types import ArrayType, Column, DataType, MapType, Sized, StructType

TextEncoder: TypeAlias = Callable[[Any], str]
"""A value that is not None -> its text."""

TextRow: TypeAlias = list[str | None]


class RowEncoder:
    """Writes rows of `columns` as text."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._encoders = tuple(text_encoder(c.type) for c in columns)

    def row(self, values: Sequence[Any]) -> TextRow:
        """One row; a short row (a delete's, a marker's) is filled up with nulls."""
        if len(values) != len(self._encoders):
            values = [*values, *[None] * (len(self._encoders) - len(values))]
        return [None if v is None else e(v) for e, v in zip(self._encoders, values, strict=True)]

    def rows(self, rows: Iterable[Sequence[Any]]) -> list[TextRow]:
        return [self.row(values) for values in rows]


def text_encoder(type_: DataType) -> TextEncoder:
    """The encoder of one type."""
    match type_:
        case ArrayType() | MapType() | StructType():
            return _json_text(type_)
        case Sized(name="TIME", size=digits):
            return lambda v: _time_text(v, digits or 0)
        case Sized(name="TIMESTAMP", size=digits):
            return lambda v: timestamp_text(v, digits or 0)
        case Sized(name="TIMESTAMP_LTZ", size=digits):
            return lambda v: instant_text(v, digits or 0)
    return _BY_NAME.get(type_.name, str)


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _binary(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _decimal(value: Decimal | int) -> str:
    return format(value, "f")


def _double(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _float(value: float) -> str:
    """The shortest decimal that is the same 32-bit number: 0.1, not 0.10000000149011612."""
    if not math.isfinite(value):
        return _double(value)
    single = struct.unpack("f", struct.pack("f", value))[0]
    for digits in range(6, 9):
        short = float(f"{single:.{digits}g}")
        if struct.unpack("f", struct.pack("f", short))[0] == single:
            return repr(short)
    return repr(float(f"{single:.9g}"))


def _date(value: date) -> str:
    return value.isoformat()


def _time_text(value: time, digits: int) -> str:
    return value.strftime("%H:%M:%S") + _fraction(value.microsecond, digits)


def timestamp_text(value: datetime, digits: int) -> str:
    """`YYYY-MM-DD HH:MM:SS[.fff]`: at least the type's digits, more only if the value has them."""
    return value.replace(microsecond=0, tzinfo=None).isoformat(" ") + _fraction(value.microsecond, digits)


def instant_text(value: datetime, digits: int) -> str:
    """The same in UTC with `Z`."""
    aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return timestamp_text(aware.astimezone(UTC), digits) + "Z"


def _fraction(microsecond: int, digits: int) -> str:
    needed = 0 if microsecond == 0 else 3 if microsecond % 1000 == 0 else 6
    shown = max(min(digits, 6), needed)
    return f".{microsecond:06d}"[: shown + 1] if shown else ""


_BY_NAME: dict[str, TextEncoder] = {
    "BOOLEAN": _boolean,
    "FLOAT": _float,
    "DOUBLE": _double,
    "DECIMAL": _decimal,
    "DATE": _date,
    "VARBINARY": _binary,
    "BYTES": _binary,
}


def _json_text(type_: DataType) -> TextEncoder:
    shape = json_encoder(type_)
    return lambda v: orjson.dumps(shape(v), option=orjson.OPT_NON_STR_KEYS).decode("utf-8")


def json_encoder(type_: DataType) -> Callable[[Any], Any]:
    """A value, None too, as what orjson writes it with: numbers as exact digits, the rest as its text."""
    encode = _json_member(type_)
    return lambda v: None if v is None else encode(v)


def _json_member(type_: DataType) -> Callable[[Any], Any]:
    match type_:
        case ArrayType(element=element):
            item = json_encoder(element)
            return lambda v: [item(x) for x in v]
        case MapType(key=key, value=value):
            name, item = text_encoder(key), json_encoder(value)
            return lambda v: {name(k): item(x) for k, x in v.items()}
        case StructType():
            return _json_struct(type_)
    if type_.name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "BOOLEAN", "VARCHAR"):
        return lambda v: v
    if type_.name in ("FLOAT", "DOUBLE", "DECIMAL"):
        return _json_number(text_encoder(type_))
    return text_encoder(type_)


def _json_number(text: TextEncoder) -> Callable[[Any], Any]:
    return lambda v: orjson.Fragment(text(v)) if math.isfinite(v) else text(v)


def _json_struct(type_: StructType) -> Callable[[Any], Any]:
    members = [(f.name, json_encoder(f.type)) for f in type_.fields]

    def encode(value: Mapping[str, Any]) -> dict[str, Any]:
        return {name: member(value.get(name)) for name, member in members}

    return encode
