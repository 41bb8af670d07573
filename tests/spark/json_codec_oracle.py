"""What a JSON record decodes to, said once more in plain Python: the oracle of the Java decoder and encoder.

Nothing here is shared with the product but the types. Slow and simple on purpose.
"""

from __future__ import annotations

import base64
import binascii
import json
import json.scanner
import re
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from millpond.types import ArrayType, Column, DataType, DecimalType, Field, MapType, StructType


class UndecodableError(Exception):
    """The record is not one of the declared columns."""


@dataclass(frozen=True)
class Number:
    """A JSON number by its text."""

    text: str


@dataclass(frozen=True)
class Object:
    """A JSON object: its pairs in order, and the text that it stands in."""

    pairs: list[tuple[str, Any]]
    text: str


@dataclass(frozen=True)
class Array:
    values: list[Any]
    text: str


NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?", re.ASCII)
OFFSET = re.compile(r"Z|([+-])(\d\d)(?::?(\d\d))?", re.ASCII)
BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
EXACT = Context(prec=2000, Emax=999_999_999, Emin=-999_999_999)


def decode(columns: tuple[Column, ...], data: bytes) -> list[Any]:
    """Values by column; raises UndecodableError."""
    root = _parsed(data)
    if not isinstance(root, Object):
        raise UndecodableError("not an object")
    return _struct([Field(c.name, c.type) for c in columns], root)


def _parsed(data: bytes) -> Any:
    try:
        text = data.decode("utf-8")
        value, end = _scanner()(text, _skip_blanks(text, 0))
    except (UnicodeDecodeError, ValueError, StopIteration, RecursionError) as e:
        raise UndecodableError(str(e)) from e
    if _skip_blanks(text, end) != len(text):
        raise UndecodableError("more follows")
    return value


def _skip_blanks(text: str, start: int) -> int:
    match = re.compile(r"[ \t\r\n]*").match(text, start)
    assert match
    return match.end()


def _scanner() -> Any:
    """The standard library's scanner in its Python form, that keeps numbers' and objects' text."""
    decoder: Any = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=_refuse)
    parse_object, parse_array = decoder.parse_object, json.decoder.JSONArray  # type: ignore[attr-defined]

    def keep_object(at: tuple[str, int], strict: bool, scan: Any, hook: Any, pairs: Any, memo: Any) -> Any:
        value, end = parse_object(at, strict, scan, None, list, memo)
        return Object(value, at[0][at[1] - 1 : end]), end

    def keep_array(at: tuple[str, int], scan: Any) -> Any:
        value, end = parse_array(at, scan)
        return Array(value, at[0][at[1] - 1 : end]), end

    decoder.parse_object, decoder.parse_array = keep_object, keep_array
    return json.scanner.py_make_scanner(decoder)  # type: ignore[attr-defined]


def _refuse(name: str) -> None:
    raise ValueError(name)


def _struct(fields: list[Field], value: Any) -> list[Any]:
    if not isinstance(value, Object):
        raise UndecodableError("not an object")
    row: list[Any] = [None] * len(fields)
    exact = set()
    for name, part in value.pairs:
        at = _find(fields, name)
        if at is None or (fields[at].name != name and at in exact):
            continue
        if fields[at].name == name:
            exact.add(at)
        row[at] = _value(fields[at].type, part)
    return row


def _find(fields: list[Field], name: str) -> int | None:
    same = [i for i, f in enumerate(fields) if f.name == name]
    folded = [i for i, f in enumerate(fields) if f.name.lower() == name.lower()]
    found = same or folded
    return found[0] if len(found) == 1 else None


def _value(data_type: DataType, value: Any) -> Any:
    if value is None:
        return None
    match data_type:
        case StructType():
            return _struct(list(data_type.fields), value)
        case ArrayType():
            return [_value(data_type.element, v) for v in _expect(value, Array).values]
        case MapType():
            pairs = _expect(value, Object).pairs
            return {_value(data_type.key, k): _value(data_type.value, v) for k, v in pairs}
        case DecimalType():
            return _decimal(data_type, value)
        case _:
            return SCALARS[data_type.name](data_type.name, value)


def _expect(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise UndecodableError(f"not an {kind.__name__}")
    return value


def _number_text(value: Any) -> str:
    text = value.text if isinstance(value, Number) else value
    if not isinstance(text, str) or not NUMBER.fullmatch(text):
        raise UndecodableError("not a number")
    return text


def _integer(name: str, value: Any) -> int:
    number = EXACT.create_decimal(_number_text(value))
    if (number and number.adjusted() > 20) or number != number.to_integral_value(context=EXACT):
        raise UndecodableError("not an integer")
    if not -(1 << (BITS[name] - 1)) <= int(number) < 1 << (BITS[name] - 1):
        raise UndecodableError("out of range")
    return int(number)


def _decimal(data_type: DecimalType, value: Any) -> Decimal:
    number = EXACT.create_decimal(_number_text(value))
    unit = Decimal(1).scaleb(-data_type.scale)
    if number and number.adjusted() > 100:
        raise UndecodableError("out of range")
    rounded = number.quantize(unit, ROUND_HALF_UP, EXACT)
    if abs(rounded) >= Decimal(10) ** (data_type.precision - data_type.scale):
        raise UndecodableError("out of range")
    return rounded


def _floating(name: str, value: Any) -> float:
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    number = float(_number_text(value))
    try:
        number = struct.unpack("f", struct.pack("f", number))[0] if name == "FLOAT" else number
    except OverflowError as e:
        raise UndecodableError("out of range") from e
    if number in (float("inf"), float("-inf")):
        raise UndecodableError("out of range")
    return number


def _boolean(name: str, value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return bool(_expect(value, bool))


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else value.text
    return str(text.encode("utf-8", "replace").decode())


def _bytes(name: str, value: Any) -> bytes:
    text = _expect(value, str)
    try:
        # Padding may be left out, as Java's decoder has it.
        padded = text if "=" in text else text + "=" * (-len(text) % 4)
        return base64.b64decode(padded.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as e:
        raise UndecodableError("not base64") from e


def _date(name: str, value: Any) -> date:
    match = DATE.fullmatch(_expect(value, str))
    return _date_of(match)


def _date_of(match: re.Match[str] | None) -> date:
    try:
        if match is None:
            raise UndecodableError("not a date")
        return date(*map(int, match.groups()))
    except ValueError as e:
        raise UndecodableError("not a date") from e


def _time(name: str, value: Any) -> time:
    return _time_of(TIME.fullmatch(_expect(value, str)))


def _time_of(match: re.Match[str] | None) -> time:
    try:
        if match is None:
            raise UndecodableError("not a time")
        hour, minute, second, fraction = match.groups()
        return time(int(hour), int(minute), int(second), int((fraction or "").ljust(6, "0")[:6]))
    except ValueError as e:
        raise UndecodableError("not a time") from e


def _timestamp(name: str, value: Any) -> datetime:
    """Naive, and UTC for TIMESTAMP_LTZ."""
    if isinstance(value, Number):
        millis = _decimal(DecimalType(precision=18, scale=3), value)
        return datetime(1970, 1, 1) + timedelta(microseconds=int(millis * 1000))
    text = _expect(value, str)
    day, clock = DATE.match(text), TIME.match(text, 11)
    if day is None or clock is None or text[10] not in " T":
        raise UndecodableError("not a timestamp")
    local = datetime.combine(_date_of(day), _time_of(clock))
    rest = text[clock.end() :]
    if not rest:
        return local
    if name == "TIMESTAMP":
        raise UndecodableError("an offset")
    return local - _offset(rest)


def _offset(text: str) -> timedelta:
    match = OFFSET.fullmatch(text)
    if match is None or int(match.group(2) or 0) > 18 or int(match.group(3) or 0) > 59:
        raise UndecodableError("not an offset")
    size = timedelta(hours=int(match.group(2) or 0), minutes=int(match.group(3) or 0))
    return -size if match.group(1) == "-" else size


SCALARS: dict[str, Any] = {
    **dict.fromkeys(BITS, _integer),
    **dict.fromkeys(("FLOAT", "DOUBLE"), _floating),
    **dict.fromkeys(("BYTES", "VARBINARY"), _bytes),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_LTZ"), _timestamp),
    "BOOLEAN": _boolean,
    "VARCHAR": _text,
    "DATE": _date,
    "TIME": _time,
}


def as_utc(local: datetime) -> datetime:
    """What Spark's collect gives for a TIMESTAMP_LTZ, as the oracle has it."""
    return local.astimezone(UTC).replace(tzinfo=None)
