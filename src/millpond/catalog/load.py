"""The tables into `Contents`: all of them when the catalog is opened, then the ones that a write has
touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from sqlalchemy import Connection, RowMapping, Table, select

from millpond.catalog import rows, tables
from millpond.catalog.snapshot import Contents

V = TypeVar("V")


def load_tables(connection: Connection, names: Iterable[str], contents: Contents) -> Contents:
    """`contents` with the tables of these names read anew."""
    return replace(contents, **{name: LOADERS[name](connection) for name in names})


def load_all(connection: Connection) -> Contents:
    version = connection.execute(select(tables.catalog_version.c.version)).scalar_one()
    return load_tables(connection, LOADERS, Contents(version))


def _rows(table: Table, read: Callable[[RowMapping], V], *order: str) -> Callable[[Connection], tuple[V, ...]]:
    query = select(table).order_by(*(table.c[name] for name in order))
    return lambda connection: tuple(read(row) for row in connection.execute(query).mappings())


def _load_session_settings(connection: Connection) -> Mapping[str, Mapping[str, str]]:
    table = tables.session_settings
    found: dict[str, dict[str, str]] = {}
    for session, key, value in connection.execute(select(table).order_by(table.c.session, table.c.key)):
        found.setdefault(session, {})[key] = value
    return found


def _load_defaults(connection: Connection) -> Mapping[str, str]:
    return {row.kind: row.name for row in connection.execute(select(tables.defaults))}


LOADERS: dict[str, Callable[[Connection], Any]] = {
    "databases": _rows(tables.databases, rows.read_database, "name"),
    "schemas": _rows(tables.schemas, rows.read_schema, "database", "name"),
    "stores": _rows(tables.stores, rows.read_store, "name"),
    "schema_registries": _rows(tables.schema_registries, rows.read_registry, "name"),
    "descriptor_sources": _rows(tables.descriptor_sources, rows.read_descriptor_source, "name"),
    "entity_descriptors": _rows(tables.entity_descriptors, rows.read_entity_descriptor, "store", "topic", "part"),
    "relations": _rows(tables.relations, rows.read_relation, "database", "schema", "name"),
    "queries": _rows(tables.queries, rows.read_query, "created_at", "id"),
    "indexes": _rows(tables.indexes, rows.read_index, "relation", "name"),
    "session_settings": _load_session_settings,
    "defaults": _load_defaults,
}
"""By the field of `Contents` that the loader fills."""
