"""The first tables, and what every catalog begins with: database `default`, schema `public`, version 1."""

from __future__ import annotations

import time

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _text(*names: str, nullable: bool = False) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=nullable) for name in names]


def _times(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger, nullable=False) for name in names]


def upgrade() -> None:
    _create_namespaces()
    _create_stores()
    _create_relations()
    _create_queries()
    _create_sessions()
    now = time.time_ns() // 1_000_000
    _insert("databases", name="default", owner="sysadmin", created_at=now)
    _insert("schemas", database="default", name="public", owner="sysadmin", created_at=now)
    _insert("catalog_version", only=True, version=1)


def _create_namespaces() -> None:
    op.create_table(
        "databases",
        *_text("name", "owner"),
        *_times("created_at"),
        sa.PrimaryKeyConstraint("name", name="pk_databases"),
    )
    op.create_table(
        "schemas",
        *_text("database", "name", "owner"),
        *_times("created_at"),
        sa.PrimaryKeyConstraint("database", "name", name="pk_schemas"),
        sa.ForeignKeyConstraint(["database"], ["databases.name"], name="fk_schemas_databases"),
    )


def _create_stores() -> None:
    op.create_table(
        "stores",
        *_text("name", "type", "properties", "owner"),
        *_times("created_at", "updated_at"),
        *_text("status", "status_message"),
        sa.PrimaryKeyConstraint("name", name="pk_stores"),
    )
    op.create_table(
        "store_secrets",
        *_text("store"),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("store", name="pk_store_secrets"),
        sa.ForeignKeyConstraint(["store"], ["stores.name"], name="fk_store_secrets_stores"),
    )


def _create_relations() -> None:
    op.create_table(
        "relations",
        *_text("id", "database", "schema", "name", "kind", "columns", "primary_key", "store", "topic"),
        *_text("value_format"),
        *_text("key_format", "key_type", nullable=True),
        *_text("key_columns"),
        *_text("timestamp_column", nullable=True),
        *_text("timestamp_format", "owner"),
        *_times("created_at", "updated_at"),
        *_text("description", "properties", "state"),
        sa.PrimaryKeyConstraint("id", name="pk_relations"),
        sa.UniqueConstraint("database", "schema", "name", name="uq_relations"),
        sa.ForeignKeyConstraint(["store"], ["stores.name"], name="fk_relations_stores"),
        sa.ForeignKeyConstraint(
            ["database", "schema"], ["schemas.database", "schemas.name"], name="fk_relations_schemas"
        ),
    )
    op.create_table(
        "indexes",
        *_text("relation", "name", "columns"),
        *_times("created_at"),
        sa.PrimaryKeyConstraint("relation", "name", name="pk_indexes"),
        sa.ForeignKeyConstraint(["relation"], ["relations.id"], name="fk_indexes_relations"),
    )


def _create_queries() -> None:
    op.create_table(
        "queries",
        *_text("id"),
        *_text("name", nullable=True),
        sa.Column("version", sa.Integer, nullable=False),
        *_text("sql", "sink", "sources", "owner", "intended_state", "state"),
        *_times("created_at", "updated_at"),
        *_text("database", "schema", "store", "error", "mode", "mode_reason", "properties"),
        sa.PrimaryKeyConstraint("id", name="pk_queries"),
    )


def _create_sessions() -> None:
    op.create_table(
        "session_settings",
        *_text("session", "key", "value"),
        sa.PrimaryKeyConstraint("session", "key", name="pk_session_settings"),
    )
    op.create_table("defaults", *_text("kind", "name"), sa.PrimaryKeyConstraint("kind", name="pk_defaults"))
    op.create_table(
        "catalog_version",
        sa.Column("only", sa.Boolean, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("only", name="pk_catalog_version"),
    )


def _insert(table: str, **values: object) -> None:
    columns: list[sa.ColumnClause[object]] = [sa.column(name) for name in values]
    op.execute(sa.table(table, *columns).insert().values(**values))
