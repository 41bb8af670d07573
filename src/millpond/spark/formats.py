"""The formats of a relation's keys and values, with what the JVM side needs to read or write them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from millpond.catalog.model import Relation
from millpond.protobuf_types import Message
from millpond.spark.codec import RecordFormat
from millpond.spark.run import Run
from millpond.stores.codecs import Codecs
from millpond.stores.schemas import Schemas, subject_of
from millpond.types import Column


def read_format(relation: Relation, part: str, run: Run) -> RecordFormat:
    """That of the keys or values (`part`) of a relation that is read.

    Raises NO_SCHEMA_REGISTRY, DESCRIPTOR_SOURCE_NOT_FOUND.
    """
    form = relation.part_format(part)
    match form:
        case "avro":
            return RecordFormat(form, run.registry(relation.store, form).java_options())
        case "protobuf":
            return RecordFormat(form, _read_message(relation, part, run))
        case "delimited":
            return RecordFormat(form, {"delimiter": relation.delimiter(part)})
    return RecordFormat(form)


def written_format(relation: Relation, part: str, columns: Sequence[Column], run: Run) -> RecordFormat:
    """That of the keys or values of a relation that is written; a registry has their schema from now on.

    Raises NO_SCHEMA_REGISTRY, REGISTRY_*, SCHEMA_REFUSED, DESCRIPTOR_SOURCE_NOT_FOUND.
    """
    form = relation.part_format(part)
    text = {"timestamp.format": relation.timestamp_format}
    match form:
        case "avro" | "protobuf":
            with _codecs(relation, run) as codecs:
                return RecordFormat(form, _written_schema(codecs, relation, part, tuple(columns)))
        case "delimited":
            return RecordFormat(form, {**text, "delimiter": relation.delimiter(part)})
    return RecordFormat(form, text)


def _read_message(relation: Relation, part: str, run: Run) -> Mapping[str, str]:
    with _codecs(relation, run) as codecs:
        message = codecs.message(relation, part)
    return run.registry(relation.store, "protobuf").java_options() if message is None else _settings(message)


def _written_schema(codecs: Codecs, relation: Relation, part: str, columns: tuple[Column, ...]) -> dict[str, str]:
    form, subject = relation.part_format(part), subject_of(relation.topic, part)
    if form == "avro":
        return {"schema.id": str(codecs.schemas(form).register(subject, columns))}
    message = codecs.message(relation, part)
    if message is not None:
        return _settings(message)
    written = codecs.schemas(form).protobuf.register(subject, columns)
    return {**_settings(written.message), "schema.id": str(written.schema_id)}


def _settings(message: Message) -> dict[str, str]:
    return {"protobuf.files": base64.b64encode(message.files).decode(), "protobuf.message": message.name}


@contextmanager
def _codecs(relation: Relation, run: Run) -> Iterator[Codecs]:
    access = run.stores[relation.store]
    schemas = None if access.registry is None else Schemas(access.registry)
    try:
        yield Codecs(relation.store, schemas, access.descriptor_file)
    finally:
        if schemas is not None:
            schemas.close()
