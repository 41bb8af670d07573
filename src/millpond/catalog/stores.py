"""The part of the catalog about what lies outside: stores, schema registries and descriptor sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from sqlalchemy import ColumnElement, Engine, Table, and_, delete, insert, select, update

from millpond.catalog import rows, tables
from millpond.catalog.dependents import refuse_used_descriptors, refuse_used_registry, refuse_used_store
from millpond.catalog.lookup import existing_descriptor_source, existing_registry, existing_store
from millpond.catalog.model import (
    DescriptorSource,
    EntityDescriptor,
    PersistentQuery,
    Relation,
    SchemaRegistry,
    Secrets,
    Store,
)
from millpond.catalog.secret_box import SecretBox
from millpond.catalog.transactions import TransactionalReader
from millpond.errors import MillpondError

Dated = TypeVar("Dated", Store, Relation, PersistentQuery, SchemaRegistry, DescriptorSource)


def _of_entity(store: str, topic: str, part: str) -> ColumnElement[bool]:
    c = tables.entity_descriptors.c
    return and_(c.store == store, c.topic == topic, c.part == part)


class StoreCatalog(TransactionalReader):
    """Writes stores and their like. Secrets are sealed in tables of their own, which no snapshot holds."""

    def __init__(self, engine: Engine, box: SecretBox, clock: Callable[[], int]) -> None:
        super().__init__(engine)
        self._box = box
        self._clock = clock

    # --- stores ---

    def create_store(self, store: Store, secrets: Mapping[str, str] | None = None) -> Store:
        """Raises DUPLICATE_STORE."""
        with self._writing("stores") as connection:
            if self.store(store.name) is not None:
                raise MillpondError("DUPLICATE_STORE", name=store.name)
            made = self._dated(store)
            connection.execute(insert(tables.stores).values(rows.store_row(made)))
            self._seal(tables.store_secrets, store.name, secrets or {})
        return made

    def update_store(self, store: Store, secrets: Mapping[str, str] | None = None) -> Store:
        """Replace the store of that name; its secrets too, unless they are None. Raises STORE_NOT_FOUND."""
        with self._writing("stores") as connection:
            existing_store(self, store.name)
            changed = replace(store, updated_at=self._clock())
            where = tables.stores.c.name == store.name
            connection.execute(update(tables.stores).where(where).values(rows.store_row(changed)))
            if secrets is not None:
                self._seal(tables.store_secrets, store.name, secrets)
        return changed

    def drop_store(self, name: str) -> None:
        """With its secrets. Raises STORE_NOT_FOUND, DEPENDENTS_EXIST if relations are on it or queries need it."""
        with self._writing("stores") as connection:
            existing_store(self, name)
            refuse_used_store(self, name)
            self._seal(tables.store_secrets, name, {})
            self._forget_descriptors(tables.entity_descriptors.c.store == name)
            connection.execute(delete(tables.stores).where(tables.stores.c.name == name))

    def store_secrets(self, name: str) -> Secrets:
        """The properties of the store that are secret; never to be shown. Raises STORE_NOT_FOUND,
        SECRETS_UNREADABLE."""
        existing_store(self, name)
        return self._unseal(tables.store_secrets, "store", name)

    # --- schema registries ---

    def create_registry(self, registry: SchemaRegistry, secrets: Mapping[str, str] | None = None) -> SchemaRegistry:
        """Raises DUPLICATE_REGISTRY."""
        with self._writing("schema_registries") as connection:
            if self.schema_registry(registry.name) is not None:
                raise MillpondError("DUPLICATE_REGISTRY", name=registry.name)
            made = self._dated(registry)
            connection.execute(insert(tables.schema_registries).values(rows.registry_row(made)))
            self._seal(tables.registry_secrets, registry.name, secrets or {})
        return made

    def update_registry(self, registry: SchemaRegistry, secrets: Mapping[str, str]) -> SchemaRegistry:
        """Replace the registry of that name and its secrets. Raises REGISTRY_NOT_FOUND."""
        table = tables.schema_registries
        with self._writing("schema_registries") as connection:
            existing_registry(self, registry.name)
            changed = replace(registry, updated_at=self._clock())
            where = table.c.name == registry.name
            connection.execute(update(table).where(where).values(rows.registry_row(changed)))
            self._seal(tables.registry_secrets, registry.name, secrets)
        return changed

    def drop_registry(self, name: str) -> None:
        """With its secrets. Raises REGISTRY_NOT_FOUND, DEPENDENTS_EXIST while a store is attached to it."""
        table = tables.schema_registries
        with self._writing("schema_registries") as connection:
            existing_registry(self, name)
            refuse_used_registry(self, name)
            self._seal(tables.registry_secrets, name, {})
            connection.execute(delete(table).where(table.c.name == name))

    def registry_secrets(self, name: str) -> Secrets:
        """The properties of the registry that are secret. Raises REGISTRY_NOT_FOUND, SECRETS_UNREADABLE."""
        existing_registry(self, name)
        return self._unseal(tables.registry_secrets, "schema registry", name)

    # --- descriptor sources ---

    def create_descriptor_source(self, source: DescriptorSource, content: bytes) -> DescriptorSource:
        """Raises DUPLICATE_DESCRIPTOR_SOURCE."""
        with self._writing("descriptor_sources") as connection:
            if self.descriptor_source(source.name) is not None:
                raise MillpondError("DUPLICATE_DESCRIPTOR_SOURCE", name=source.name)
            made = self._dated(source)
            connection.execute(insert(tables.descriptor_sources).values(rows.plain_row(made)))
            connection.execute(insert(tables.descriptor_files).values(source=source.name, content=content))
        return made

    def drop_descriptor_source(self, name: str) -> None:
        """With its file. Raises DESCRIPTOR_SOURCE_NOT_FOUND, DEPENDENTS_EXIST while relations name its messages."""
        with self._writing("descriptor_sources") as connection:
            existing_descriptor_source(self, name)
            refuse_used_descriptors(self, name)
            connection.execute(delete(tables.descriptor_files).where(tables.descriptor_files.c.source == name))
            connection.execute(delete(tables.descriptor_sources).where(tables.descriptor_sources.c.name == name))

    def descriptor_file(self, name: str) -> bytes:
        """The compiled descriptor set. Raises DESCRIPTOR_SOURCE_NOT_FOUND."""
        existing_descriptor_source(self, name)
        table = tables.descriptor_files
        with self._connected() as connection:
            content: bytes = connection.execute(select(table.c.content).where(table.c.source == name)).scalar_one()
        return content

    # --- what messages entities are ---

    def set_entity_descriptor(self, descriptor: EntityDescriptor) -> None:
        """Instead of the one that the entity has. Raises STORE_NOT_FOUND, DESCRIPTOR_SOURCE_NOT_FOUND."""
        existing_store(self, descriptor.store)
        existing_descriptor_source(self, descriptor.source)
        with self._writing("entity_descriptors") as connection:
            self._forget_descriptors(_of_entity(descriptor.store, descriptor.topic, descriptor.part))
            connection.execute(insert(tables.entity_descriptors).values(rows.plain_row(descriptor)))

    def drop_entity_descriptor(self, store: str, topic: str, part: str) -> None:
        """No error if there is none."""
        with self._writing("entity_descriptors"):
            self._forget_descriptors(_of_entity(store, topic, part))

    def _forget_descriptors(self, where: ColumnElement[bool]) -> None:
        with self._writing("entity_descriptors") as connection:
            connection.execute(delete(tables.entity_descriptors).where(where))

    # --- all of them ---

    def _seal(self, table: Table, owner: str, secrets: Mapping[str, str]) -> None:
        """Replace what `table` (owner, sealed) keeps for `owner`."""
        key, _ = table.c
        with self._connected() as connection:
            connection.execute(delete(table).where(key == owner))
            if secrets:
                connection.execute(insert(table).values({key.name: owner, "sealed": self._box.seal(secrets)}))

    def _unseal(self, table: Table, what: str, owner: str) -> Secrets:
        key, sealed = table.c
        with self._connected() as connection:
            found = connection.execute(select(sealed).where(key == owner)).scalar()
        return Secrets({} if found is None else self._box.open(found, what, owner))

    def _dated(self, made: Dated) -> Dated:
        now = self._clock()
        return replace(made, created_at=made.created_at or now, updated_at=made.updated_at or now)
