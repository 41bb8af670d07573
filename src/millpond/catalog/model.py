"""What the catalog knows: databases, schemas, stores, relations, queries. Immutable values; ids are UUID
text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from millpond.types import Column, DataType

WITH_SCHEMAS = ("avro", "protobuf")
"""Formats of records whose schemas tell columns."""


class RelationKind(StrEnum):
    """What a relation is; `view` is a materialized view."""

    STREAM = "stream"
    CHANGELOG = "changelog"
    VIEW = "view"


class QueryState(StrEnum):
    """The life of a persistent query, spelled as clients expect it."""

    STARTING = "starting"
    RUNNING = "running"
    ERRORED = "errored"
    TERMINATE_REQUESTED = "terminate_requested"
    TERMINATED = "terminated"


@dataclass(frozen=True, slots=True)
class Database:
    name: str
    owner: str
    created_at: int
    """Epoch milliseconds, as every `_at` here."""


@dataclass(frozen=True, slots=True)
class Schema:
    database: str
    name: str
    owner: str
    created_at: int


class Secrets(dict[str, str]):
    """Properties that are never shown: neither printed nor logged they give their values away."""

    def __repr__(self) -> str:
        return f"<{', '.join(sorted(self)) or 'none'}>"

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """Where schemas of Avro and Protobuf are kept. Its secrets are read by `Catalog.registry_secrets`."""

    name: str
    type: str
    """CONFLUENT or CONFLUENT_CLOUD."""
    properties: Mapping[str, str]
    owner: str
    created_at: int = 0
    updated_at: int = 0
    status: str = "ready"


@dataclass(frozen=True, slots=True)
class DescriptorSource:
    """A compiled descriptor set of Protobuf. Its bytes are read by `Catalog.descriptor_file`."""

    name: str
    file: str
    """Name of the file that it was made of."""
    description: str
    owner: str
    created_at: int = 0
    updated_at: int = 0


@dataclass(frozen=True, slots=True)
class EntityDescriptor:
    """The Protobuf message that the keys or values of an entity are."""

    store: str
    topic: str
    part: str
    """key or value."""
    source: str
    message: str
    """Its full name."""


@dataclass(frozen=True, slots=True)
class Store:
    """A place where entities live. `properties` hold no secret; secrets are read by
    `Catalog.store_secrets`."""

    name: str
    type: str
    """KAFKA, KINESIS, ..."""
    properties: Mapping[str, str]
    owner: str
    created_at: int
    updated_at: int
    status: str = "ready"
    status_message: str = ""


KAFKA_TYPES = ("KAFKA", "CONFLUENT_KAFKA")
"""Store types whose topics are Kafka's: alike in all but how one logs in."""

DELIMITER_WORDS = {"SPACE": " ", "TAB": "\t"}
"""Delimiters that have a name."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A stream, changelog or materialized view over a topic.

    `columns` hold all columns in order, those of the key among them if the value carries them.
    `key_type` is the type of the record's key as bytes decode to it (a STRUCT for JSON keys), None for no
    key;
    `key_columns` are the columns that form the key of records that Millpond writes.
    `primary_key` is empty for a stream.
    `properties` are the WITH list as given (normalised keys), for DESCRIBE; secrets never get in here.
    """

    id: str
    database: str
    schema: str
    name: str
    kind: RelationKind
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    store: str
    topic: str
    value_format: str
    """json, avro, protobuf, delimited or primitive."""
    key_format: str | None
    """json, avro, protobuf, delimited or primitive; None: records have no key that Millpond reads or writes."""
    key_type: DataType | None
    key_columns: tuple[str, ...]
    timestamp_column: str | None
    timestamp_format: str
    """sql or iso8601."""
    owner: str
    created_at: int
    updated_at: int
    description: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    state: str = "created"

    @property
    def fqn(self) -> str:
        """`"db"."schema"."name"`, quotes doubled inside."""
        return ".".join('"' + p.replace('"', '""') + '"' for p in (self.database, self.schema, self.name))

    @property
    def excluded_columns(self) -> tuple[str, ...]:
        """Columns that only the record's key carries, not its value."""
        listed = self.properties.get("value.columns.exclude", "")
        return tuple(name for part in listed.split(",") if (name := part.strip().strip('"')))

    def part_format(self, part: str) -> str:
        """How the records' keys or values are written; `part` is key or value."""
        return self.value_format if part == "value" else self.key_format or "json"

    def descriptor(self, part: str) -> tuple[str, str] | None:
        """The descriptor source and the full name of the message that keys or values are, if they are named."""
        name = self.properties.get(f"{part}.descriptor.name")
        return None if name is None else (self.properties[f"{part}.descriptor.source"], name)

    def delimiter(self, part: str) -> str:
        """The character between the fields of delimited text; `part` is key or value."""
        given = self.properties.get(f"{part}.delimiter", ",")
        return DELIMITER_WORDS.get(given, given)

    def column(self, name: str) -> Column | None:
        return next((c for c in self.columns if c.name == name), None)


@dataclass(frozen=True, slots=True)
class PersistentQuery:
    """A query that runs for ever. `sources` and `sink` are relation ids; `sql` is what RESTART runs again."""

    id: str
    name: str | None
    version: int
    sql: str
    sink: str
    sources: tuple[str, ...]
    owner: str
    intended_state: QueryState
    state: QueryState
    created_at: int
    updated_at: int
    database: str
    schema: str
    store: str
    """The session's names when it was created: the query is planned again with them."""
    error: str = ""
    mode: str = ""
    """real-time or micro-batch, as it runs now; empty before it runs."""
    mode_reason: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index of a view."""

    name: str
    relation: str
    columns: tuple[str, ...]
    created_at: int


ORGANIZATION = "millpond"
"""The name of the one organization that there is; clients send any id for it."""


@dataclass(frozen=True, slots=True)
class SessionContext:
    """Whose names a statement's names resolve against; echoed to the client after every statement."""

    organization: str = "00000000-0000-0000-0000-000000000001"
    role: str = "sysadmin"
    database: str = "default"
    schema: str = "public"
    store: str = "kafka"
    compute_pool: str = ""
    dialect: str = "deltastream"
    timezone: str = "UTC"
    settings: Mapping[str, str] = field(default_factory=dict)
