"""Catalog values to rows of `tables` and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

from sqlalchemy import RowMapping

from millpond.catalog.model import (
    Database,
    DescriptorSource,
    EntityDescriptor,
    Index,
    PersistentQuery,
    QueryState,
    Relation,
    RelationKind,
    Schema,
    SchemaRegistry,
    Store,
)
from millpond.type_text import read_type
from millpond.types import Column

Row = dict[str, Any]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def plain_row(entry: Any) -> Row:
    """The fields of a catalog value, as they are."""
    return {f.name: getattr(entry, f.name) for f in fields(entry)}


def _names(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def _mapping(text: str) -> Mapping[str, str]:
    found: Mapping[str, str] = json.loads(text)
    return found


def columns_text(columns: Iterable[Column]) -> str:
    """Columns as JSON: ``[["visits","BIGINT",true]]``."""
    return _json([(c.name, str(c.type), c.nullable) for c in columns])


@lru_cache(maxsize=4096)
def read_columns(text: str) -> tuple[Column, ...]:
    """The inverse of `columns_text`; cached, because each commit reads the relations anew."""
    return tuple(Column(name, read_type(spelling), nullable) for name, spelling, nullable in json.loads(text))


def store_row(store: Store) -> Row:
    return plain_row(store) | {"properties": _json(dict(store.properties))}


def registry_row(registry: SchemaRegistry) -> Row:
    return plain_row(registry) | {"properties": _json(dict(registry.properties))}


def relation_row(relation: Relation) -> Row:
    return plain_row(relation) | {
        "kind": relation.kind.value,
        "columns": columns_text(relation.columns),
        "primary_key": _json(relation.primary_key),
        "key_type": None if relation.key_type is None else str(relation.key_type),
        "key_columns": _json(relation.key_columns),
        "properties": _json(dict(relation.properties)),
    }


def query_row(query: PersistentQuery) -> Row:
    return plain_row(query) | {
        "sources": _json(query.sources),
        "intended_state": query.intended_state.value,
        "state": query.state.value,
        "properties": _json(dict(query.properties)),
    }


def index_row(index: Index) -> Row:
    return plain_row(index) | {"columns": _json(index.columns)}


def read_database(row: RowMapping) -> Database:
    return Database(**row)


def read_schema(row: RowMapping) -> Schema:
    return Schema(**row)


def read_store(row: RowMapping) -> Store:
    return Store(**{**row, "properties": _mapping(row["properties"])})


def read_registry(row: RowMapping) -> SchemaRegistry:
    return SchemaRegistry(**{**row, "properties": _mapping(row["properties"])})


def read_descriptor_source(row: RowMapping) -> DescriptorSource:
    return DescriptorSource(**row)


def read_entity_descriptor(row: RowMapping) -> EntityDescriptor:
    return EntityDescriptor(**row)


def read_relation(row: RowMapping) -> Relation:
    parsed = {
        "kind": RelationKind(row["kind"]),
        "columns": read_columns(row["columns"]),
        "primary_key": _names(row["primary_key"]),
        "key_type": None if row["key_type"] is None else read_type(row["key_type"]),
        "key_columns": _names(row["key_columns"]),
        "properties": _mapping(row["properties"]),
    }
    return Relation(**{**row, **parsed})


def read_query(row: RowMapping) -> PersistentQuery:
    parsed = {
        "sources": _names(row["sources"]),
        "intended_state": QueryState(row["intended_state"]),
        "state": QueryState(row["state"]),
        "properties": _mapping(row["properties"]),
    }
    return PersistentQuery(**{**row, **parsed})


def read_index(row: RowMapping) -> Index:
    return Index(**{**row, "columns": _names(row["columns"])})
