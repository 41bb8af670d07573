"""The columns of answers that describe things, written as text, and the values that they share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from millpond.catalog.model import Relation, RelationKind
from millpond.type_text import read_type
from millpond.types import Column

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def shape(text: str) -> tuple[Column, ...]:
    """Columns from ``"Name VARCHAR, IsDefault BOOLEAN, CreatedAt TIMESTAMP_LTZ(3)"``."""
    pairs = (part.split() for part in text.split(","))
    return tuple(Column(name, read_type(spelling)) for name, spelling in pairs)


def instant(epoch_ms: int) -> datetime:
    """A time of the catalog as a value of TIMESTAMP_LTZ."""
    return EPOCH + timedelta(milliseconds=epoch_ms)


def relation_type(relation: Relation) -> str:
    """The kind of a relation as clients spell it."""
    return "materialized_view" if relation.kind is RelationKind.VIEW else relation.kind.value
