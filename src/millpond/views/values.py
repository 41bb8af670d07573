"""Python values <-> what SQLite keeps of them, by SQL type.

BOOLEAN and integers INTEGER; FLOAT, DOUBLE REAL (NaN is the text 'NaN': SQLite has no NaN, and text sorts
above all numbers as NaN does); VARCHAR TEXT; DECIMAL TEXT of exactly the type's scale; DATE epoch days;
TIME microseconds of the day; TIMESTAMP, TIMESTAMP_LTZ epoch microseconds; BYTES, VARBINARY BLOB; ARRAY,
MAP, STRUCT their JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, TypeAlias

from millpond.stores.formats import temporal
from millpond.stores.formats.json_reader import has_decimal, parse_exactly, parse_quickly, reader
from millpond.stores.formats.json_writer import value_text
from millpond.stores.formats.numbers import fitted
from millpond.stores.formats.undecodable import UndecodableError
from millpond.types import NESTED, Column, DataType, DecimalType

Convert: TypeAlias = Callable[[Any], Any]


def to_sqlite_value(type_: DataType, value: Any) -> Any:
    """What SQLite keeps of a Python value; None stays None."""
    convert = to_sqlite_converter(type_)
    return value if value is None or convert is None else convert(value)


def from_sqlite_value(type_: DataType, value: Any) -> Any:
    """The Python value of what SQLite keeps; None stays None, and a time outside the years 1 to 9999 becomes None."""
    convert = from_sqlite_converter(type_)
    return value if value is None or convert is None else convert(value)


@lru_cache(512)
def row_encoder(columns: tuple[Column, ...]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Rows of Python values -> rows for SQLite."""
    return _rows(columns, to_sqlite_converter)


@lru_cache(512)
def row_decoder(columns: tuple[Column, ...]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Rows from SQLite -> rows of Python values; the very same object if there is nothing to convert."""
    return _rows(columns, from_sqlite_converter)


def _rows(
    columns: tuple[Column, ...], converter: Callable[[DataType], Convert | None]
) -> Callable[[Sequence[Any]], Sequence[Any]]:
    todo = [(i, c) for i, column in enumerate(columns) if (c := converter(column.type)) is not None]
    if not todo:
        return lambda row: row

    def convert(row: Sequence[Any]) -> Sequence[Any]:
        values = list(row)
        for i, one in todo:
            if values[i] is not None:
                values[i] = one(values[i])
        return tuple(values)

    return convert


@lru_cache(512)
def to_sqlite_converter(type_: DataType) -> Convert | None:
    """None: kept as it is. The converter never sees None."""
    if type_.name in NESTED:
        return partial(value_text, type_=type_)
    if isinstance(type_, DecimalType):
        return lambda value: f"{fitted(type_, Decimal(value)):f}"
    return TO_SQLITE.get(type_.name)


@lru_cache(512)
def from_sqlite_converter(type_: DataType) -> Convert | None:
    """None: kept as it is. The converter never sees None."""
    if type_.name in NESTED:
        parse = parse_exactly if has_decimal(type_) else parse_quickly
        read = reader(type_)
        return partial(_in_range, lambda value: read(parse(value)))
    return FROM_SQLITE.get(type_.name)


def _in_range(convert: Convert, value: Any) -> Any:
    """None for a value that its type does not hold: one such value must not cost the answer all its other rows."""
    try:
        return convert(value)
    except UndecodableError:
        return None


def _keep_nan(value: float) -> float | str:
    return "NaN" if value != value else value


TO_SQLITE: dict[str, Convert] = {
    "FLOAT": _keep_nan,
    "DOUBLE": _keep_nan,
    "DATE": temporal.from_date,
    "TIME": temporal.from_time,
    "TIMESTAMP": temporal.from_datetime,
    "TIMESTAMP_LTZ": temporal.from_datetime,
}
FROM_SQLITE: dict[str, Convert] = {
    "BOOLEAN": bool,
    "FLOAT": float,
    "DOUBLE": float,
    "DECIMAL": Decimal,
    "DATE": partial(_in_range, temporal.to_date),
    "TIME": temporal.to_time,
    "TIMESTAMP": partial(_in_range, partial(temporal.to_datetime, zoned=False)),
    "TIMESTAMP_LTZ": partial(_in_range, partial(temporal.to_datetime, zoned=True)),
}
