"""SQL types <-> Protobuf messages: what columns a message stands for, and which fields can hold a column.

A message is known by the serialized `FileDescriptorSet` that it is in and its full name: both sides, this one and the
JVM's, make their readers and writers of that.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from millpond.avro_types import UnreadableSchemaError
from millpond.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    FLOAT,
    INTEGER,
    VARCHAR,
    ArrayType,
    Column,
    DataType,
    Field,
    MapType,
    Sized,
    StructType,
)

WELL_KNOWN = "google/protobuf/"
"""Files of this folder come with Protobuf itself; descriptor sets and registries leave them out."""
OPTIONS_ALONE = ("confluent/", *(f"google/protobuf/{of}_features.proto" for of in ("cpp", "go", "java")))
"""Files of options, which registries leave out, too; nothing of them is needed."""
TIMESTAMP_MESSAGE = "google.protobuf.Timestamp"
WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
"""Messages of one `value`, which stand for a scalar that may be NULL."""
UNREAD = {"google.protobuf.Any": "Any holds a message of any type"}

KINDS: Mapping[int, str] = {
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_FIXED64: "fixed64",
    FieldDescriptor.TYPE_FIXED32: "fixed32",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_SFIXED32: "sfixed32",
    FieldDescriptor.TYPE_SFIXED64: "sfixed64",
    FieldDescriptor.TYPE_SINT32: "sint32",
    FieldDescriptor.TYPE_SINT64: "sint64",
    FieldDescriptor.TYPE_ENUM: "enum",
    FieldDescriptor.TYPE_MESSAGE: "message",
    FieldDescriptor.TYPE_GROUP: "group",
}
WHOLE32 = ("int32", "sint32", "sfixed32", "uint32", "fixed32")
WHOLE64 = ("int64", "sint64", "sfixed64", "uint64", "fixed64")
UNSIGNED = ("uint32", "fixed32", "uint64", "fixed64")
INFERRED: Mapping[str, DataType] = {
    **dict.fromkeys(WHOLE32, INTEGER),
    **dict.fromkeys(WHOLE64, BIGINT),
    "double": DOUBLE,
    "float": FLOAT,
    "bool": BOOLEAN,
    "string": VARCHAR,
    "enum": VARCHAR,
    "bytes": BYTES,
}

WHOLE_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
TEXT_TYPES = ("DECIMAL", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ")
"""Types without a form of their own that are read out of text, as in JSON; all but the timestamps are written so."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message type: the serialized descriptor set that it is in, and its full name."""

    files: bytes
    name: str


class Variant(StrEnum):
    """A file's messages as they are, or changed to what Protobuf's own classes need; on the wire all are the same."""

    PLAIN = "plain"
    READ = "read"
    """Strings are bytes: we check UTF-8 ourselves, in needed columns alone, as the JVM side does."""
    WRITTEN = "written"
    """Maps are repeated entries: we put them in order ourselves, and both parts of an entry are always there."""


def _varied(file: FileDescriptorProto, variant: Variant) -> None:
    waiting = list(file.message_type)
    while waiting:
        message = waiting.pop()
        waiting += message.nested_type
        if variant is Variant.READ:
            _without_strings(message)
        elif variant is Variant.WRITTEN and message.options.map_entry:
            _as_message(message, file.syntax)


def _without_strings(message: DescriptorProto) -> None:
    for field in message.field:
        if field.type == FieldDescriptor.TYPE_STRING and not (message.options.map_entry and field.name == "key"):
            field.type = FieldDescriptorProto.TYPE_BYTES
            field.ClearField("default_value")


def _as_message(entry: DescriptorProto, syntax: str) -> None:
    entry.options.map_entry = False
    for number, field in enumerate(entry.field):
        if syntax == "proto3":
            field.proto3_optional, field.oneof_index = True, number
            entry.oneof_decl.add(name=f"_{field.name}")
        elif syntax == "editions":
            field.options.features.field_presence = FeatureSet.EXPLICIT


@lru_cache(256)
def described(message: Message, variant: Variant = Variant.PLAIN) -> Descriptor:
    """The message's descriptor. Raises UnreadableSchemaError."""
    pool = _pool(message.files, variant)
    try:
        return pool.FindMessageTypeByName(message.name)
    except KeyError:
        raise UnreadableSchemaError(f"it has no message '{message.name}'") from None


def files_of(content: bytes) -> dict[str, FileDescriptorProto]:
    """The files of a descriptor set by name. Raises UnreadableSchemaError."""
    try:
        found = FileDescriptorSet.FromString(content).file
    except DecodeError:
        raise UnreadableSchemaError("it is no compiled descriptor set (protoc --descriptor_set_out)") from None
    if not found or not all(f.name for f in found):
        raise UnreadableSchemaError("it is no compiled descriptor set (protoc --descriptor_set_out)")
    return {f.name: f for f in found}


def message_names(content: bytes) -> list[str]:
    """The full names of the messages of a descriptor set, nested ones too. Raises UnreadableSchemaError."""
    pool, found = _pool(content, Variant.PLAIN), []
    for name in files_of(content):
        if not name.startswith(WELL_KNOWN):
            found += [m.full_name for m in _messages(pool.FindFileByName(name))]
    return found


def _messages(file: FileDescriptor) -> Iterator[Descriptor]:
    waiting = list(file.message_types_by_name.values())
    while waiting:
        message = waiting.pop(0)
        if not message.GetOptions().map_entry:
            yield message
            waiting += message.nested_types


@lru_cache(128)
def _pool(content: bytes, variant: Variant) -> DescriptorPool:
    files, pool, added = files_of(content), DescriptorPool(), set[str]()

    def add(name: str) -> None:
        if name in added:
            return
        added.add(name)
        file = FileDescriptorProto()
        file.CopyFrom(files[name] if name in files else well_known(name))
        for dependency in file.dependency:
            add(dependency)
        _varied(file, variant)
        pool.Add(file)

    try:
        for name in files:
            add(name)
    except (TypeError, KeyError, ValueError) as error:
        raise UnreadableSchemaError(f"its files do not fit together: {error}") from None
    return pool


def well_known(name: str) -> FileDescriptorProto:
    """A file that comes with Protobuf. Raises UnreadableSchemaError."""
    found = FileDescriptorProto(name=name)
    if name.startswith(OPTIONS_ALONE):
        return found
    if name.startswith(WELL_KNOWN):
        module = name.removesuffix(".proto").replace("/", ".") + "_pb2"
        try:
            importlib.import_module(module).DESCRIPTOR.CopyToProto(found)
        except ImportError:
            pass
        else:
            return found
    raise UnreadableSchemaError(f"it imports '{name}', which is missing (protoc --include_imports adds it)")


def kind_of(field: FieldDescriptor) -> str:
    """int32, string, message, ... as they are written in a .proto file."""
    return KINDS[field.type]


def message_of(field: FieldDescriptor) -> Descriptor:
    """The message type of a field of one."""
    assert field.message_type is not None
    return field.message_type


def symbols_of(field: FieldDescriptor) -> EnumDescriptor:
    """The enum of a field of one."""
    assert field.enum_type is not None
    return field.enum_type


def entry_of(field: FieldDescriptor) -> tuple[FieldDescriptor, FieldDescriptor]:
    """The key and the value of a map."""
    parts = message_of(field).fields_by_name
    return parts["key"], parts["value"]


def value_of(field: FieldDescriptor) -> FieldDescriptor:
    """What a wrapper holds."""
    return message_of(field).fields_by_name["value"]


def is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def in_oneof(field: FieldDescriptor) -> bool:
    """Whether it is one of those of which one is set: `optional` makes a oneof of its own, which does not count."""
    return field.containing_oneof is not None and field.number not in _optional(field.containing_type)


@lru_cache(256)
def _optional(message: Descriptor) -> frozenset[int]:
    """The numbers of proto3's `optional` fields."""
    found = DescriptorProto()
    message.CopyToProto(found)
    return frozenset(field.number for field in found.field if field.proto3_optional)


def is_wrapper(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.full_name in WRAPPERS


def unread(field: FieldDescriptor) -> str | None:
    """Why nothing can be read of a field, whatever the column's type."""
    if in_oneof(field):
        return "it is in a oneof, which is not supported"
    if kind_of(field) == "group":
        return "it is a group, which is not supported"
    if field.message_type is not None and field.message_type.full_name in UNREAD:
        return UNREAD[field.message_type.full_name]
    return None


def columns_of(message: Message) -> tuple[Column, ...]:
    """The columns that a message stands for. Raises UnreadableSchemaError."""
    found = tuple(Column(name, type_) for name, type_ in _members(described(message), frozenset()))
    if not found:
        raise UnreadableSchemaError(f"message '{message.name}' has no fields")
    return found


def _members(message: Descriptor, around: frozenset[str]) -> Iterator[tuple[str, DataType]]:
    if message.full_name in around:
        raise UnreadableSchemaError(f"{message.full_name} contains itself")
    for field in message.fields:
        try:
            yield field.name, _type(field, around | {message.full_name})
        except UnreadableSchemaError as error:
            raise UnreadableSchemaError(f"field {field.name}: {error}") from None


def _type(field: FieldDescriptor, around: frozenset[str]) -> DataType:
    reason = unread(field)
    if reason:
        raise UnreadableSchemaError(reason)
    if is_map(field):
        key, value = entry_of(field)
        return MapType(key=_type(key, around), value=_type(value, around))
    one = _single(field, around)
    return ArrayType(element=one) if field.is_repeated else one


def _single(field: FieldDescriptor, around: frozenset[str]) -> DataType:
    message = field.message_type
    if message is None:
        return INFERRED[kind_of(field)]
    if is_wrapper(field):
        return INFERRED[kind_of(value_of(field))]
    if message.full_name == TIMESTAMP_MESSAGE:
        return Sized("TIMESTAMP_LTZ", 6)
    members = tuple(Field(name, type_) for name, type_ in _members(message, around))
    if not members:
        raise UnreadableSchemaError(f"message {message.full_name} has no fields")
    return StructType(fields=members)


def field_of(message: Descriptor, name: str) -> FieldDescriptor | None:
    """The field of a column: of exactly that name, else the only one whose name differs in case alone."""
    exact = message.fields_by_name.get(name)
    if exact is not None:
        return exact
    alike = [f for f in message.fields if f.name.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None
