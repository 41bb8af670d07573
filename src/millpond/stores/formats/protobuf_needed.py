"""What of a message is read: only the fields that columns ask for, so that others are passed over unseen.

The JVM side does not look into them either: bytes that are wrong there make no bad record on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorSet

from millpond.protobuf_types import Message, described, entry_of, field_of, files_of, is_map
from millpond.types import ArrayType, DataType, MapType, StructType

Members = Sequence[tuple[str, DataType]]


def needed_of(message: Message, members: Members) -> Message:
    """The message without the fields that no column has. Raises UnreadableSchemaError."""
    wanted: dict[str, set[int]] = {message.name: set()}
    _collect(described(message), members, wanted)
    files = files_of(message.files)
    for file in files.values():
        for name, found in _messages(file.package, file.message_type):
            if name in wanted:
                _keep(found, wanted[name])
    return Message(FileDescriptorSet(file=files.values()).SerializeToString(deterministic=True), message.name)


def _collect(message: Descriptor, members: Members, wanted: dict[str, set[int]]) -> None:
    for name, type_ in members:
        field = field_of(message, name)
        if field is None:
            continue
        wanted.setdefault(message.full_name, set()).add(field.number)
        inside = entry_of(field)[1].message_type if is_map(field) else field.message_type
        struct = _struct(type_)
        if inside is not None and struct is not None:
            wanted.setdefault(inside.full_name, set())
            _collect(inside, [(f.name, f.type) for f in struct.fields], wanted)


def _struct(type_: DataType) -> StructType | None:
    if isinstance(type_, ArrayType | MapType):
        type_ = type_.element if isinstance(type_, ArrayType) else type_.value
    return type_ if isinstance(type_, StructType) else None


def _messages(scope: str, found: Sequence[DescriptorProto]) -> Iterator[tuple[str, DescriptorProto]]:
    for message in found:
        name = f"{scope}.{message.name}" if scope else message.name
        yield name, message
        yield from _messages(name, message.nested_type)


def _keep(message: DescriptorProto, numbers: set[int]) -> None:
    kept = [field for field in message.field if field.number in numbers]
    used = sorted({field.oneof_index for field in kept if field.HasField("oneof_index")})
    oneofs = [message.oneof_decl[index] for index in used]
    places: Mapping[int, int] = {old: new for new, old in enumerate(used)}
    for field in kept:
        if field.HasField("oneof_index"):
            field.oneof_index = places[field.oneof_index]
    fields = DescriptorProto(field=kept, oneof_decl=oneofs)
    message.ClearField("field")
    message.ClearField("oneof_decl")
    message.MergeFrom(fields)
