"""Formats that need a schema registry: what is asked of it while a statement is planned, and what it is told after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from millpond.avro_types import avro_schema
from millpond.catalog.lookup import existing_store
from millpond.catalog.model import Relation, RelationKind
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.nodes import Kind, Sink
from millpond.plan.protobuf import DescriptorLookup
from millpond.plan.stages import RegisterSchema
from millpond.types import Column, StructType

ColumnLookup = Callable[[str, str, str, str], tuple[Column, ...]]
"""(store, topic, key or value, format) -> the columns that the store's registry knows."""


def check_schemas(relation: Relation, reader: CatalogReader) -> None:
    """Raises NO_SCHEMA_REGISTRY, NO_AVRO_FORM: for a relation in Avro whose store or columns do not allow it."""
    if "avro" not in (relation.value_format, relation.key_format):
        return
    if "schema_registry.name" not in existing_store(reader, relation.store).properties:
        raise MillpondError("NO_SCHEMA_REGISTRY", store=relation.store, format="avro")
    if relation.value_format == "avro":
        avro_schema([c for c in relation.columns if c.name not in relation.excluded_columns])
    if relation.key_format == "avro" and isinstance(relation.key_type, StructType):
        avro_schema([Column(f.name, f.type) for f in relation.key_type.fields])


def sink_schemas(sink: Sink) -> tuple[RegisterSchema, ...]:
    """What a query's sink writes by. Keys that go through as they are keep the schemas that they have."""
    relation, stages = sink.relation, []
    if relation.kind is RelationKind.VIEW:
        return ()
    if _registers(relation, "value"):
        carried = tuple(c for c in relation.columns if c.name not in sink.exclude)
        stages.append(RegisterSchema(relation.store, f"{relation.topic}-value", carried, relation.value_format))
    if _registers(relation, "key") and (sink.key or sink.kind is Kind.UPSERT):
        types = {c.name: c for c in sink.input.columns}
        key = tuple(types[name] for name in sink.key)
        stages.append(RegisterSchema(relation.store, f"{relation.topic}-key", key, relation.part_format("key")))
    return tuple(stages)


def _registers(relation: Relation, part: str) -> bool:
    form = relation.part_format(part)
    return form == "avro" or (form == "protobuf" and relation.descriptor(part) is None)


def inferred_columns(
    name: str, given: Mapping[str, Any], lookup: ColumnLookup, descriptors: DescriptorLookup
) -> tuple[Column, ...]:
    """The columns of a relation that lists none: those of its values' descriptor, else of their newest schema.

    Raises UNSUPPORTED for a format without schemas, RESERVED_NAME, and what the registry or the descriptor raises.
    """
    form = given.get("value.format")
    if form not in ("avro", "protobuf"):
        raise MillpondError(
            "UNSUPPORTED",
            feature="A relation without columns in a format without schemas",
            instead="List the columns and their types, or use 'value.format' = 'avro' or 'protobuf'.",
        )
    if form == "protobuf" and "value.descriptor.name" in given:
        columns = descriptors.columns(given["value.descriptor.source"], given["value.descriptor.name"])
    else:
        columns = lookup(given["store"], given.get("topic") or name.lower(), "value", form)
    for column in columns:
        if column.name.startswith("_"):
            raise MillpondError("RESERVED_NAME", name=column.name)
    return columns
