"""Keys and values of a relation's records: bytes <-> rows, whatever the formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol, TypeAlias

from millpond.catalog.model import WITH_SCHEMAS, Relation, RelationKind
from millpond.errors import MillpondError
from millpond.stores.formats.delimited import delimited_decoder, encode_delimited
from millpond.stores.formats.json_reader import json_decoder
from millpond.stores.formats.json_writer import encode_json
from millpond.stores.formats.primitive import decode_primitive, encode_primitive
from millpond.types import BIGINT, INTEGER, Column, StructType

Row: TypeAlias = tuple[Any, ...]


class Codecs(Protocol):
    """What formats with schemas need: `millpond.stores.codecs.Codecs`."""

    def decoder(self, relation: Relation, part: str, columns: tuple[Column, ...]) -> Callable[[bytes], Row]: ...

    def encoder(
        self, relation: Relation, part: str, columns: tuple[Column, ...]
    ) -> Callable[[Sequence[Any]], bytes]: ...


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


def encode_key(relation: Relation, values: Sequence[Any], schemas: Codecs | None = None) -> bytes | None:
    """The key of a record; `values` are those of `key_columns(relation)`. None if there are no keys."""
    columns = key_columns(relation)
    if not columns or relation.key_format is None:
        return None
    if relation.key_format == "primitive":
        return encode_primitive(columns[0].type, values[0])
    return _encode(relation, "key", relation.key_format, columns, values, schemas)


def key_decoder(relation: Relation, schemas: Codecs | None = None) -> Callable[[bytes], Row]:
    """Keys -> the values of `key_columns(relation)`. It raises UndecodableError."""
    columns = key_columns(relation)
    if not columns:
        return lambda data: ()
    if relation.key_format == "primitive":
        type_ = columns[0].type
        return lambda data: (decode_primitive(type_, data),)
    return _decoder(relation, "key", relation.key_format, columns, schemas)


def encode_value(relation: Relation, row: Sequence[Any], schemas: Codecs | None = None) -> bytes | None:
    """The value of a record; `row` holds all columns of the relation in order."""
    if relation.value_format == "primitive":
        return encode_primitive(relation.columns[0].type, row[0])
    left_out = excluded(relation)
    kept = [(c, v) for c, v in zip(relation.columns, row, strict=True) if c.name not in left_out]
    columns, values = tuple(c for c, _ in kept), [v for _, v in kept]
    return _encode(relation, "value", relation.value_format, columns, values, schemas)


def _encode(
    relation: Relation,
    part: str,
    record_format: str,
    columns: tuple[Column, ...],
    values: Sequence[Any],
    schemas: Codecs | None,
) -> bytes:
    if record_format in WITH_SCHEMAS:
        return _known(relation, record_format, schemas).encoder(relation, part, columns)(values)
    if record_format == "delimited":
        return encode_delimited(values, columns, relation.delimiter(part), relation.timestamp_format)
    return encode_json(values, columns, relation.timestamp_format)


def _decoder(
    relation: Relation, part: str, record_format: str | None, columns: tuple[Column, ...], schemas: Codecs | None
) -> Callable[[bytes], Row]:
    if record_format == "delimited":
        return delimited_decoder(columns, relation.delimiter(part))
    if record_format is not None and record_format in WITH_SCHEMAS:
        return _known(relation, record_format, schemas).decoder(relation, part, columns)
    return json_decoder(columns)


def _known(relation: Relation, record_format: str, schemas: Codecs | None) -> Codecs:
    if schemas is None:
        raise MillpondError("NO_SCHEMA_REGISTRY", store=relation.store, format=record_format)
    return schemas


def check_not_null(relation: Relation, row: Sequence[Any]) -> None:
    """Raises VALUE_NOT_ENCODABLE if a NOT NULL column of `row` is None."""
    for column, value in zip(relation.columns, row, strict=True):
        if value is None and not column.nullable:
            raise MillpondError("VALUE_NOT_ENCODABLE", value="NULL", type=str(column.type), column=column.name)


def value_decoder(relation: Relation, schemas: Codecs | None = None) -> Callable[[bytes | None, bytes], Row]:
    """(key, value) -> the row of all columns, some of them perhaps from the key. Raises UndecodableError."""
    if relation.value_format == "primitive":
        type_ = relation.columns[0].type
        return lambda key, value: (decode_primitive(type_, value),)
    left_out = excluded(relation)
    decode = _decoder(relation, "value", relation.value_format, value_columns(relation), schemas)
    if not left_out:
        return lambda key, value: decode(value)
    return _joined(relation, decode, left_out, schemas)


def _joined(
    relation: Relation, decode: Callable[[bytes], Row], left_out: frozenset[str], schemas: Codecs | None
) -> Callable[[bytes | None, bytes], Row]:
    read_key = _key_reader(relation, schemas)

    def read(key: bytes | None, value: bytes) -> Row:
        from_key, rest = read_key(key), iter(decode(value))
        return tuple(from_key.get(c.name) if c.name in left_out else next(rest) for c in relation.columns)

    return read


def key_rows(relation: Relation, schemas: Codecs | None = None) -> Callable[[bytes | None], Row]:
    """Key -> a deleted row: the key's columns, others None. It raises UndecodableError."""
    read_key = _key_reader(relation, schemas)

    def read(key: bytes | None) -> Row:
        known = read_key(key)
        return tuple(known.get(c.name) for c in relation.columns)

    return read


def _key_reader(relation: Relation, schemas: Codecs | None) -> Callable[[bytes | None], dict[str, Any]]:
    """Key -> its columns' values by name. The decoder is made when there first is a key."""
    names = [c.name for c in key_columns(relation)]
    decoder = cache(lambda: key_decoder(relation, schemas))
    return lambda key: {} if key is None else dict(zip(names, decoder()(key), strict=True))
