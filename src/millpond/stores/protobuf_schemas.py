"""Protobuf schemas of a registry: each fetched once, decoders and encoders made of it ready at hand."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

from millpond.avro_types import UnreadableSchemaError
from millpond.errors import MillpondError
from millpond.protobuf_files import descriptor_set, new_file, with_columns
from millpond.protobuf_types import Message, columns_of
from millpond.stores.formats.framing import FIRST_MESSAGE, framed_message, message_path, schema_id_of
from millpond.stores.formats.protobuf_reader import protobuf_decoder
from millpond.stores.formats.protobuf_text import protobuf_from_text, protobuf_printer
from millpond.stores.formats.protobuf_writer import check_writable, protobuf_encoder
from millpond.stores.formats.undecodable import UndecodableError
from millpond.stores.known_schemas import KnownSchemas
from millpond.stores.registry import RegistryClient, SerializedSchema
from millpond.types import Column

Row: TypeAlias = tuple[Any, ...]
Decode: TypeAlias = Callable[[bytes], Row]


@dataclass(frozen=True, slots=True)
class Written:
    """What a subject's records are written by."""

    schema_id: int
    message: Message


@dataclass(frozen=True, slots=True)
class _File:
    """A registered file and those that it imports."""

    file: FileDescriptorProto
    imports: tuple[FileDescriptorProto, ...]

    def message(self, path: Sequence[int]) -> Message:
        """The message at that place. Raises UnreadableSchemaError."""
        names, found = [self.file.package] if self.file.package else [], self.file.message_type
        for place in path:
            if not 0 <= place < len(found):
                raise UnreadableSchemaError(f"it has no message {list(path)}")
            names.append(found[place].name)
            found = found[place].nested_type
        return Message(descriptor_set(self.file, self.imports), ".".join(names))


class ProtobufSchemas:
    """Decodes and encodes by one registry's Protobuf schemas. Safe to use from several threads."""

    def __init__(self, client: RegistryClient, clock: Callable[[], float] = time.monotonic) -> None:
        self.client = client
        self._files = KnownSchemas(self._asked, clock)
        self._decoders: dict[tuple[int, tuple[int, ...], tuple[Column, ...]], Decode] = {}
        self._printers: dict[tuple[int, tuple[int, ...]], Callable[[bytes], str]] = {}
        self._written: dict[tuple[str, tuple[Column, ...]], Written] = {}

    def decoder(self, columns: tuple[Column, ...]) -> Decode:
        """Framed messages -> rows. It raises UndecodableError, and REGISTRY_* when it meets a new schema."""

        def decode(data: bytes) -> Row:
            schema_id = schema_id_of(data)
            path, start = message_path(data)
            return self._decoder(schema_id, path, columns)(data[start:])

        return decode

    def encoder(self, subject: str, columns: tuple[Column, ...]) -> Callable[[Sequence[Any]], bytes]:
        """Row -> framed message; the schema is registered. Raises what `register` raises."""
        written = self.register(subject, columns)
        encode = protobuf_encoder(written.message, columns)
        return lambda row: framed_message(written.schema_id, encode(row))

    def register(self, subject: str, columns: tuple[Column, ...]) -> Written:
        """What the subject's records of `columns` are written by from now on: its message, with fields for them all.

        Raises REGISTRY_*, SCHEMA_REFUSED, SCHEMA_NOT_READABLE, NO_PROTOBUF_FORM.
        """
        known = self._written.get((subject, columns))
        if known is not None:
            return known
        latest = self._latest(subject)
        with _naming(subject):
            base = _File(new_file(subject), ()) if latest is None else _parsed(latest)
            file = with_columns(base.file, columns)
            message = _File(file, base.imports).message(FIRST_MESSAGE)
            check_writable(message, columns)
        text = base64.b64encode(file.SerializeToString(deterministic=True)).decode()
        schema_id = self.client.register(subject, text, "PROTOBUF", latest.references if latest else ())
        made = self._written[subject, columns] = Written(schema_id, message)
        return made

    def columns(self, subject: str) -> tuple[Column, ...]:
        """The columns of the first message of the newest schema. Raises SUBJECT_NOT_FOUND, SCHEMA_NOT_READABLE,
        REGISTRY_*."""
        latest = self._latest(subject)
        if latest is None:
            raise MillpondError("SUBJECT_NOT_FOUND", subject=subject, name=self.client.access.name)
        with _naming(subject):
            return columns_of(_parsed(latest).message(FIRST_MESSAGE))

    def printed(self, data: bytes) -> str | None:
        """A framed message as JSON; None if it is none of a schema that is at hand (`fetch`)."""
        schema_id = schema_id_of(data)
        file = self._files.at_hand(schema_id)
        if file is None:
            return None
        try:
            path, start = message_path(data)
            show = self._printers.get((schema_id, path))
            if show is None:
                show = self._printers[schema_id, path] = protobuf_printer(file.message(path))
            return show(data[start:])
        except (UndecodableError, UnreadableSchemaError):
            return None

    def from_text(self, subject: str, text: str) -> bytes | None:
        """JSON text -> framed message by the newest schema of the subject; None if there is no such subject.

        Raises VALUE_NOT_OF_SCHEMA, SCHEMA_NOT_READABLE, REGISTRY_*.
        """
        latest = self._latest(subject)
        if latest is None:
            return None
        with _naming(subject):
            read = protobuf_from_text(_parsed(latest).message(FIRST_MESSAGE))
        try:
            return framed_message(latest.id, read(text))
        except UndecodableError as error:
            raise MillpondError("VALUE_NOT_OF_SCHEMA", subject=subject, reason=str(error)) from None

    def unknown(self, ids: Iterable[int]) -> set[int]:
        """Those that would have to be asked for."""
        return self._files.unknown(ids)

    def fetch(self, ids: Iterable[int]) -> None:
        """Have the schemas at hand. Raises REGISTRY_UNREACHABLE, REGISTRY_LOGIN_FAILED."""
        self._files.fetch(ids)

    def _latest(self, subject: str) -> SerializedSchema | None:
        with _naming(subject):
            return self.client.latest_serialized(subject)

    def _decoder(self, schema_id: int, path: tuple[int, ...], columns: tuple[Column, ...]) -> Decode:
        found = self._decoders.get((schema_id, path, columns))
        if found is None:
            file = self._files.get(schema_id)
            try:
                found = protobuf_decoder(file.message(path), columns)
            except UnreadableSchemaError as error:
                raise UndecodableError(f"schema {schema_id}: {error}") from None
            self._decoders[schema_id, path, columns] = found
        return found

    def _asked(self, schema_id: int) -> _File:
        try:
            found = self.client.serialized(schema_id)
            if found is not None:
                return _parsed(found)
        except UnreadableSchemaError as error:
            raise UnreadableSchemaError(f"schema {schema_id}: {error}") from None
        raise UnreadableSchemaError(f"the registry has no schema {schema_id}")


@contextmanager
def _naming(subject: str) -> Iterator[None]:
    """Gives an UnreadableSchemaError the name of the subject."""
    try:
        yield
    except UnreadableSchemaError as error:
        raise MillpondError("SCHEMA_NOT_READABLE", subject=subject, reason=str(error)) from None


def _parsed(schema: SerializedSchema, name: str | None = None) -> _File:
    """Raises UnreadableSchemaError."""
    file = FileDescriptorProto()
    try:
        file.ParseFromString(base64.b64decode(schema.text, validate=True))
    except (binascii.Error, ValueError, DecodeError):
        raise UnreadableSchemaError("it is text: the registry does not give it in serialized form") from None
    file.name = name or file.name or "schema.proto"
    imports: dict[str, FileDescriptorProto] = {}
    for imported, its in schema.imports:
        found = _parsed(its, imported)
        imports.update({f.name: f for f in (*found.imports, found.file)})
    return _File(file, tuple(imports.values()))
