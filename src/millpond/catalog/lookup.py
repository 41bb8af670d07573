"""Look-ups that raise a not-found error, with the nearest known name, instead of answering None."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

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

T = TypeVar("T")


def there(found: T | None, missing: Callable[[], MillpondError]) -> T:
    """`found`, if it was found. Raises what `missing` makes."""
    if found is None:
        raise missing()
    return found


def existing_database(reader: CatalogReader, name: str) -> Database:
    """Raises DATABASE_NOT_FOUND."""
    return there(reader.database(name), lambda: no_database(reader, name))


def existing_schema(reader: CatalogReader, database: str, name: str) -> Schema:
    """Raises SCHEMA_NOT_FOUND, or DATABASE_NOT_FOUND if there is not even its database."""
    existing_database(reader, database)
    return there(reader.schema(database, name), lambda: no_schema(reader, database, name))


def existing_store(reader: CatalogReader, name: str) -> Store:
    """Raises STORE_NOT_FOUND."""
    return there(reader.store(name), lambda: no_store(reader, name))


def existing_registry(reader: CatalogReader, name: str) -> SchemaRegistry:
    """Raises REGISTRY_NOT_FOUND."""
    return there(reader.schema_registry(name), lambda: no_registry(reader, name))


def existing_descriptor_source(reader: CatalogReader, name: str) -> DescriptorSource:
    """Raises DESCRIPTOR_SOURCE_NOT_FOUND."""
    return there(reader.descriptor_source(name), lambda: no_descriptor_source(reader, name))


def existing_relation(reader: CatalogReader, relation_id: str) -> Relation:
    """The relation with that id. Raises RELATION_NOT_FOUND."""
    return there(reader.relation_by_id(relation_id), lambda: no_relation(relation_id, reader.relations()))


def existing_query(reader: CatalogReader, query_id: str) -> PersistentQuery:
    """The query with that id. Raises QUERY_NOT_FOUND."""
    return there(reader.query(query_id), lambda: no_query(reader, query_id))


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
