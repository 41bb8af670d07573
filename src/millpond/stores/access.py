"""How programs on the JVM reach a store: its type, and the settings of its client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from millpond.catalog.model import KAFKA_TYPES
from millpond.errors import MillpondError
from millpond.stores.java_client import java_client_config
from millpond.stores.registry import RegistryAccess

DescriptorFile: TypeAlias = Callable[[str], bytes]
"""Name of a descriptor source -> its compiled descriptor set. Raises DESCRIPTOR_SOURCE_NOT_FOUND."""


def no_file(source: str) -> bytes:
    """There are no descriptor sources."""
    raise MillpondError("DESCRIPTOR_SOURCE_NOT_FOUND", name=source, suggestion="LIST DESCRIPTOR_SOURCES;")


@dataclass(frozen=True, slots=True)
class StoreAccess:
    """`options` hold secrets, so they are never shown. Of a Kafka store they are the Java client's settings."""

    type: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    registry: RegistryAccess | None = None
    """Where the schemas of its topics are."""
    descriptor_file: DescriptorFile = field(default=no_file, repr=False, compare=False)
    """The catalog's compiled descriptor sets."""

    @property
    def is_kafka(self) -> bool:
        return self.type in KAFKA_TYPES


def store_access(
    store_type: str,
    properties: Mapping[str, str],
    registry: RegistryAccess | None = None,
    descriptor_file: DescriptorFile = no_file,
) -> StoreAccess:
    """`properties` are those of CREATE STORE, secrets among them; a store that is not Kafka's gets them as they are."""
    kind = store_type.upper()
    options = java_client_config(properties) if kind in KAFKA_TYPES else dict(properties)
    return StoreAccess(kind, options, registry, descriptor_file)
