"""The tables of `deltastream.sys`: the catalog as rows, for SELECT."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from millpond.catalog.model import PersistentQuery, Relation, SchemaRegistry, Store
from millpond.catalog.reader import CatalogReader
from millpond.catalog.store_kinds import REGISTRY_KINDS, STORE_KINDS
from millpond.serve.facts import Facts, NoFacts, QueryEvent
from millpond.serve.shapes import instant, relation_type, shape
from millpond.types import Column

Row: TypeAlias = Sequence[Any]

DATABASE, SCHEMA = "deltastream", "sys"
"""Where the tables are found; nothing else can be made there."""


@dataclass(frozen=True, slots=True)
class SysTable:
    """Columns and rows of Python values, as in `Answer`."""

    columns: tuple[Column, ...]
    rows: list[Row]


def sys_tables(reader: CatalogReader, facts: Facts | None = None) -> Mapping[str, SysTable]:
    """Every table by its name, with the rows of now."""
    asked = facts or NoFacts()
    return {name: SysTable(columns, list(rows(reader, asked))) for name, (columns, rows) in TABLES.items()}


def _databases(reader: CatalogReader, _facts: Facts) -> Iterator[Row]:
    for database in reader.databases():
        yield database.name, database.owner, instant(database.created_at)


def _schemas(reader: CatalogReader, _facts: Facts) -> Iterator[Row]:
    for schema in reader.schemas():
        yield schema.database, schema.name, schema.owner, instant(schema.created_at)


def _stores(reader: CatalogReader, _facts: Facts) -> Iterator[Row]:
    for store in reader.stores():
        known = STORE_KINDS.get(store.type)
        kind = known.label if known else store.type.capitalize()
        yield store.name, kind, store.status, store.status_message, store.owner, *_times(store)


def _registries(reader: CatalogReader, _facts: Facts) -> Iterator[Row]:
    for r in reader.schema_registries():
        yield r.name, REGISTRY_KINDS[r.type].label, r.status, r.owner, *_times(r)


def _relations(reader: CatalogReader, _facts: Facts) -> Iterator[Row]:
    for r in reader.relations():
        named = (r.database, r.schema, r.name, r.fqn, relation_type(r), ", ".join(r.primary_key) or None)
        yield *named, r.state, r.owner, *_times(r), r.store, json.dumps(dict(r.properties)), r.description


def _relation_columns(reader: CatalogReader, _facts: Facts) -> Iterator[Row]:
    for r in reader.relations():
        for position, column in enumerate(r.columns, start=1):
            yield r.database, r.schema, r.name, column.name, str(column.type), column.nullable, position


def _queries(reader: CatalogReader, _facts: Facts) -> Iterator[Row]:
    for q in reader.queries():
        states = (q.intended_state.value, q.state.value)
        yield q.id, q.name, q.version, *states, q.owner, *_times(q), q.sql, q.mode, q.mode_reason, q.error


def _query_events(reader: CatalogReader, facts: Facts) -> Iterator[Row]:
    for query in reader.queries():
        for event in facts.query_history(query.id):
            yield _event(query, event)


def _event(query: PersistentQuery, event: QueryEvent) -> Row:
    return query.id, instant(event.at), event.state, "system", event.messages


def _nothing(_reader: CatalogReader, _facts: Facts) -> Iterator[Row]:
    return iter(())


def _times(thing: Store | SchemaRegistry | Relation | PersistentQuery) -> Row:
    return instant(thing.created_at), instant(thing.updated_at)


OWNED = "owner VARCHAR, created_at TIMESTAMP_LTZ(3)"
CHANGED = f"{OWNED}, updated_at TIMESTAMP_LTZ(3)"

TABLES: dict[str, tuple[tuple[Column, ...], Callable[[CatalogReader, Facts], Iterator[Row]]]] = {
    "databases": (shape(f"name VARCHAR, {OWNED}"), _databases),
    "schemas": (shape(f"database_name VARCHAR, name VARCHAR, {OWNED}"), _schemas),
    "stores": (
        shape(f"name VARCHAR, type VARCHAR, status VARCHAR, status_message VARCHAR, {CHANGED}"),
        _stores,
    ),
    "relations": (
        shape(
            "database_name VARCHAR, schema_name VARCHAR, name VARCHAR, fqn VARCHAR, relation_type VARCHAR,"
            f" primary_key VARCHAR, state VARCHAR, {CHANGED}, store_name VARCHAR, properties VARCHAR,"
            " description VARCHAR"
        ),
        _relations,
    ),
    "relation_columns": (
        shape(
            "database_name VARCHAR, schema_name VARCHAR, relation_name VARCHAR, name VARCHAR, type VARCHAR,"
            " nullable BOOLEAN, ordinal_position INTEGER"
        ),
        _relation_columns,
    ),
    "queries": (
        shape(
            "id VARCHAR, name VARCHAR, version INTEGER, intended_state VARCHAR, current_state VARCHAR,"
            f" {CHANGED}, sql VARCHAR, mode VARCHAR, mode_reason VARCHAR, error VARCHAR"
        ),
        _queries,
    ),
    "query_events": (
        shape("query_id VARCHAR, timestamp TIMESTAMP_LTZ(3), type VARCHAR, actor VARCHAR, messages VARCHAR"),
        _query_events,
    ),
    "schema_registries": (shape(f"name VARCHAR, type VARCHAR, status VARCHAR, {CHANGED}"), _registries),
    "secrets": (
        shape(f"name VARCHAR, type VARCHAR, description VARCHAR, status VARCHAR, {CHANGED}"),
        _nothing,
    ),
    "compute_pools": (
        shape(f"name VARCHAR, size VARCHAR, intended_state VARCHAR, current_state VARCHAR, {CHANGED}"),
        _nothing,
    ),
}
"""By name. The columns that clients ask for come first, in the order in which `SELECT *` has shown them."""
