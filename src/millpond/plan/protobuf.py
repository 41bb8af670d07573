"""Relations in Protobuf: the messages that descriptors give, and whether columns fit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from millpond.catalog.lookup import existing_store
from millpond.catalog.model import Relation
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.protobuf_files import new_file, with_columns
from millpond.types import Column, StructType

PARTS = ("key", "value")


class DescriptorLookup(Protocol):
    """What the planner asks of the descriptor sources: `millpond.stores.descriptors.Descriptors`."""

    def find(self, name: str) -> tuple[str, str]: ...

    def columns(self, source: str, name: str) -> tuple[Column, ...]: ...

    def check(self, source: str, name: str, columns: Sequence[Column], written: bool) -> None: ...


class NoDescriptors:
    """There are no descriptor sources."""

    def find(self, name: str) -> tuple[str, str]:
        suggestion = "CREATE DESCRIPTOR_SOURCE brings the file that has it."
        raise MillpondError("DESCRIPTOR_NOT_FOUND", name=name, suggestion=suggestion)

    def columns(self, source: str, name: str) -> tuple[Column, ...]:
        raise MillpondError("DESCRIPTOR_SOURCE_NOT_FOUND", name=source, suggestion="LIST DESCRIPTOR_SOURCES;")

    def check(self, source: str, name: str, columns: Sequence[Column], written: bool) -> None:
        self.columns(source, name)


def with_descriptors(given: Mapping[str, Any], lookup: DescriptorLookup) -> dict[str, Any]:
    """`given` with the full names of the messages that its descriptor properties mean, and their sources.

    Raises DESCRIPTOR_NOT_FOUND, AMBIGUOUS_DESCRIPTOR.
    """
    found = dict(given)
    for part in PARTS:
        name = found.get(f"{part}.descriptor.name")
        if name is not None:
            found[f"{part}.descriptor.source"], found[f"{part}.descriptor.name"] = lookup.find(name)
    return found


def of_entity(given: Mapping[str, Any], store: str, topic: str, reader: CatalogReader) -> dict[str, Any]:
    """`given` with the messages of the entity, where it says Protobuf and names none itself."""
    found = dict(given)
    for part in PARTS:
        known = reader.entity_descriptor(store, topic, part)
        wanted = found.get(f"{part}.format") == "protobuf" and f"{part}.descriptor.name" not in found
        if wanted and known is not None:
            found |= {f"{part}.descriptor.name": known.message, f"{part}.descriptor.source": known.source}
    return found


def with_entity(relation: Relation, reader: CatalogReader) -> Relation:
    """The relation with the messages of its entity, if its formats are inherited."""
    formats = {"value.format": relation.value_format, "key.format": relation.key_format}
    found = of_entity({**relation.properties, **formats}, relation.store, relation.topic, reader)
    messages = {name: value for name, value in found.items() if ".descriptor." in name}
    return replace(relation, properties={**relation.properties, **messages})


def descriptor_of(source: Relation, part: str, record_format: str | None) -> dict[str, str]:
    """The properties of a relation whose keys or values are those of `source` as they are."""
    found = source.descriptor(part) if record_format == "protobuf" else None
    return {} if found is None else {f"{part}.descriptor.source": found[0], f"{part}.descriptor.name": found[1]}


def check_protobuf(relation: Relation, reader: CatalogReader, lookup: DescriptorLookup, written: bool) -> None:
    """Raises NO_SCHEMA_REGISTRY, NO_PROTOBUF_FORM, BAD_PROPERTY, BAD_KEY: for a relation that cannot be in Protobuf.

    `written`: a query writes it, so its columns must have fields that they can be written into.
    """
    value = [c for c in relation.columns if c.name not in relation.excluded_columns]
    for part, form, columns in (
        ("value", relation.value_format, value),
        ("key", relation.key_format, _key_columns(relation)),
    ):
        descriptor = relation.descriptor(part)
        if form != "protobuf":
            _refuse_descriptor(descriptor, part)
        elif descriptor is not None:
            lookup.check(*descriptor, columns, written)
        elif "schema_registry.name" not in existing_store(reader, relation.store).properties:
            raise MillpondError("NO_PROTOBUF_SCHEMA", store=relation.store, part=part)
        else:
            with_columns(new_file("any"), columns)


def _refuse_descriptor(descriptor: tuple[str, str] | None, part: str) -> None:
    if descriptor is not None:
        raise MillpondError(
            "BAD_PROPERTY",
            name=f"{part}.descriptor.name",
            value=descriptor[1],
            takes=f"a message's name where '{part}.format' is PROTOBUF",
        )


def _key_columns(relation: Relation) -> list[Column]:
    if relation.key_format != "protobuf" or relation.key_type is None:
        return []
    if not isinstance(relation.key_type, StructType):
        raise MillpondError(
            "BAD_KEY",
            name=relation.name,
            reason=f"{relation.key_type} is not a message, as a key in Protobuf is",
            instead="Use 'key.type' = 'STRUCT<...>', or 'key.format' = 'primitive'.",
        )
    return [Column(f.name, f.type) for f in relation.key_type.fields]
