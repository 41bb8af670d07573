"""Formats that need a schema registry: what is asked of it while a statement is planned, and what it is told after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from millpond.avro_types import avro_schema
from millpond.catalog.lookup import existing_store
from millpond.catalog.model import WITH_SCHEMAS, Relation, RelationKind
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.nodes import Kind, Sink
from millpond.plan.protobuf import DescriptorLookup
from millpond.plan.stages import RegisterSchema
from millpond.types import Column, Field, StructType

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


@dataclass(frozen=True, slots=True)
class Inferred:
    """What a topic's schemas say of a relation that lists no columns; `given` are its properties from then on."""

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    given: Mapping[str, Any]


def inferred(
    kind: RelationKind, name: str, given: Mapping[str, Any], lookup: ColumnLookup, descriptors: DescriptorLookup
) -> Inferred:
    """The columns of its values' descriptor, else of their newest schema, and the key likewise if it has such a format.

    A changelog's PRIMARY KEY are the key's columns; those that the values do not have come from the key alone.
    Raises UNSUPPORTED for a format without schemas, BAD_KEY, RESERVED_NAME, what the registry or the descriptor raises.
    """
    form = given.get("value.format")
    if form not in WITH_SCHEMAS:
        raise MillpondError(
            "UNSUPPORTED",
            feature="A relation without columns in a format without schemas",
            instead="List the columns and their types, or use 'value.format' = 'avro' or 'protobuf'.",
        )
    key_known = given.get("key.format") in WITH_SCHEMAS and "key.type" not in given
    if kind is RelationKind.CHANGELOG and not key_known:
        raise MillpondError(
            "BAD_KEY",
            name=name,
            reason="a changelog needs a PRIMARY KEY, which only a schema of its keys could tell",
            instead=f"Say 'key.format' = '{form}' without 'key.type', or list the columns with PRIMARY KEY (column).",
        )
    topic = given.get("topic") or name.lower()
    columns = _part_columns("value", topic, given, lookup, descriptors)
    if not key_known:
        return Inferred(_unreserved(columns), (), given)
    key = _part_columns("key", topic, given, lookup, descriptors)
    if kind is RelationKind.STREAM:
        key_type = StructType(fields=tuple(Field(c.name, c.type) for c in key))
        return Inferred(_unreserved(columns), (), {**given, "key.type": str(key_type)})
    carried = {c.name for c in columns}
    outside = tuple(c for c in key if c.name not in carried)
    excluded = {"value.columns.exclude": tuple(c.name for c in outside)} if outside else {}
    return Inferred(_unreserved((*outside, *columns)), tuple(c.name for c in key), {**given, **excluded})


def _part_columns(
    part: str, topic: str, given: Mapping[str, Any], lookup: ColumnLookup, descriptors: DescriptorLookup
) -> tuple[Column, ...]:
    form = given[f"{part}.format"]
    if form == "protobuf" and f"{part}.descriptor.name" in given:
        return descriptors.columns(given[f"{part}.descriptor.source"], given[f"{part}.descriptor.name"])
    return lookup(given["store"], topic, part, form)


def _unreserved(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    for column in columns:
        if column.name.startswith("_"):
            raise MillpondError("RESERVED_NAME", name=column.name)
    return columns
