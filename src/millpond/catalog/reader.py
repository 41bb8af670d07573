"""What a reader of the catalog may ask. Functions that only look things up take a `CatalogReader`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from millpond.catalog.model import (
    Database,
    DescriptorSource,
    EntityDescriptor,
    Index,
    PersistentQuery,
    Relation,
    Schema,
    SchemaRegistry,
    Store,
)


class CatalogReader(Protocol):
    """Look-ups by exact name or id; what is absent is None (`millpond.catalog.lookup` has the look-ups that
    raise).

    Lists are in the order of names, queries in the order of their creation.
    """

    @property
    def version(self) -> int:
        """Grows with each committed change, restarts included: what is computed from the catalog is cached
        by it."""
        ...

    def databases(self) -> Sequence[Database]: ...

    def database(self, name: str) -> Database | None: ...

    def schemas(self, database: str | None = None) -> Sequence[Schema]: ...

    def schema(self, database: str, name: str) -> Schema | None: ...

    def stores(self) -> Sequence[Store]: ...

    def store(self, name: str) -> Store | None: ...

    def schema_registries(self) -> Sequence[SchemaRegistry]: ...

    def schema_registry(self, name: str) -> SchemaRegistry | None: ...

    def descriptor_sources(self) -> Sequence[DescriptorSource]: ...

    def descriptor_source(self, name: str) -> DescriptorSource | None: ...

    def entity_descriptors(self) -> Sequence[EntityDescriptor]: ...

    def entity_descriptor(self, store: str, topic: str, part: str) -> EntityDescriptor | None: ...

    def relations(self, database: str | None = None, schema: str | None = None) -> Sequence[Relation]: ...

    def relation(self, database: str, schema: str, name: str) -> Relation | None: ...

    def relation_by_id(self, relation_id: str) -> Relation | None: ...

    def relations_on_topic(self, store: str, topic: str) -> Sequence[Relation]: ...

    def queries(self) -> Sequence[PersistentQuery]: ...

    def query(self, query_id: str) -> PersistentQuery | None: ...

    def query_named(self, name: str, version: int | None = None) -> PersistentQuery | None:
        """The query of that name: one that is not terminated if there is one, then the highest version."""
        ...

    def queries_reading(self, relation_id: str) -> Sequence[PersistentQuery]:
        """All queries, terminated ones too, that have the relation as a source."""
        ...

    def queries_writing(self, relation_id: str) -> Sequence[PersistentQuery]:
        """All queries, terminated ones too, that have the relation as their sink."""
        ...

    def indexes(self, relation_id: str | None = None) -> Sequence[Index]: ...

    def session_settings(self, session: str) -> Mapping[str, str]:
        """What SET has set in the session with this id; empty for a session that the catalog does not
        know."""
        ...

    def defaults(self) -> Mapping[str, str]:
        """What SET DEFAULT has set, by kind: database, schema, store, ..."""
        ...
