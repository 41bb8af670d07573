"""Relations in Protobuf: the messages that descriptors give, and whether columns fit them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millpond.avro_types import UnreadableSchemaError
from millpond.catalog.lookup import existing_store
from millpond.catalog.model import Relation
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.protobuf_files import new_file, with_columns
from millpond.protobuf_types import Message, columns_of, described, field_of
from millpond.stores.formats.protobuf_reader import misfit
from millpond.stores.formats.protobuf_writer import check_writable
from millpond.types import Column, StructType

DescriptorLookup = Callable[[str], tuple[str, Message]]
"""The name of a message -> its descriptor source, and the message. Raises DESCRIPTOR_NOT_FOUND, AMBIGUOUS_DESCRIPTOR."""

PARTS = ("key", "value")


def with_descriptors(given: Mapping[str, Any], lookup: DescriptorLookup) -> dict[str, Any]:
    """`given` with the full names of the messages that its descriptor properties mean, and their sources."""
    found = dict(given)
    for part in PARTS:
        name = found.get(f"{part}.descriptor.name")
        if name is not None:
            source, message = lookup(name)
            found |= {f"{part}.descriptor.name": message.name, f"{part}.descriptor.source": source}
    return found


def descriptor_columns(name: str, lookup: DescriptorLookup) -> tuple[Column, ...]:
    """The columns of a descriptor's message. Raises SCHEMA_NOT_READABLE."""
    try:
        return columns_of(lookup(name)[1])
    except UnreadableSchemaError as error:
        raise MillpondError("SCHEMA_NOT_READABLE", subject=name, reason=str(error)) from None


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
            _check_message(lookup(".".join(descriptor))[1], columns, written)
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


def _check_message(message: Message, columns: Sequence[Column], written: bool) -> None:
    if written and columns:
        check_writable(message, columns)
    for column in columns:
        field = field_of(described(message), column.name)
        reason = None if field is None else misfit(field, column.type)
        if reason:
            raise MillpondError("NO_PROTOBUF_FORM", column=column.name, type=str(column.type), reason=reason)
