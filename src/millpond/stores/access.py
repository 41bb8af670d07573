"""How programs on the JVM reach a store: its type, and the settings of its client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millpond.catalog.model import KAFKA_TYPES
from millpond.stores.java_client import java_client_config
from millpond.stores.registry import RegistryAccess


@dataclass(frozen=True, slots=True)
class StoreAccess:
    """`options` hold secrets, so they are never shown. Of a Kafka store they are the Java client's settings."""

    type: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    registry: RegistryAccess | None = None
    """Where the schemas of its topics are."""

    @property
    def is_kafka(self) -> bool:
        return self.type in KAFKA_TYPES


def store_access(store_type: str, properties: Mapping[str, str], registry: RegistryAccess | None = None) -> StoreAccess:
    """`properties` are those of CREATE STORE, secrets among them; a store that is not Kafka's gets them as they are."""
    kind = store_type.upper()
    options = java_client_config(properties) if kind in KAFKA_TYPES else dict(properties)
    return StoreAccess(kind, options, registry)
