"""Look-ups that raise a not-found error, with the nearest known name, instead of answering None."""

from __future__ import annotations

from collections.abc import Iterable

from millpond.catalog.model import (
    Database,
    DescriptorSource,
    Index,
    PersistentQuery,
    Relation,
    Schema,
    SchemaRegistry,
    Store,
)
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.suggestion import suggestion


def existing_database(reader: CatalogReader, name: str) -> Database:
    """Raises DATABASE_NOT_FOUND."""
    found = reader.database(name)
    if found is None:
        raise no_database(reader, name)
    return found


def existing_schema(reader: CatalogReader, database: str, name: str) -> Schema:
    """Raises SCHEMA_NOT_FOUND, or DATABASE_NOT_FOUND if there is not even its database."""
    existing_database(reader, database)
    found = reader.schema(database, name)
    if found is None:
        raise no_schema(reader, database, name)
    return found


def existing_store(reader: CatalogReader, name: str) -> Store:
    """Raises STORE_NOT_FOUND."""
    found = reader.store(name)
    if found is None:
        raise no_store(reader, name)
    return found


def existing_registry(reader: CatalogReader, name: str) -> SchemaRegistry:
    """Raises REGISTRY_NOT_FOUND."""
    found = reader.schema_registry(name)
    if found is None:
        raise no_registry(reader, name)
    return found


def existing_descriptor_source(reader: CatalogReader, name: str) -> DescriptorSource:
    """Raises DESCRIPTOR_SOURCE_NOT_FOUND."""
    found = reader.descriptor_source(name)
    if found is None:
        raise no_descriptor_source(reader, name)
    return found


def existing_relation(reader: CatalogReader, relation_id: str) -> Relation:
    """The relation with that id. Raises RELATION_NOT_FOUND."""
    found = reader.relation_by_id(relation_id)
    if found is None:
        raise no_relation(relation_id, reader.relations())
    return found


def existing_query(reader: CatalogReader, query_id: str) -> PersistentQuery:
    """The query with that id. Raises QUERY_NOT_FOUND."""
    found = reader.query(query_id)
    if found is None:
        raise no_query(reader, query_id)
    return found


def no_database(reader: CatalogReader, name: str) -> MillpondError:
    known = (d.name for d in reader.databases())
    next_step = suggestion(name, known, "LIST DATABASES; shows those that there are.")
    return MillpondError("DATABASE_NOT_FOUND", name=name, suggestion=next_step)


def no_schema(reader: CatalogReader, database: str, name: str) -> MillpondError:
    known = (s.name for s in reader.schemas(database))
    next_step = suggestion(name, known, f'LIST SCHEMAS IN DATABASE "{database}"; shows those that there are.')
    return MillpondError("SCHEMA_NOT_FOUND", name=name, database=database, suggestion=next_step)


def no_store(reader: CatalogReader, name: str) -> MillpondError:
    known = (s.name for s in reader.stores())
    next_step = suggestion(name, known, "LIST STORES; shows those that there are.")
    return MillpondError("STORE_NOT_FOUND", name=name, suggestion=next_step)


def no_registry(reader: CatalogReader, name: str) -> MillpondError:
    known = (r.name for r in reader.schema_registries())
    next_step = suggestion(name, known, "LIST SCHEMA_REGISTRIES; shows those that there are.")
    return MillpondError("REGISTRY_NOT_FOUND", name=name, suggestion=next_step)


def no_descriptor_source(reader: CatalogReader, name: str) -> MillpondError:
    known = (d.name for d in reader.descriptor_sources())
    next_step = suggestion(name, known, "LIST DESCRIPTOR_SOURCES; shows those that there are.")
    return MillpondError("DESCRIPTOR_SOURCE_NOT_FOUND", name=name, suggestion=next_step)


def no_relation(name: str, known: Iterable[Relation]) -> MillpondError:
    """`known` are the relations among which `name` was looked for."""
    last = name.rpartition(".")[2]
    next_step = suggestion(last, (r.name for r in known), "LIST RELATIONS; shows those that there are.")
    return MillpondError("RELATION_NOT_FOUND", name=name, suggestion=next_step)


def no_query(reader: CatalogReader, name: str) -> MillpondError:
    sinks = {r.id: r.name for r in reader.relations()}
    known = [known for q in reader.queries() for known in (q.id, q.name, sinks.get(q.sink)) if known]
    next_step = suggestion(name, known, "LIST QUERIES; shows those that there are.")
    return MillpondError("QUERY_NOT_FOUND", name=name, suggestion=next_step)


def no_index(name: str, known: Iterable[Index]) -> MillpondError:
    """`known` are the indexes among which `name` was looked for."""
    next_step = suggestion(name, (i.name for i in known), "LIST INDEXES; shows those that there are.")
    return MillpondError("INDEX_NOT_FOUND", name=name, suggestion=next_step)
