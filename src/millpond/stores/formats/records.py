"""Keys and values of a relation's records: bytes <-> rows, whatever the formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from millpond.catalog.model import Relation, RelationKind
from millpond.errors import MillpondError
from millpond.stores.formats.json_reader import json_decoder
from millpond.stores.formats.json_writer import encode_json
from millpond.stores.formats.primitive import decode_primitive, encode_primitive
from millpond.types import BIGINT, INTEGER, Column, StructType

Row: TypeAlias = tuple[Any, ...]

ROW_KEY = (Column("_partition", INTEGER), Column("_offset", BIGINT))
"""The hidden key of a view over a plain stream: where its row came from."""


def excluded(relation: Relation) -> frozenset[str]:
    """Names of columns that only the key carries."""
    return frozenset(relation.excluded_columns)


def value_columns(relation: Relation) -> tuple[Column, ...]:
    """The columns that the record's value carries."""
    left_out = excluded(relation)
    return tuple(c for c in relation.columns if c.name not in left_out)


def key_columns(relation: Relation) -> tuple[Column, ...]:
    """The columns of the record's key, in order; those of a view over a stream are hidden ones."""
    names = relation.key_columns or relation.primary_key
    found = tuple(c for name in names if (c := relation.column(name)) is not None)
    if not found and relation.kind is RelationKind.VIEW:
        return ROW_KEY
    if not found and isinstance(relation.key_type, StructType):
        return tuple(Column(f.name, f.type) for f in relation.key_type.fields)
    return found


def encode_key(relation: Relation, values: Sequence[Any]) -> bytes | None:
    """The key of a record; `values` are those of `key_columns(relation)`. None if there are no keys."""
    columns = key_columns(relation)
    if not columns or relation.key_format is None:
        return None
    if relation.key_format == "primitive":
        return encode_primitive(columns[0].type, values[0])
    return encode_json(values, columns, relation.timestamp_format)


def decode_key(relation: Relation, data: bytes) -> Row:
    """The values of `key_columns(relation)`. Raises UndecodableError."""
    columns = key_columns(relation)
    if relation.key_format == "primitive":
        return (decode_primitive(columns[0].type, data),) if columns else ()
    return json_decoder(columns)(data) if columns else ()


def encode_value(relation: Relation, row: Sequence[Any]) -> bytes | None:
    """The value of a record; `row` holds all columns of the relation in order."""
    if relation.value_format == "primitive":
        return encode_primitive(relation.columns[0].type, row[0])
    left_out = excluded(relation)
    kept = [(c, v) for c, v in zip(relation.columns, row, strict=True) if c.name not in left_out]
    return encode_json([v for _, v in kept], tuple(c for c, _ in kept), relation.timestamp_format)


def check_not_null(relation: Relation, row: Sequence[Any]) -> None:
    """Raises VALUE_NOT_ENCODABLE if a NOT NULL column of `row` is None."""
    for column, value in zip(relation.columns, row, strict=True):
        if value is None and not column.nullable:
            raise MillpondError("VALUE_NOT_ENCODABLE", value="NULL", type=str(column.type), column=column.name)


def value_decoder(relation: Relation) -> Callable[[bytes | None, bytes], Row]:
    """(key, value) -> the row of all columns, some of them perhaps from the key. Raises UndecodableError."""
    if relation.value_format == "primitive":
        type_ = relation.columns[0].type
        return lambda key, value: (decode_primitive(type_, value),)
    left_out = excluded(relation)
    decode = json_decoder(value_columns(relation))
    if not left_out:
        return lambda key, value: decode(value)
    return _joined(relation, decode, left_out)


def _joined(
    relation: Relation, decode: Callable[[bytes], Row], left_out: frozenset[str]
) -> Callable[[bytes | None, bytes], Row]:
    names = [c.name for c in key_columns(relation)]

    def read(key: bytes | None, value: bytes) -> Row:
        from_key = dict(zip(names, decode_key(relation, key), strict=True)) if key is not None else {}
        rest = iter(decode(value))
        return tuple(from_key.get(c.name) if c.name in left_out else next(rest) for c in relation.columns)

    return read


def key_row(relation: Relation, key: bytes | None) -> Row:
    """A deleted row: the key's columns, others None. Raises UndecodableError."""
    if key is None:
        return (None,) * len(relation.columns)
    known = dict(zip((c.name for c in key_columns(relation)), decode_key(relation, key), strict=True))
    return tuple(known.get(c.name) for c in relation.columns)
