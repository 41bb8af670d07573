"""Python values of SQL types -> Protobuf, byte for byte as the JVM side writes it: keys are compared so.

Fields go in the order of their numbers, a map's entries in that of their keys. NULL is a field that is not there;
among the elements of an ARRAY or the values of a MAP, where there is no such thing, it is the type's default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, TypeAlias

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from millpond.errors import MillpondError
from millpond.protobuf_files import MAP_KEYS
from millpond.protobuf_types import (
    TIMESTAMP_MESSAGE,
    UNSIGNED,
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
    message_of,
    symbols_of,
    unread,
    value_of,
)
from millpond.stores.formats import temporal
from millpond.stores.formats.exact import checked, exact_float, exact_text
from millpond.stores.formats.numbers import fitted, narrowed
from millpond.types import ArrayType, Column, DataType, DecimalType, MapType, StructType

Write: TypeAlias = Callable[[Any, Any], None]
"""(message, value that is not None) -> the value in its field. ValueError or TypeError for what does not fit."""
Convert: TypeAlias = Callable[[Any], Any]
"""A Python value -> what Protobuf's own class takes; None if the field has no such value."""

MICROS = 1_000_000
BITS32 = ("TINYINT", "SMALLINT", "INTEGER")


@lru_cache(512)
def protobuf_encoder(message: Message, columns: tuple[Column, ...]) -> Callable[[Sequence[Any]], bytes]:
    """Rows of `columns` -> messages. Raises NO_PROTOBUF_FORM; what it makes, VALUE_NOT_ENCODABLE."""
    check_writable(message, columns)
    descriptor = described(message)
    made = GetMessageClass(described(message, Variant.WRITTEN))
    writers = [_member(descriptor, c.name, c.type) for c in columns]

    def encode(row: Sequence[Any]) -> bytes:
        out = made()
        for column, write, value in zip(columns, writers, row, strict=True):
            try:
                if value is not None:
                    write(out, value)
            except (ValueError, TypeError, AttributeError, ArithmeticError):
                raise MillpondError(
                    "VALUE_NOT_ENCODABLE", value=repr(value), type=str(column.type), column=column.name
                ) from None
        return out.SerializePartialToString(deterministic=True)

    return encode


def check_writable(message: Message, columns: Sequence[Column]) -> None:
    """Raises NO_PROTOBUF_FORM unless each of `columns` has a field that it can be written into."""
    descriptor = described(message)
    members = [(c.name, c.type) for c in columns]
    for name, type_ in members:
        reason = misfit(descriptor, name, type_)
        if reason:
            raise MillpondError("NO_PROTOBUF_FORM", column=name, type=str(type_), reason=reason)
    reason = _required(descriptor)
    if reason:
        raise MillpondError("NO_PROTOBUF_FORM", column=members[0][0], type=str(members[0][1]), reason=reason)


class _MisfitError(ValueError):
    """A field cannot hold a column; the message says why."""


def misfit(message: Descriptor, name: str, type_: DataType) -> str | None:
    """Why a column cannot be written into the field of its name; None if it can."""
    try:
        _member(message, name, type_)
    except _MisfitError as error:
        return str(error)
    return None


def _required(message: Descriptor) -> str | None:
    """A NULL could not be written, so such messages are only read."""
    found = next((f for f in message.fields if f.is_required), None)
    return None if found is None else f"{message.full_name} has a required field, {found.name}"


def _member(message: Descriptor, name: str, type_: DataType) -> Write:
    field = field_of(message, name)
    if field is None:
        raise _MisfitError(f"message {message.full_name} has no field of that name")
    reason = unread(field)
    if reason:
        raise _MisfitError(f"as to field {field.name}, {reason}")
    if is_map(field):
        return _map(field, type_)
    if field.is_repeated:
        return _repeated(field, type_)
    if is_wrapper(field):
        put = _put("value", _converter(value_of(field), type_))
        return lambda out, value: put(getattr(out, field.name), value)
    if _is_struct(field):
        fill = _filler(field, type_)
        return lambda out, value: fill(_there(getattr(out, field.name)), value)
    return _put(field.name, _converter(field, type_))


def _put(name: str, convert: Convert) -> Write:
    def write(out: Any, value: Any) -> None:
        converted = convert(value)
        if converted is not None:
            setattr(out, name, converted)

    return write


def _there(message: Any) -> Any:
    message.SetInParent()
    return message


def _is_struct(field: FieldDescriptor) -> bool:
    return field.message_type is not None


def _filler(field: FieldDescriptor, type_: DataType) -> Write:
    """Fills a message that is there already."""
    message = message_of(field)
    if is_wrapper(field):
        return _put("value", _converter(value_of(field), type_))
    if message.full_name == TIMESTAMP_MESSAGE and type_.name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return _fill_timestamp
    if not isinstance(type_, StructType):
        raise _MisfitError(f"its field is a {message.full_name}")
    reason = _required(message)
    if reason:
        raise _MisfitError(reason)
    writers = [(f.name, _member(message, f.name, f.type)) for f in type_.fields]

    def fill(out: Any, value: Any) -> None:
        for name, write in writers:
            if value.get(name) is not None:
                write(out, value[name])

    return fill


def _fill_timestamp(out: Any, value: Any) -> None:
    out.seconds, micros = divmod(temporal.from_datetime(value), MICROS)
    out.nanos = micros * 1000


def _repeated(field: FieldDescriptor, type_: DataType) -> Write:
    if not isinstance(type_, ArrayType):
        raise _MisfitError("its field is repeated")
    if _is_struct(field):
        fill = _filler(field, type_.element)

        def write_messages(out: Any, values: Any) -> None:
            for value in values:
                made = getattr(out, field.name).add()
                if value is not None:
                    fill(made, value)

        return write_messages
    convert, default = _converter(field, type_.element), _default(field)
    return lambda out, values: getattr(out, field.name).extend([_or(default, convert, v) for v in values])


def _or(default: Any, convert: Convert, value: Any) -> Any:
    converted = None if value is None else convert(value)
    return default if converted is None else converted


def _default(field: FieldDescriptor) -> Any:
    """That of an element, whatever default a proto2 file gives."""
    kind = kind_of(field)
    if kind == "enum":
        return symbols_of(field).values[0].number
    return {"string": "", "bytes": b"", "bool": False, "float": 0.0, "double": 0.0}.get(kind, 0)


def _map(field: FieldDescriptor, type_: DataType) -> Write:
    if not isinstance(type_, MapType):
        raise _MisfitError("its field is a map")
    key_field, value_field = entry_of(field)
    if type_.key.name not in MAP_KEYS:
        raise _MisfitError(f"a {type_.key} is no key of Protobuf's maps")
    write_key = _converter(key_field, type_.key)
    write_value = _map_value(value_field, type_.value)

    def write(out: Any, entries: Any) -> None:
        converted = {key: v for k, v in entries.items() if (key := write_key(k)) is not None}
        for k in sorted(converted, key=lambda k: k.encode() if isinstance(k, str) else k):
            entry = getattr(out, field.name).add()
            entry.key = k
            write_value(entry, converted[k])

    return write


def _map_value(field: FieldDescriptor, type_: DataType) -> Write:
    """Writes the value of an entry, which is always there."""
    if _is_struct(field):
        fill = _filler(field, type_)

        def write(entry: Any, value: Any) -> None:
            message = _there(entry.value)
            if value is not None:
                fill(message, value)

        return write
    convert, default = _converter(field, type_), _default(field)
    return lambda entry, value: setattr(entry, "value", _or(default, convert, value))


def _converter(field: FieldDescriptor, type_: DataType) -> Convert:
    kind, name = kind_of(field), type_.name
    if (kind in WHOLE32 and name in BITS32) or (kind in WHOLE64 and name in (*BITS32, "BIGINT")):
        return partial(_integer, name, kind in UNSIGNED)
    found: Convert | None = None
    match kind, type_:
        case "string", DecimalType():
            found = partial(_decimal, type_)
        case "string", _:
            found = TEXTS.get(name)
        case "enum", _ if name == "VARCHAR":
            found = partial(_symbol, {v.name: v.number for v in symbols_of(field).values}, symbols_of(field).is_closed)
        case "float" | "double", _ if name == "FLOAT":
            found = exact_float
        case "double", _ if name == "DOUBLE":
            found = float
        case "bool", _ if name == "BOOLEAN":
            found = partial(checked, bool)
        case "bytes", _ if name in ("BYTES", "VARBINARY"):
            found = bytes
    if found is None:
        raise _MisfitError(f"its field is of type {kind}")
    return found


def _integer(type_name: str, unsigned: bool, value: Any) -> int | None:
    """A negative number has no unsigned form: as in a CAST that is not possible, there is none then."""
    number = narrowed(type_name, checked(int, value))
    return None if unsigned and number < 0 else number


def _symbol(numbers: dict[str, int], closed: bool, value: Any) -> int | None:
    """The number of a symbol; one that is not known is written as its number, which is what it was read as."""
    text = exact_text(value)
    if text in numbers:
        return numbers[text]
    if closed or text != text.strip() or not text.lstrip("-").isascii() or not text.removeprefix("-").isdigit():
        return None
    number = int(text)
    return number if -(1 << 31) <= number < 1 << 31 and str(number) == text else None


def _decimal(type_: DecimalType, value: Any) -> str:
    if isinstance(value, float):
        value = repr(value)
    return f"{fitted(type_, Decimal(value)):f}"


TEXTS: dict[str, Convert] = {
    "VARCHAR": exact_text,
    "DATE": lambda value: temporal.date_text(temporal.from_date(value)),
    "TIME": lambda value: temporal.time_text(temporal.from_time(value)),
}
