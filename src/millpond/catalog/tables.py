"""The catalog's tables. Any change here needs a new numbered file in `migrations/versions`; a test compares
the two.

Lists and maps are JSON text, types their canonical spelling, times epoch milliseconds.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s",
    }
)


def _text(name: str, *, primary_key: bool = False, nullable: bool = False) -> Column[str]:
    return Column(name, Text, primary_key=primary_key, nullable=nullable)


def _time(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


databases = Table("databases", metadata, _text("name", primary_key=True), _text("owner"), _time("created_at"))

schemas = Table(
    "schemas",
    metadata,
    Column("database", Text, ForeignKey("databases.name"), primary_key=True),
    _text("name", primary_key=True),
    _text("owner"),
    _time("created_at"),
)

stores = Table(
    "stores",
    metadata,
    _text("name", primary_key=True),
    _text("type"),
    _text("properties"),
    _text("owner"),
    _time("created_at"),
    _time("updated_at"),
    _text("status"),
    _text("status_message"),
)

store_secrets = Table(
    "store_secrets",
    metadata,
    Column("store", Text, ForeignKey("stores.name"), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
)

schema_registries = Table(
    "schema_registries",
    metadata,
    _text("name", primary_key=True),
    _text("type"),
    _text("properties"),
    _text("owner"),
    _time("created_at"),
    _time("updated_at"),
    _text("status"),
)

registry_secrets = Table(
    "registry_secrets",
    metadata,
    Column("registry", Text, ForeignKey("schema_registries.name"), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
)

descriptor_sources = Table(
    "descriptor_sources",
    metadata,
    _text("name", primary_key=True),
    _text("file"),
    _text("description"),
    _text("owner"),
    _time("created_at"),
    _time("updated_at"),
)

descriptor_files = Table(
    "descriptor_files",
    metadata,
    Column("source", Text, ForeignKey("descriptor_sources.name"), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

entity_descriptors = Table(
    "entity_descriptors",
    metadata,
    Column("store", Text, ForeignKey("stores.name"), primary_key=True),
    _text("topic", primary_key=True),
    _text("part", primary_key=True),
    Column("source", Text, ForeignKey("descriptor_sources.name"), nullable=False),
    _text("message"),
)

relations = Table(
    "relations",
    metadata,
    _text("id", primary_key=True),
    _text("database"),
    _text("schema"),
    _text("name"),
    _text("kind"),
    _text("columns"),
    _text("primary_key"),
    Column("store", Text, ForeignKey("stores.name"), nullable=False),
    _text("topic"),
    _text("value_format"),
    _text("key_format", nullable=True),
    _text("key_type", nullable=True),
    _text("key_columns"),
    _text("timestamp_column", nullable=True),
    _text("timestamp_format"),
    _text("owner"),
    _time("created_at"),
    _time("updated_at"),
    _text("description"),
    _text("properties"),
    _text("state"),
    UniqueConstraint("database", "schema", "name"),
    ForeignKeyConstraint(["database", "schema"], ["schemas.database", "schemas.name"]),
)

queries = Table(
    "queries",
    metadata,
    _text("id", primary_key=True),
    _text("name", nullable=True),
    Column("version", Integer, nullable=False),
    _text("sql"),
    _text("sink"),
    _text("sources"),
    _text("owner"),
    _text("intended_state"),
    _text("state"),
    _time("created_at"),
    _time("updated_at"),
    _text("database"),
    _text("schema"),
    _text("store"),
    _text("error"),
    _text("mode"),
    _text("mode_reason"),
    _text("properties"),
)
"""A terminated query outlives the relations that it read and wrote, so `sink` and `sources` are not foreign
keys."""

indexes = Table(
    "indexes",
    metadata,
    Column("relation", Text, ForeignKey("relations.id"), primary_key=True),
    _text("name", primary_key=True),
    _text("columns"),
    _time("created_at"),
)

session_settings = Table(
    "session_settings",
    metadata,
    _text("session", primary_key=True),
    _text("key", primary_key=True),
    _text("value"),
)

defaults = Table("defaults", metadata, _text("kind", primary_key=True), _text("name"))

catalog_version = Table(
    "catalog_version",
    metadata,
    Column("only", Boolean, primary_key=True),
    Column("version", BigInteger, nullable=False),
)
