"""The schemas of a store's topics: each fetched once, decoders and encoders made of it ready at hand."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from fastavro.schema import SchemaParseException

from millpond.avro_types import UnreadableSchemaError, avro_schema, columns_of, parsed, record_name, resolved
from millpond.errors import MillpondError
from millpond.stores.formats.avro_reader import avro_decoder
from millpond.stores.formats.avro_text import avro_from_text, avro_printer
from millpond.stores.formats.avro_writer import avro_encoder
from millpond.stores.formats.framing import HEADER, framed, schema_id_of
from millpond.stores.formats.undecodable import UndecodableError
from millpond.stores.known_schemas import KnownSchemas
from millpond.stores.protobuf_schemas import ProtobufSchemas
from millpond.stores.registry import RegistryAccess, RegistryClient, is_of_protobuf
from millpond.types import Column

Row: TypeAlias = tuple[Any, ...]
Decode: TypeAlias = Callable[[bytes], Row]


def subject_of(topic: str, part: str) -> str:
    """Where the schema of a topic's records is kept; `part` is key or value."""
    return f"{topic}-{part}"


class Schemas:
    """Decodes and encodes by one registry's schemas. Safe to use from several threads."""

    def __init__(self, access: RegistryAccess, clock: Callable[[], float] = time.monotonic) -> None:
        self.client = RegistryClient(access)
        self.protobuf = ProtobufSchemas(self.client, clock)
        """Those of Protobuf; all else here is Avro."""
        self._texts = KnownSchemas(self._asked, clock)
        self._decoders: dict[tuple[int, tuple[Column, ...]], Decode] = {}
        self._ids: dict[tuple[str, tuple[Column, ...]], int] = {}
        self._printers: dict[int, Callable[[bytes], str]] = {}

    def decoder(self, columns: tuple[Column, ...]) -> Decode:
        """Framed Avro -> row. It raises UndecodableError, and REGISTRY_* when it meets a new schema."""
        return lambda data: self._decoder(schema_id_of(data), columns)(data)

    def encoder(self, subject: str, columns: tuple[Column, ...]) -> Callable[[Sequence[Any]], bytes]:
        """Row -> framed Avro; the schema is registered. Raises REGISTRY_*, SCHEMA_REFUSED, NO_AVRO_FORM."""
        schema_id, encode = self.register(subject, columns), avro_encoder(columns)
        return lambda row: framed(schema_id, encode(row))

    def register(self, subject: str, columns: tuple[Column, ...]) -> int:
        """The id of the schema of `columns`, which the subject has from now on.

        Its records are named as those that the subject has already: registries take another name for another thing.
        Raises REGISTRY_*, SCHEMA_REFUSED, NO_AVRO_FORM.
        """
        known = self._ids.get((subject, columns))
        if known is None:
            text = json.dumps(avro_schema(columns, self._record_name(subject)))
            known = self._ids[subject, columns] = self.client.register(subject, text)
        return known

    def columns(self, subject: str) -> tuple[Column, ...]:
        """The columns of the newest schema.

        Raises SUBJECT_NOT_FOUND, SCHEMA_NOT_READABLE, SCHEMA_NOT_AVRO, REGISTRY_*.
        """
        found = self.client.latest(subject)
        if found is None:
            raise MillpondError("SUBJECT_NOT_FOUND", subject=subject, name=self.client.access.name)
        try:
            return columns_of(found.text)
        except UnreadableSchemaError as error:
            raise MillpondError("SCHEMA_NOT_READABLE", subject=subject, reason=str(error)) from None

    def printed(self, data: bytes) -> str | None:
        """A framed record as JSON; None if it is none of a schema that is at hand (`fetch`)."""
        if len(data) < HEADER or data[0] != 0:
            return None
        schema_id = schema_id_of(data)
        text = self._texts.at_hand(schema_id)
        if text is None:
            return self.protobuf.printed(data)
        try:
            show = self._printers.get(schema_id) or self._printers.setdefault(schema_id, avro_printer(text))
            return show(data)
        except (UndecodableError, SchemaParseException):
            return None

    def from_text(self, subject: str, text: str) -> bytes | None:
        """JSON text -> a framed record by the newest schema of the subject; None if there is no such subject.

        Raises VALUE_NOT_OF_SCHEMA, SCHEMA_NOT_READABLE, SCHEMA_NOT_AVRO, REGISTRY_*.
        """
        try:
            found = self.client.latest(subject)
        except MillpondError as error:
            if not is_of_protobuf(error):
                raise
            return self.protobuf.from_text(subject, text)
        if found is None:
            return None
        try:
            return framed(found.id, avro_from_text(found.text)(text))
        except UnreadableSchemaError as error:
            raise MillpondError("SCHEMA_NOT_READABLE", subject=subject, reason=str(error)) from None
        except UndecodableError as error:
            raise MillpondError("VALUE_NOT_OF_SCHEMA", subject=subject, reason=str(error)) from None

    def unknown(self, records: Iterable[bytes | None]) -> set[int]:
        """The ids in front of `records` that would have to be asked for."""
        return self.unknown_ids(schema_id_of(data) for data in records if data and len(data) > 4 and data[0] == 0)

    def unknown_ids(self, ids: Iterable[int]) -> set[int]:
        """Those that would have to be asked for."""
        return self._texts.unknown(ids)

    def fetch(self, ids: Iterable[int]) -> None:
        """Have the schemas at hand. Raises REGISTRY_UNREACHABLE, REGISTRY_LOGIN_FAILED."""
        self._texts.fetch(ids)

    def close(self) -> None:
        self.client.close()

    def _decoder(self, schema_id: int, columns: tuple[Column, ...]) -> Decode:
        found = self._decoders.get((schema_id, columns))
        if found is None:
            text = self._texts.get(schema_id)
            try:
                found = avro_decoder(text, columns)
            except UnreadableSchemaError as error:
                raise UndecodableError(f"schema {schema_id}: {error}") from None
            self._decoders[schema_id, columns] = found
        return found

    def _asked(self, schema_id: int) -> str:
        try:
            text = self.client.schema(schema_id)
        except MillpondError as error:
            if error.name != "SCHEMA_NOT_AVRO":
                raise
            if is_of_protobuf(error):
                self.protobuf.fetch([schema_id])
            raise UnreadableSchemaError(str(error)) from None
        if text is None:
            raise UnreadableSchemaError(f"the registry has no schema {schema_id}")
        return text

    def _record_name(self, subject: str) -> str:
        latest = self.client.latest(subject)
        if latest is None:
            return record_name(subject)
        schema, named = parsed(latest.text)
        found = resolved(schema, named)
        return str(found["name"]) if found["type"] == "record" else record_name(subject)
