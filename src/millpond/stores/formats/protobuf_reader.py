"""Protobuf -> Python values of SQL types. The same rules as the decoder of the JVM side.

The columns decide what becomes of the message's fields: a field is found by its name, then without case; a column
without a field is NULL; fields without a column are left out. A field that is not there is NULL if the message tells
that from its default (`optional`, messages, proto2), else its default: 0, '', an empty ARRAY or MAP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from millpond.protobuf_types import (
    TIMESTAMP_MESSAGE,
    WHOLE32,
    WHOLE64,
    Message,
    Variant,
    described,
    entry_of,
    field_of,
    is_map,
    is_wrapper,
    kind_of,
    symbols_of,
    unread,
    value_of,
)
from millpond.stores.formats import temporal
from millpond.stores.formats.numbers import fitted, narrowed, parse_decimal, single
from millpond.stores.formats.protobuf_needed import needed_of
from millpond.stores.formats.undecodable import UndecodableError, not_a
from millpond.types import ArrayType, Column, DataType, DecimalType, MapType, StructType

Read: TypeAlias = Callable[[Any], Any]
"""What Protobuf's own class gives (text as bytes) -> the Python value of one type. Raises UndecodableError."""

WHOLE = (*WHOLE32, *WHOLE64)
INT64 = 1 << 63
NANOS = 1_000_000_000


def protobuf_decoder(message: Message, columns: Sequence[Column]) -> Callable[[bytes], tuple[Any, ...]]:
    """Messages -> rows of `columns`; it raises UndecodableError. Raises UnreadableSchemaError."""
    members = [(c.name, c.type) for c in columns]
    made = GetMessageClass(described(needed_of(message, members), Variant.READ))
    row = _members(described(message), members)

    def decode(data: bytes) -> tuple[Any, ...]:
        found = made()
        try:
            found.MergeFromString(data)
        except (DecodeError, UnicodeDecodeError, RuntimeWarning):
            raise UndecodableError(f"not a Protobuf message '{message.name}'") from None
        return row(found)

    return decode


def misfit(field: FieldDescriptor, type_: DataType) -> str | None:
    """Why a column of that type cannot be read of a field; None if it can."""
    try:
        _reader(field, type_)
    except _MisfitError as error:
        return str(error)
    return None


class _MisfitError(ValueError):
    """A column's type cannot come of its field's."""


def _members(message: Descriptor, members: Sequence[tuple[str, DataType]]) -> Callable[[Any], tuple[Any, ...]]:
    readers = [_member(name, field_of(message, name), type_) for name, type_ in members]
    return lambda found: tuple([read(found) for read in readers])


def _member(name: str, field: FieldDescriptor | None, type_: DataType) -> Read:
    if field is None:
        return lambda found: None
    try:
        read = _reader(field, type_)
    except _MisfitError as error:
        read = partial(_refuse, str(error))
    own, presence = field.name, field.has_presence

    def member(found: Any) -> Any:
        if presence and not found.HasField(own):
            return None
        try:
            return read(getattr(found, own))
        except UndecodableError as error:
            raise UndecodableError(f"column '{name}': {error}") from None

    return member


def _refuse(reason: str, value: Any) -> Any:
    """A field that is not there, or an empty list of them, is no harm."""
    if hasattr(value, "__len__") and not isinstance(value, bytes) and len(value) == 0:
        return None
    raise UndecodableError(reason)


def _reader(field: FieldDescriptor, type_: DataType) -> Read:
    """The reader of a column; raises _MisfitError if its type cannot come of the field's."""
    reason = unread(field)
    if reason:
        raise _MisfitError(reason)
    if is_map(field):
        if not isinstance(type_, MapType):
            raise _MisfitError(f"Protobuf's map is not a {type_}")
        key, value = entry_of(field)
        return _map(value, _reader(key, type_.key), _reader(value, type_.value))
    if field.is_repeated:
        if not isinstance(type_, ArrayType):
            raise _MisfitError(f"Protobuf's repeated field is not a {type_}")
        element = _single(field, type_.element)
        return lambda values: [element(v) for v in values]
    return _single(field, type_)


def _map(value: FieldDescriptor, read_key: Read, read: Read) -> Read:
    if value.message_type is not None:  # these have no items()
        return lambda values: {read_key(k): read(values[k]) for k in values}
    return lambda values: {read_key(k): read(v) for k, v in values.items()}


def _single(field: FieldDescriptor, type_: DataType) -> Read:
    message = field.message_type
    if message is None:
        return _scalar(field, type_)
    if is_wrapper(field):
        value = _scalar(value_of(field), type_)
        return lambda found: value(found.value)
    if message.full_name == TIMESTAMP_MESSAGE and type_.name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return partial(_timestamp, type_)
    if not isinstance(type_, StructType):
        raise _MisfitError(f"Protobuf's {message.full_name} is not a {type_}")
    names = [f.name for f in type_.fields]
    row = _members(message, [(f.name, f.type) for f in type_.fields])
    return lambda found: dict(zip(names, row(found), strict=True))


def _timestamp(type_: DataType, found: Any) -> Any:
    micros = found.seconds * 1_000_000 + found.nanos // 1000
    if not -INT64 <= micros < INT64:
        raise not_a(type_, f"{found.seconds} s")
    return temporal.to_datetime(micros, zoned=type_.name == "TIMESTAMP_LTZ")


def _scalar(field: FieldDescriptor, type_: DataType) -> Read:
    kind, name = kind_of(field), type_.name
    read: Read | None = None
    if kind in WHOLE:
        read = _whole(type_)
    elif kind in ("float", "double") and name in ("FLOAT", "DOUBLE"):
        read = partial(_floating, name == "FLOAT" and kind == "double")
    elif kind == "enum" and name == "VARCHAR":
        symbols = {v.number: v.name for v in reversed(symbols_of(field).values)}
        read = lambda number: symbols.get(number, str(number))  # noqa: E731
    elif kind == "string":
        read = _text_reader(type_)
    elif (kind == "bool" and name == "BOOLEAN") or (kind == "bytes" and name in ("BYTES", "VARBINARY")):
        read = _as_it_is
    if read is None:
        raise _MisfitError(f"Protobuf's {kind} is not a {type_}")
    return read


def _as_it_is(value: Any) -> Any:
    return value


def _whole(type_: DataType) -> Read | None:
    match type_:
        case DecimalType():
            return lambda value: fitted(type_, Decimal(value))
    match type_.name:
        case "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT":
            return partial(narrowed, type_.name)
        case "DOUBLE":
            return float
        case "FLOAT":
            return lambda value: single(float(value))
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return partial(_millis, type_)
    return None


def _millis(type_: DataType, value: int) -> Any:
    """A plain number is of milliseconds, as in JSON."""
    if not -INT64 <= value * 1000 < INT64:
        raise not_a(type_, value)
    return temporal.to_datetime(value * 1000, zoned=type_.name == "TIMESTAMP_LTZ")


def _floating(narrow: bool, value: float) -> float:
    number = single(value) if narrow else value
    if abs(number) == float("inf") and abs(value) != float("inf"):
        raise not_a("FLOAT", value)
    return number


def _text_reader(type_: DataType) -> Read | None:
    if type_.name == "VARCHAR":
        return _text
    parse = _parser(type_)
    return None if parse is None else partial(_parsed, parse)


def _text(value: bytes | str) -> str:
    try:
        return value if isinstance(value, str) else value.decode()
    except UnicodeDecodeError:
        raise UndecodableError("not UTF-8, as VARCHAR must be") from None


def _parsed(parse: Callable[[str], Any], value: bytes | str) -> Any:
    """Empty text, which is what proto3 has for nothing, is NULL."""
    text = _text(value)
    return parse(text) if text else None


def _parser(type_: DataType) -> Callable[[str], Any] | None:
    """Types that Protobuf has no form for are text, as they are in JSON."""
    match type_:
        case DecimalType():
            return partial(parse_decimal, type_)
    match type_.name:
        case "DATE":
            return lambda text: temporal.to_date(temporal.parse_date(text))
        case "TIME":
            return lambda text: temporal.to_time(temporal.parse_time(text))
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            zoned = type_.name == "TIMESTAMP_LTZ"
            return lambda text: temporal.to_datetime(temporal.parse_timestamp(text, zoned=zoned), zoned=zoned)
    return None
