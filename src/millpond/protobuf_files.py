"""Columns -> the Protobuf file that a topic's records are written by, built upon the one that its subject has.

A field keeps its number for ever: what the subject's message has already stays as it is, a new column gets a number of
its own, and a column that is gone leaves its field behind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from millpond.avro_types import UnreadableSchemaError, record_name
from millpond.errors import MillpondError
from millpond.types import ArrayType, Column, DataType, MapType, StructType

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*|_[A-Za-z0-9_]+")
TIMESTAMP_FILE = "google/protobuf/timestamp.proto"
RESERVED = range(19_000, 20_000)
"""Numbers that Protobuf keeps for itself."""
LAST_NUMBER = (1 << 29) - 1
"""The highest that a field can have."""

WRITTEN = {
    "BOOLEAN": FieldDescriptorProto.TYPE_BOOL,
    "TINYINT": FieldDescriptorProto.TYPE_INT32,
    "SMALLINT": FieldDescriptorProto.TYPE_INT32,
    "INTEGER": FieldDescriptorProto.TYPE_INT32,
    "BIGINT": FieldDescriptorProto.TYPE_INT64,
    "FLOAT": FieldDescriptorProto.TYPE_FLOAT,
    "DOUBLE": FieldDescriptorProto.TYPE_DOUBLE,
    "VARCHAR": FieldDescriptorProto.TYPE_STRING,
    "DECIMAL": FieldDescriptorProto.TYPE_STRING,
    "DATE": FieldDescriptorProto.TYPE_STRING,
    "TIME": FieldDescriptorProto.TYPE_STRING,
    "BYTES": FieldDescriptorProto.TYPE_BYTES,
    "VARBINARY": FieldDescriptorProto.TYPE_BYTES,
}
"""How types without parts are written; timestamps are messages."""
MAP_KEYS = ("VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT")


def new_file(subject: str) -> FileDescriptorProto:
    """A file of one message without fields."""
    package, _, name = record_name(subject).rpartition(".")
    file = FileDescriptorProto(name=f"{name}.proto", package=package, syntax="proto3")
    file.message_type.add(name=name)
    return file


def with_columns(file: FileDescriptorProto, columns: Sequence[Column]) -> FileDescriptorProto:
    """A copy whose first message has a field for each column. Raises NO_PROTOBUF_FORM, UnreadableSchemaError."""
    made = FileDescriptorProto()
    made.CopyFrom(file)
    if not made.message_type:
        raise UnreadableSchemaError("it has no message")
    message = made.message_type[0]
    scope = f".{made.package}.{message.name}" if made.package else f".{message.name}"
    known = {f.name for f in message.field}
    for column in columns:
        if column.name not in known:
            _add(made, message, scope, column.name, column.type)
    return made


def descriptor_set(file: FileDescriptorProto, imports: Sequence[FileDescriptorProto] = ()) -> bytes:
    """The file and those that it imports, serialized; those that come with Protobuf may be missing."""
    return FileDescriptorSet(file=[*imports, file]).SerializeToString(deterministic=True)


def _refusal(column: str, type_: DataType, reason: str) -> MillpondError:
    return MillpondError("NO_PROTOBUF_FORM", column=column, type=str(type_), reason=reason)


def _add(file: FileDescriptorProto, message: DescriptorProto, scope: str, name: str, type_: DataType) -> None:
    if not NAME.fullmatch(name):
        raise _refusal(name, type_, "Protobuf does not allow such a name")
    number = _next_number(message)
    if number > LAST_NUMBER:
        raise _refusal(name, type_, f"message {message.name} has no number left for its field")
    field = message.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
    match type_:
        case ArrayType():
            _refuse_nested(name, type_, type_.element)
            field.label = FieldDescriptorProto.LABEL_REPEATED
            _set_type(file, message, scope, field, type_.element)
        case MapType():
            _refuse_nested(name, type_, type_.value)
            _add_map(file, message, scope, field, type_)
        case _:
            _set_type(file, message, scope, field, type_)
            if field.type != FieldDescriptorProto.TYPE_MESSAGE and file.syntax == "proto3":
                _make_optional(message, field)


def _next_number(message: DescriptorProto) -> int:
    """The first that is free behind those of its fields, or in front if there is none."""
    taken = {f.number for f in message.field}
    kept = [range(r.start, r.end) for r in message.reserved_range]
    kept += [range(r.start, r.end) for r in message.extension_range]

    def free(number: int) -> int:
        while True:
            around = next((r for r in (RESERVED, *kept) if number in r), None)
            if around is None and number not in taken:
                return number
            number = number + 1 if around is None else around.stop

    behind = free(max(taken, default=0) + 1)
    return behind if behind <= LAST_NUMBER else free(1)


def _refuse_nested(name: str, type_: DataType, part: DataType) -> None:
    if isinstance(part, ArrayType | MapType):
        raise _refusal(name, type_, "Protobuf has no ARRAY or MAP right inside another; a STRUCT between them helps")


def _set_type(
    file: FileDescriptorProto, message: DescriptorProto, scope: str, field: FieldDescriptorProto, type_: DataType
) -> None:
    if isinstance(type_, StructType):
        field.type = FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = _add_message(file, message, scope, field.name, type_)
    elif type_.name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, ".google.protobuf.Timestamp"
        if TIMESTAMP_FILE not in file.dependency:
            file.dependency.append(TIMESTAMP_FILE)
    else:
        field.type = WRITTEN[type_.name]


def _make_optional(message: DescriptorProto, field: FieldDescriptorProto) -> None:
    """A oneof of its own tells a NULL from a default."""
    field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
    taken = _taken(message)
    name = f"_{field.name}"
    while name in taken:
        name = f"X{name}"
    message.oneof_decl.add(name=name)


def _taken(message: DescriptorProto) -> set[str]:
    parts = (message.field, message.nested_type, message.oneof_decl, message.enum_type)
    return {item.name for part in parts for item in part}


def _add_message(file: FileDescriptorProto, message: DescriptorProto, scope: str, field: str, type_: StructType) -> str:
    """A message beside the field, named after it; its full name."""
    name = _camel(field)
    while name in _taken(message):
        name += "_"
    nested = message.nested_type.add(name=name)
    full = f"{scope}.{name}"
    for member in type_.fields:
        if member.name in {f.name for f in nested.field}:
            raise _refusal(field, type_, f"'{member.name}' comes twice")
        _add(file, nested, full, member.name, member.type)
    return full


def _add_map(
    file: FileDescriptorProto, message: DescriptorProto, scope: str, field: FieldDescriptorProto, type_: MapType
) -> None:
    if type_.key.name not in MAP_KEYS:
        raise _refusal(field.name, type_, f"a {type_.key} is no key of Protobuf's maps")
    name = f"{_camel(field.name)}Entry"
    if name in _taken(message):
        raise _refusal(field.name, type_, f"'{name}' is taken, which Protobuf calls the entries of the map")
    field.label, field.type = FieldDescriptorProto.LABEL_REPEATED, FieldDescriptorProto.TYPE_MESSAGE
    field.type_name = f"{scope}.{name}"
    value = FieldDescriptorProto(name="value", number=2, label=FieldDescriptorProto.LABEL_OPTIONAL)
    if isinstance(type_.value, StructType):
        value.type, value.type_name = FieldDescriptorProto.TYPE_MESSAGE, ""
        value.type_name = _add_message(file, message, scope, f"{field.name}_value", type_.value)
    else:
        _set_type(file, message, scope, value, type_.value)
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=FieldDescriptorProto.LABEL_OPTIONAL, type=WRITTEN[type_.key.name])
    entry.field.append(value)


def _camel(name: str) -> str:
    """As protoc makes the names of messages out of those of fields."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
