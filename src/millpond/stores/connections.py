"""The open connections of a server: one log for each store, made when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from millpond.catalog.catalog import Catalog
from millpond.catalog.lookup import existing_registry, existing_store
from millpond.catalog.model import Store
from millpond.errors import MillpondError
from millpond.stores.access import StoreAccess, store_access
from millpond.stores.codecs import Codecs
from millpond.stores.connect import open_log
from millpond.stores.descriptors import Descriptors
from millpond.stores.protocol import Log, TopicDescription
from millpond.stores.registry import RegistryAccess, registry_access
from millpond.stores.schemas import Schemas, subject_of
from millpond.types import Column

CHECK_SECONDS = 10.0
"""A person waits for it; a store that answers does so within one."""


class Connections:
    """Store name -> log. A store whose properties changed is connected to anew."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.logs: dict[str, tuple[dict[str, str], Log]] = {}
        self.registries: dict[str, tuple[RegistryAccess, Schemas]] = {}
        self.replaced: list[Log | Schemas] = []
        """Queries that run may still hold them, so they are closed at the end."""
        self.descriptors = Descriptors(catalog)
        self.lock = threading.Lock()

    def log(self, store: str) -> Log:
        """Raises STORE_NOT_FOUND; a store that is away is found out when it is used."""
        found, properties = self._store(store)
        with self.lock:
            known = self.logs.get(store)
            if known is None or known[0] != properties:
                self.replaced += [known[1]] if known else []
                known = self.logs[store] = (properties, open_log(found.type, properties))
            return known[1]

    def schemas(self, store: str) -> Schemas | None:
        """The schemas of a store's topics; None if it has no schema registry. Raises STORE_NOT_FOUND."""
        access = self._registry(existing_store(self.catalog, store))
        if access is None:
            return None
        with self.lock:
            known = self.registries.get(access.name)
            if known is None or known[0] != access:
                self.replaced += [known[1]] if known else []
                known = self.registries[access.name] = (access, Schemas(access))
            return known[1]

    def codecs(self, store: str) -> Codecs:
        """Decoders and encoders for the records of a store. Raises STORE_NOT_FOUND."""
        return Codecs(store, self.schemas(store), self.catalog.descriptor_file)

    def columns(self, store: str, topic: str, part: str, form: str) -> tuple[Column, ...]:
        """What the registry says of a topic's keys or values, for the planner.

        Raises NO_SCHEMA_REGISTRY, NO_PROTOBUF_SCHEMA, SUBJECT_NOT_FOUND, SCHEMA_NOT_READABLE, SCHEMA_NOT_AVRO,
        REGISTRY_*.
        """
        codecs, subject = self.codecs(store), subject_of(topic, part)
        if codecs.known is None and form == "protobuf":
            raise MillpondError("NO_PROTOBUF_SCHEMA", store=store, part=part)
        schemas = codecs.schemas(form)
        return schemas.columns(subject) if form == "avro" else schemas.protobuf.columns(subject)

    def _registry(self, store: Store) -> RegistryAccess | None:
        name = store.properties.get("schema_registry.name")
        if name is None:
            return None
        found = existing_registry(self.catalog, name)
        return registry_access(name, {**found.properties, **self.catalog.registry_secrets(name)})

    def check(self, store_type: str, properties: Mapping[str, str]) -> None:
        """Try out a store that is not kept yet. Raises what `Log.check` raises."""
        log = open_log(store_type, properties, CHECK_SECONDS)
        try:
            log.check()
        finally:
            log.close()

    def reach(self, store: str) -> None:
        """Returns if a store that is kept answers. Raises what `Log.check` raises, STORE_NOT_FOUND."""
        self.log(store).check()

    def access(self, store: str) -> StoreAccess:
        """How a program on the JVM reaches it, with its secrets as they are now. Raises STORE_NOT_FOUND."""
        found, properties = self._store(store)
        return store_access(found.type, properties, self._registry(found), self.catalog.descriptor_file)

    def _store(self, name: str) -> tuple[Store, dict[str, str]]:
        found = existing_store(self.catalog, name)
        return found, {**found.properties, **self.catalog.store_secrets(name)}

    def topic(self, store: str, topic: str) -> TopicDescription | None:
        """A topic's facts for the planner; None if there is no such topic."""
        try:
            return self.log(store).describe(topic)
        except MillpondError as error:
            if error.name == "TOPIC_NOT_FOUND":
                return None
            raise

    def close(self) -> None:
        with self.lock:
            logs = [log for _, log in self.logs.values()]
            schemas = [known for _, known in self.registries.values()]
            for connection in (*self.replaced, *logs, *schemas):
                connection.close()
            self.logs, self.registries, self.replaced = {}, {}, []
