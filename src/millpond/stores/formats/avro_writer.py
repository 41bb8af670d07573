"""Python values of SQL types -> Avro, byte for byte as the JVM side writes it: keys are compared so."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, TypeAlias

from fastavro import schemaless_writer
from fastavro.schema import parse_schema

from millpond.avro_types import avro_schema
from millpond.errors import MillpondError
from millpond.stores.formats import temporal
from millpond.stores.formats.avro_reader import without_logical
from millpond.stores.formats.exact import checked, exact_float, exact_text
from millpond.stores.formats.numbers import fitted, narrowed
from millpond.types import ArrayType, Column, DataType, DecimalType, MapType, StructType

Write: TypeAlias = Callable[[Any], Any]
"""A Python value (not None) -> what Avro keeps of it. ValueError or TypeError for what does not fit."""


@lru_cache(512)
def avro_encoder(columns: tuple[Column, ...]) -> Callable[[Sequence[Any]], bytes]:
    """Rows of `columns` -> Avro, unframed. Raises NO_AVRO_FORM; what it makes, VALUE_NOT_ENCODABLE."""
    schema = parse_schema(without_logical(avro_schema(columns)))
    writers = [writer(c.type) for c in columns]

    def encode(row: Sequence[Any]) -> bytes:
        written = {}
        for column, write, value in zip(columns, writers, row, strict=True):
            try:
                written[column.name] = None if value is None else write(value)
            except (ValueError, TypeError, AttributeError, ArithmeticError):
                raise MillpondError(
                    "VALUE_NOT_ENCODABLE", value=repr(value), type=str(column.type), column=column.name
                ) from None
        out = io.BytesIO()
        schemaless_writer(out, schema, written)
        return out.getvalue()

    return encode


@lru_cache(1024)
def writer(type_: DataType) -> Write:
    """The writer of a type."""
    match type_:
        case ArrayType():
            return partial(_array, writer(type_.element))
        case MapType():
            return partial(_map, writer(type_.value))
        case StructType():
            return partial(_struct, [(f.name, writer(f.type)) for f in type_.fields])
        case DecimalType():
            return partial(_decimal, type_)
    if type_.name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT"):
        return partial(_integer, type_.name)
    return SCALARS[type_.name]


def _integer(type_name: str, value: Any) -> int:
    return narrowed(type_name, checked(int, value))


def _decimal(type_: DecimalType, value: Any) -> bytes:
    if isinstance(value, float):
        value = repr(value)
    sign, digits, _ = fitted(type_, Decimal(value)).as_tuple()
    number = int("".join(map(str, digits)))
    number = -number if sign else number
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def _array(element: Write, value: Sequence[Any]) -> list[Any]:
    return [None if v is None else element(v) for v in value]


def _map(write: Write, value: dict[Any, Any]) -> dict[str, Any]:
    return {exact_text(k): None if v is None else write(v) for k, v in value.items()}


def _struct(members: list[tuple[str, Write]], value: dict[str, Any]) -> dict[str, Any]:
    return {name: None if (v := value.get(name)) is None else write(v) for name, write in members}


SCALARS: dict[str, Write] = {
    "VARCHAR": exact_text,
    "BOOLEAN": partial(checked, bool),
    "BYTES": bytes,
    "VARBINARY": bytes,
    "FLOAT": exact_float,
    "DOUBLE": float,
    "DATE": temporal.from_date,
    "TIME": temporal.from_time,
    "TIMESTAMP": temporal.from_datetime,
    "TIMESTAMP_LTZ": temporal.from_datetime,
}
