"""Avro -> Python values of SQL types. The same rules as the decoder of the JVM side.

The columns decide what becomes of the writer's fields: a field is found by its name, then without case; a column
without a field is NULL; fields without a column are left out.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

from fastavro import schemaless_reader
from fastavro.schema import parse_schema

from millpond.avro_types import Schema, UnreadableSchemaError, logical, parsed, resolved
from millpond.stores.formats import temporal
from millpond.stores.formats.framing import HEADER
from millpond.stores.formats.json_reader import without_case
from millpond.stores.formats.numbers import WIDE, fitted, narrowed, single
from millpond.stores.formats.undecodable import UndecodableError, not_a
from millpond.types import ArrayType, Column, DataType, DecimalType, MapType, StructType

Read: TypeAlias = Callable[[Any], Any]
"""What Avro has plainly (a timestamp as a number) -> the Python value of one type. Raises UndecodableError."""
Named: TypeAlias = Mapping[str, Schema]

INTEGERS = ("int", "long")
MICROS_PER_DAY = temporal.MICROS_PER_DAY
INT64 = 1 << 63


def avro_decoder(text: str, columns: Sequence[Column]) -> Callable[[bytes], tuple[Any, ...]]:
    """Framed records of one schema -> rows of `columns`; it raises UndecodableError. Raises UnreadableSchemaError."""
    schema, named = parsed(text)
    plain = parse_schema(without_logical(json.loads(text)))
    row = _row_reader(schema, columns, named)

    def decode(data: bytes) -> tuple[Any, ...]:
        source = io.BytesIO(data)
        source.seek(HEADER)
        try:
            value = schemaless_reader(source, plain, None)
        except Exception as error:  # noqa: BLE001 - fastavro raises anything for bytes that are something else
            raise UndecodableError(f"not Avro of its schema: {type(error).__name__} {error}".rstrip()) from None
        return row(value)

    return decode


def without_logical(schema: Schema) -> Schema:
    """The schema of the numbers and bytes that its logical types are kept in."""
    if isinstance(schema, list):
        return [without_logical(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: v for k, v in schema.items() if k not in ("logicalType", "precision", "scale")}
    for key in ("type", "items", "values"):
        if key in kept:
            kept[key] = without_logical(kept[key])
    if "fields" in kept:
        kept["fields"] = [without_logical(field) for field in kept["fields"]]
    return kept


def _row_reader(schema: Schema, columns: Sequence[Column], named: Named) -> Callable[[Any], tuple[Any, ...]]:
    """A record is a row; anything else is the value of the only column."""
    found = resolved(schema, named)
    if found["type"] == "record":
        return _members(found, [(c.name, c.type) for c in columns], named)
    if len(columns) != 1:
        raise UnreadableSchemaError(f"it is of type {found['type']}, not a record")
    read = reader(found if found["type"] != "union" else found["branches"], columns[0].type, named)
    return lambda value: (None if value is None else _in_column(columns[0].name, read, value),)


def _members(
    record: Mapping[str, Any], members: Sequence[tuple[str, DataType]], named: Named
) -> Callable[[Any], tuple[Any, ...]]:
    fields = {f["name"]: f for f in record["fields"]}
    found = [(name, type_, fields.get(name) or without_case(fields, name)) for name, type_ in members]
    readers = [(n, f["name"] if f else None, reader(f["type"], t, named) if f else None) for n, t, f in found]

    def read(value: dict[str, Any]) -> tuple[Any, ...]:
        row = []
        for name, field, convert in readers:
            given = value[field] if field is not None else None
            row.append(None if given is None or convert is None else _in_column(name, convert, given))
        return tuple(row)

    return read


def _in_column(name: str, read: Read, value: Any) -> Any:
    try:
        return read(value)
    except UndecodableError as error:
        raise UndecodableError(f"column '{name}': {error}") from None


def reader(schema: Schema, type_: DataType, named: Named) -> Read:
    """The reader of one column or part; one that refuses everything if its type cannot come of the schema's."""
    found = resolved(schema, named)
    match found["type"], type_:
        case "union", _:
            return _union(found["branches"], type_, named)
        case "array", ArrayType():
            element = reader(found["items"], type_.element, named)
            return lambda values: [None if v is None else element(v) for v in values]
        case "map", MapType() if type_.key.name == "VARCHAR":
            part = reader(found["values"], type_.value, named)
            return lambda values: {k: None if v is None else part(v) for k, v in values.items()}
        case "record", StructType():
            names = [f.name for f in type_.fields]
            fields = _members(found, [(f.name, f.type) for f in type_.fields], named)
            return lambda value: dict(zip(names, fields(value), strict=True))
    return _scalar(found, type_) or partial(_misfit, logical(found), type_)


def _misfit(written: str, type_: DataType, value: Any) -> Any:
    raise UndecodableError(f"Avro's {written} is not a {type_}")


PYTHON = {
    "boolean": bool,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "string": str,
    "enum": str,
    "bytes": bytes,
    "fixed": bytes,
    "array": list,
    "map": dict,
    "record": dict,
}
"""What a reader gets of each of Avro's types."""


def _union(branches: Sequence[Schema], type_: DataType, named: Named) -> Read:
    """Of several branches that are alike in Python, the first counts."""
    kinds = [(resolved(b, named)["type"], b) for b in branches]
    readers: dict[type, Read] = {}
    for kind, branch in kinds:
        if kind != "null":
            readers.setdefault(PYTHON[kind], reader(branch, type_, named))
    if len(readers) == 1:
        return next(iter(readers.values()))
    return lambda value: readers[type(value)](value)


def _scalar(schema: Mapping[str, Any], type_: DataType) -> Read | None:
    """None: the type cannot come of the schema's."""
    kind, meaning = schema["type"], logical(schema)
    match type_.name:
        case "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT" if kind in INTEGERS:
            return partial(narrowed, type_.name)
        case "FLOAT" | "DOUBLE" if kind in (*INTEGERS, "float", "double"):
            return _float if type_.name == "FLOAT" else float
        case "BOOLEAN" if kind == "boolean":
            return _as_it_is
        case "VARCHAR" if kind in ("string", "enum"):
            return _as_it_is
        case "BYTES" | "VARBINARY" if kind in ("bytes", "fixed"):
            return _as_it_is
        case "DECIMAL":
            return _decimal(schema, type_)
        case "DATE" if meaning == "date":
            return temporal.to_date
        case "TIME" if meaning in ("time-millis", "time-micros"):
            return partial(_time, type_, 1000 if meaning == "time-millis" else 1)
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return _timestamp(kind, meaning, type_)
    return None


def _as_it_is(value: Any) -> Any:
    return value


def _float(value: float) -> float:
    number = single(float(value))
    if abs(number) == float("inf") and abs(value) != float("inf"):
        raise not_a("FLOAT", value)
    return number


def _decimal(schema: Mapping[str, Any], type_: DataType) -> Read | None:
    assert isinstance(type_, DecimalType)
    if schema["type"] in INTEGERS:
        return lambda value: fitted(type_, Decimal(value))
    if logical(schema) != "decimal":
        return None
    scale = schema.get("scale", 0)
    return lambda value: fitted(type_, Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale, WIDE))


def _time(type_: DataType, factor: int, value: int) -> Any:
    micros = value * factor
    if not 0 <= micros < MICROS_PER_DAY:
        raise not_a(type_, value)
    return temporal.to_time(micros)


def _timestamp(kind: str, meaning: str, type_: DataType) -> Read | None:
    """A plain number is of milliseconds, as in JSON."""
    if kind not in INTEGERS or meaning not in (*INTEGERS, *TO_MICROS):
        return None
    times, by = TO_MICROS.get(meaning.removeprefix("local-"), (1000, 1))

    def read(value: int) -> Any:
        micros = value * times // by
        if not -INT64 <= micros < INT64:
            raise not_a(type_, value)
        return temporal.to_datetime(micros, zoned=type_.name == "TIMESTAMP_LTZ")

    return read


TO_MICROS = {
    f"{local}timestamp-{unit}": factor
    for local in ("", "local-")
    for unit, factor in (("millis", (1000, 1)), ("micros", (1, 1)), ("nanos", (1, 1000)))
}
