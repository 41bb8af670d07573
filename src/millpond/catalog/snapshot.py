"""The whole catalog in memory at one version, with the maps that make its look-ups take no SQL.

A pull query looks its relations up on every request, so reads never touch the database: each commit
swaps in a new snapshot, and who holds an older one keeps a consistent view of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from millpond.catalog.model import (
    Database,
    DescriptorSource,
    EntityDescriptor,
    Index,
    PersistentQuery,
    QueryState,
    Relation,
    Schema,
    SchemaRegistry,
    Store,
)
from millpond.catalog.reader import CatalogReader

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything that the tables hold at `version`, except secrets. Fields are named after the tables."""

    version: int = 0
    databases: tuple[Database, ...] = ()
    schemas: tuple[Schema, ...] = ()
    stores: tuple[Store, ...] = ()
    schema_registries: tuple[SchemaRegistry, ...] = ()
    descriptor_sources: tuple[DescriptorSource, ...] = ()
    entity_descriptors: tuple[EntityDescriptor, ...] = ()
    relations: tuple[Relation, ...] = ()
    queries: tuple[PersistentQuery, ...] = ()
    indexes: tuple[Index, ...] = ()
    session_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)


def _grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, tuple[V, ...]]:
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in found.items()}


def _keyed(values: Iterable[V], key: Callable[[V], K]) -> dict[K, V]:
    return {key(value): value for value in values}


def _preference(query: PersistentQuery) -> tuple[bool, int, int]:
    """Of queries with one name the greatest is meant."""
    return query.state is not QueryState.TERMINATED, query.version, query.created_at


class Snapshot(CatalogReader):
    """The answers, from `Contents` of one version."""

    def __init__(self, contents: Contents) -> None:
        c = self.contents = contents
        self._databases = _keyed(c.databases, lambda d: d.name)
        self._schemas = _keyed(c.schemas, lambda s: (s.database, s.name))
        self._stores = _keyed(c.stores, lambda s: s.name)
        self._registries = _keyed(c.schema_registries, lambda r: r.name)
        self._descriptor_sources = _keyed(c.descriptor_sources, lambda d: d.name)
        self._entity_descriptors = _keyed(c.entity_descriptors, lambda d: (d.store, d.topic, d.part))
        self._relations = _keyed(c.relations, lambda r: (r.database, r.schema, r.name))
        self._relations_by_id = _keyed(c.relations, lambda r: r.id)
        self._on_topic = _grouped(((r.store, r.topic), r) for r in c.relations)
        self._queries = _keyed(c.queries, lambda q: q.id)
        self._named = _grouped((q.name, q) for q in c.queries)
        self._reading = _grouped((source, q) for q in c.queries for source in dict.fromkeys(q.sources))
        self._writing = _grouped((q.sink, q) for q in c.queries)
        self._indexes = _grouped((i.relation, i) for i in c.indexes)

    @property
    def version(self) -> int:
        return self.contents.version

    def databases(self) -> Sequence[Database]:
        return self.contents.databases

    def database(self, name: str) -> Database | None:
        return self._databases.get(name)

    def schemas(self, database: str | None = None) -> Sequence[Schema]:
        found = self.contents.schemas
        return found if database is None else tuple(s for s in found if s.database == database)

    def schema(self, database: str, name: str) -> Schema | None:
        return self._schemas.get((database, name))

    def stores(self) -> Sequence[Store]:
        return self.contents.stores

    def store(self, name: str) -> Store | None:
        return self._stores.get(name)

    def schema_registries(self) -> Sequence[SchemaRegistry]:
        return self.contents.schema_registries

    def schema_registry(self, name: str) -> SchemaRegistry | None:
        return self._registries.get(name)

    def descriptor_sources(self) -> Sequence[DescriptorSource]:
        return self.contents.descriptor_sources

    def descriptor_source(self, name: str) -> DescriptorSource | None:
        return self._descriptor_sources.get(name)

    def entity_descriptors(self) -> Sequence[EntityDescriptor]:
        return self.contents.entity_descriptors

    def entity_descriptor(self, store: str, topic: str, part: str) -> EntityDescriptor | None:
        return self._entity_descriptors.get((store, topic, part))

    def relations(self, database: str | None = None, schema: str | None = None) -> Sequence[Relation]:
        found = self.contents.relations
        if database is not None:
            found = tuple(r for r in found if r.database == database)
        return found if schema is None else tuple(r for r in found if r.schema == schema)

    def relation(self, database: str, schema: str, name: str) -> Relation | None:
        return self._relations.get((database, schema, name))

    def relation_by_id(self, relation_id: str) -> Relation | None:
        return self._relations_by_id.get(relation_id)

    def relations_on_topic(self, store: str, topic: str) -> Sequence[Relation]:
        return self._on_topic.get((store, topic), ())

    def queries(self) -> Sequence[PersistentQuery]:
        return self.contents.queries

    def query(self, query_id: str) -> PersistentQuery | None:
        return self._queries.get(query_id)

    def query_named(self, name: str, version: int | None = None) -> PersistentQuery | None:
        found = [q for q in self._named.get(name, ()) if version in (None, q.version)]
        return max(found, key=_preference, default=None)

    def queries_reading(self, relation_id: str) -> Sequence[PersistentQuery]:
        return self._reading.get(relation_id, ())

    def queries_writing(self, relation_id: str) -> Sequence[PersistentQuery]:
        return self._writing.get(relation_id, ())

    def indexes(self, relation_id: str | None = None) -> Sequence[Index]:
        return self.contents.indexes if relation_id is None else self._indexes.get(relation_id, ())

    def session_settings(self, session: str) -> Mapping[str, str]:
        return self.contents.session_settings.get(session, EMPTY)

    def defaults(self) -> Mapping[str, str]:
        return self.contents.defaults
