"""Delimited text as a relation's format: what it can hold, and what is between its fields."""

from __future__ import annotations

from collections.abc import Iterable

from millpond.catalog.model import Relation
from millpond.errors import MillpondError
from millpond.types import ArrayType, DataType, MapType, StructType

PARTS = ("value", "key")


def check_delimited(relation: Relation) -> None:
    """Raises NO_DELIMITED_FORM for a column with parts, BAD_PROPERTY for a delimiter of another format."""
    for part, form in zip(PARTS, (relation.value_format, relation.key_format), strict=True):
        given = relation.properties.get(f"{part}.delimiter")
        if form == "delimited":
            _check_columns(_carried(relation, part))
        elif given is not None:
            raise MillpondError(
                "BAD_PROPERTY",
                name=f"{part}.delimiter",
                value=given,
                takes=f"effect only with '{part}.format' = 'delimited'",
            )


def delimiter_of(source: Relation, part: str, record_format: str | None) -> dict[str, str]:
    """The property of a relation whose format is inherited from `source`; `part` is key or value."""
    name = f"{part}.delimiter"
    return {name: source.properties.get(name, ",")} if record_format == "delimited" else {}


def _carried(relation: Relation, part: str) -> Iterable[tuple[str, DataType]]:
    if part == "value":
        return [(c.name, c.type) for c in relation.columns if c.name not in relation.excluded_columns]
    if isinstance(relation.key_type, StructType):
        return [(f.name, f.type) for f in relation.key_type.fields]
    return [("key", relation.key_type)] if relation.key_type is not None else []


def _check_columns(columns: Iterable[tuple[str, DataType]]) -> None:
    for name, type_ in columns:
        if isinstance(type_, ArrayType | MapType | StructType):
            raise MillpondError("NO_DELIMITED_FORM", column=name, type=str(type_))
