"""A reader whose answers follow the commits: each question goes to the snapshot of that moment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

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
from millpond.catalog.reader import CatalogReader
from millpond.catalog.snapshot import Snapshot


class CurrentReader(CatalogReader, ABC):
    """Answers from `snapshot`. Who asks several questions that must agree takes the snapshot once and asks
    that."""

    @property
    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The catalog as it is now; never changes once given."""

    @property
    def version(self) -> int:
        return self.snapshot.version

    def databases(self) -> Sequence[Database]:
        return self.snapshot.databases()

    def database(self, name: str) -> Database | None:
        return self.snapshot.database(name)

    def schemas(self, database: str | None = None) -> Sequence[Schema]:
        return self.snapshot.schemas(database)

    def schema(self, database: str, name: str) -> Schema | None:
        return self.snapshot.schema(database, name)

    def stores(self) -> Sequence[Store]:
        return self.snapshot.stores()

    def store(self, name: str) -> Store | None:
        return self.snapshot.store(name)

    def schema_registries(self) -> Sequence[SchemaRegistry]:
        return self.snapshot.schema_registries()

    def schema_registry(self, name: str) -> SchemaRegistry | None:
        return self.snapshot.schema_registry(name)

    def descriptor_sources(self) -> Sequence[DescriptorSource]:
        return self.snapshot.descriptor_sources()

    def descriptor_source(self, name: str) -> DescriptorSource | None:
        return self.snapshot.descriptor_source(name)

    def entity_descriptors(self) -> Sequence[EntityDescriptor]:
        return self.snapshot.entity_descriptors()

    def entity_descriptor(self, store: str, topic: str, part: str) -> EntityDescriptor | None:
        return self.snapshot.entity_descriptor(store, topic, part)

    def relations(self, database: str | None = None, schema: str | None = None) -> Sequence[Relation]:
        return self.snapshot.relations(database, schema)

    def relation(self, database: str, schema: str, name: str) -> Relation | None:
        return self.snapshot.relation(database, schema, name)

    def relation_by_id(self, relation_id: str) -> Relation | None:
        return self.snapshot.relation_by_id(relation_id)

    def relations_on_topic(self, store: str, topic: str) -> Sequence[Relation]:
        return self.snapshot.relations_on_topic(store, topic)

    def queries(self) -> Sequence[PersistentQuery]:
        return self.snapshot.queries()

    def query(self, query_id: str) -> PersistentQuery | None:
        return self.snapshot.query(query_id)

    def query_named(self, name: str, version: int | None = None) -> PersistentQuery | None:
        return self.snapshot.query_named(name, version)

    def queries_reading(self, relation_id: str) -> Sequence[PersistentQuery]:
        return self.snapshot.queries_reading(relation_id)

    def queries_writing(self, relation_id: str) -> Sequence[PersistentQuery]:
        return self.snapshot.queries_writing(relation_id)

    def indexes(self, relation_id: str | None = None) -> Sequence[Index]:
        return self.snapshot.indexes(relation_id)

    def session_settings(self, session: str) -> Mapping[str, str]:
        return self.snapshot.session_settings(session)

    def defaults(self) -> Mapping[str, str]:
        return self.snapshot.defaults()
