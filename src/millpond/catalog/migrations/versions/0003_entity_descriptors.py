"""The Protobuf messages that keys and values of entities are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    names = ("store", "topic", "part", "source", "message")
    op.create_table(
        "entity_descriptors",
        *(sa.Column(name, sa.Text, nullable=False) for name in names),
        sa.PrimaryKeyConstraint("store", "topic", "part", name="pk_entity_descriptors"),
        sa.ForeignKeyConstraint(["store"], ["stores.name"], name="fk_entity_descriptors_stores"),
        sa.ForeignKeyConstraint(
            ["source"], ["descriptor_sources.name"], name="fk_entity_descriptors_descriptor_sources"
        ),
    )
