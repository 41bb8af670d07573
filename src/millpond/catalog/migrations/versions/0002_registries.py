"""Schema registries with their secrets, and descriptor sources with their files."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def _text(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _times(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger, nullable=False) for name in names]


def upgrade() -> None:
    op.create_table(
        "schema_registries",
        *_text("name", "type", "properties", "owner"),
        *_times("created_at", "updated_at"),
        *_text("status"),
        sa.PrimaryKeyConstraint("name", name="pk_schema_registries"),
    )
    op.create_table(
        "descriptor_sources",
        *_text("name", "file", "description", "owner"),
        *_times("created_at", "updated_at"),
        sa.PrimaryKeyConstraint("name", name="pk_descriptor_sources"),
    )
    _create_kept("registry_secrets", "registry", "sealed", "schema_registries")
    _create_kept("descriptor_files", "source", "content", "descriptor_sources")


def _create_kept(name: str, owner: str, content: str, owners: str) -> None:
    """A table of bytes beside the one that they belong to, which is read as a whole and must stay small."""
    op.create_table(
        name,
        *_text(owner),
        sa.Column(content, sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint(owner, name=f"pk_{name}"),
        sa.ForeignKeyConstraint([owner], [f"{owners}.name"], name=f"fk_{name}_{owners}"),
    )
