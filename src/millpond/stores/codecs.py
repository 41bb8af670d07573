"""What formats with schemas need for the records of a store: its registry, and the descriptors that relations name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from millpond.avro_types import UnreadableSchemaError
from millpond.catalog.model import Relation
from millpond.errors import MillpondError
from millpond.protobuf_types import Message
from millpond.stores.access import DescriptorFile
from millpond.stores.formats.framing import HEADER, schema_id_of
from millpond.stores.formats.protobuf_reader import protobuf_decoder
from millpond.stores.formats.protobuf_writer import protobuf_encoder
from millpond.stores.formats.undecodable import UndecodableError
from millpond.stores.schemas import Schemas, subject_of
from millpond.types import Column

Row: TypeAlias = tuple[Any, ...]
Decode: TypeAlias = Callable[[bytes], Row]


class Codecs:
    """Decoders and encoders of Avro and Protobuf for the relations of one store."""

    def __init__(self, store: str, schemas: Schemas | None, descriptor_file: DescriptorFile) -> None:
        self.store, self.descriptor_file = store, descriptor_file
        self.known = schemas
        """Those of the store's registry, if it has one."""
        self._messages: dict[tuple[str, str], Message] = {}

    def decoder(self, relation: Relation, part: str, columns: tuple[Column, ...]) -> Decode:
        """Bytes of a key or value -> row. It raises UndecodableError, and REGISTRY_* when it meets a new schema.

        Raises NO_SCHEMA_REGISTRY, DESCRIPTOR_SOURCE_NOT_FOUND.
        """
        if relation.part_format(part) == "avro":
            return self.schemas("avro").decoder(columns)
        message = self.message(relation, part)
        return self.schemas("protobuf").protobuf.decoder(columns) if message is None else _decoder(message, columns)

    def encoder(self, relation: Relation, part: str, columns: tuple[Column, ...]) -> Callable[[Sequence[Any]], bytes]:
        """Row -> bytes of a key or value; a registry has the schema from then on.

        Raises NO_SCHEMA_REGISTRY, REGISTRY_*, SCHEMA_REFUSED, NO_AVRO_FORM, NO_PROTOBUF_FORM.
        """
        subject = subject_of(relation.topic, part)
        if relation.part_format(part) == "avro":
            return self.schemas("avro").encoder(subject, columns)
        message = self.message(relation, part)
        if message is not None:
            return protobuf_encoder(message, columns)
        return self.schemas("protobuf").protobuf.encoder(subject, columns)

    def register(self, form: str, subject: str, columns: tuple[Column, ...]) -> None:
        """The subject has a schema of the columns from now on. Raises what `encoder` raises."""
        schemas = self.schemas(form)
        if form == "avro":
            schemas.register(subject, columns)
        else:
            schemas.protobuf.register(subject, columns)

    def message(self, relation: Relation, part: str) -> Message | None:
        """The message that the relation's descriptor names; None if it has none."""
        found = relation.descriptor(part)
        if found is None:
            return None
        if found not in self._messages:
            self._messages[found] = Message(self.descriptor_file(found[0]), found[1])
        return self._messages[found]

    def schemas(self, form: str) -> Schemas:
        """Those of the store's registry. Raises NO_SCHEMA_REGISTRY."""
        if self.known is None:
            raise MillpondError("NO_SCHEMA_REGISTRY", store=self.store, format=form)
        return self.known

    def unknown(self, relation: Relation, keys: Iterable[bytes | None], values: Iterable[bytes | None]) -> Unknown:
        """The schemas of records that would have to be asked for."""
        found: Unknown = {}
        if self.known is None:
            return found
        for part, records in (("key", keys), ("value", values)):
            form = relation.part_format(part)
            if form == "avro" or (form == "protobuf" and relation.descriptor(part) is None):
                ids = {schema_id_of(data) for data in records if data and len(data) >= HEADER and data[0] == 0}
                new = self.known.unknown_ids(ids) if form == "avro" else self.known.protobuf.unknown(ids)
                found[form] = found.get(form, set()) | new
        return {form: ids for form, ids in found.items() if ids}

    def fetch(self, unknown: Unknown) -> None:
        """Have them at hand. Raises REGISTRY_UNREACHABLE, REGISTRY_LOGIN_FAILED."""
        for form, ids in unknown.items():
            schemas = self.schemas(form)
            (schemas if form == "avro" else schemas.protobuf).fetch(ids)


Unknown: TypeAlias = dict[str, set[int]]
"""Format -> ids of schemas."""


@lru_cache(256)
def _decoder(message: Message, columns: tuple[Column, ...]) -> Decode:
    try:
        return protobuf_decoder(message, columns)
    except UnreadableSchemaError as error:
        reason = str(error)

    def refuse(data: bytes) -> Row:
        raise UndecodableError(reason)

    return refuse
