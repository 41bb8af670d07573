"""INSERT INTO ... VALUES: constant expressions -> records, evaluated as a pull query would."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from millpond.catalog.model import Relation
from millpond.plan.expressions import ColumnRef, Expr
from millpond.stores.formats.records import Codecs, check_not_null, encode_key, encode_value, key_columns
from millpond.stores.protocol import NewRecord
from millpond.stores.schemas import Schemas
from millpond.views.expressions import literal_to_sqlite, to_sqlite
from millpond.views.faults import not_evaluated
from millpond.views.functions import register
from millpond.views.values import row_decoder


def evaluate_rows(relation: Relation, rows: Sequence[Sequence[Expr]]) -> list[tuple[Any, ...]]:
    """Python values of constant rows, parallel to the relation's columns. Raises QUERY_TOO_LARGE, ROW_NOT_EVALUATED."""
    connection = sqlite3.connect(":memory:")
    try:
        register(connection)
        decode = row_decoder(relation.columns)
        return [tuple(decode(connection.execute(_select(row)).fetchone())) for row in rows]
    except sqlite3.Error as error:
        raise not_evaluated(error) from error
    finally:
        connection.close()


def _select(row: Sequence[Expr]) -> str:
    return "SELECT " + ", ".join(to_sqlite(e, _no_column, literal_to_sqlite) for e in row)


def _no_column(reference: ColumnRef) -> str:
    raise AssertionError(f"a constant row uses column {reference.name}")


def rows_to_records(
    relation: Relation, rows: Sequence[Sequence[Expr]], schemas: Codecs | None = None
) -> list[NewRecord]:
    """The records of the rows. Raises VALUE_NOT_ENCODABLE for a NULL in a NOT NULL column."""
    return [_record(relation, row, schemas) for row in evaluate_rows(relation, rows)]


def entity_bytes(schemas: Schemas | None, subject: str, text: str) -> bytes:
    """The bytes that INSERT INTO ENTITY writes: by the subject's schema, or the text itself if there is none.

    Raises VALUE_NOT_OF_SCHEMA, SCHEMA_NOT_READABLE, SCHEMA_NOT_AVRO, REGISTRY_*.
    """
    framed = schemas.from_text(subject, text) if schemas else None
    return text.encode() if framed is None else framed


def _record(relation: Relation, row: tuple[Any, ...], schemas: Codecs | None) -> NewRecord:
    check_not_null(relation, row)
    by_name = {c.name: v for c, v in zip(relation.columns, row, strict=True)}
    columns = key_columns(relation)
    known = bool(columns) and all(c.name in by_name for c in columns)
    key = encode_key(relation, [by_name[c.name] for c in columns], schemas) if known else None
    return NewRecord(key, encode_value(relation, row, schemas))
