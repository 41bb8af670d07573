"""SQL types <-> Avro schemas: what a topic's schema is made of, and what columns a schema stands for.

A column may always be NULL in Avro (`["null", type]`, null by default): so columns can be added and dropped later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from fastavro.schema import parse_schema

from millpond.errors import MillpondError
from millpond.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    VARCHAR,
    ArrayType,
    Column,
    DataType,
    DecimalType,
    Field,
    MapType,
    Sized,
    StructType,
)

Schema: TypeAlias = Any
"""A parsed Avro schema: a name, a dict, or a list for a union."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NAMESPACE = "io.millpond"
MOST_DIGITS = 38
"""Of a DECIMAL."""

WRITTEN: Mapping[str, Schema] = {
    "BOOLEAN": "boolean",
    "TINYINT": "int",
    "SMALLINT": "int",
    "INTEGER": "int",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "VARCHAR": "string",
    "BYTES": "bytes",
    "VARBINARY": "bytes",
    "DATE": {"type": "int", "logicalType": "date"},
    "TIME": {"type": "long", "logicalType": "time-micros"},
    "TIMESTAMP": {"type": "long", "logicalType": "local-timestamp-micros"},
    "TIMESTAMP_LTZ": {"type": "long", "logicalType": "timestamp-micros"},
}
"""Types without parts -> how they are written."""

READ: Mapping[str, DataType] = {
    "boolean": BOOLEAN,
    "int": INTEGER,
    "long": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "string": VARCHAR,
    "enum": VARCHAR,
    "bytes": BYTES,
    "fixed": BYTES,
}
READ_LOGICAL: Mapping[str, DataType] = {
    "date": DATE,
    "time-millis": Sized("TIME", 3),
    "time-micros": Sized("TIME", 6),
    "timestamp-millis": Sized("TIMESTAMP_LTZ", 3),
    "timestamp-micros": Sized("TIMESTAMP_LTZ", 6),
    "timestamp-nanos": Sized("TIMESTAMP_LTZ", 6),
    "local-timestamp-millis": Sized("TIMESTAMP", 3),
    "local-timestamp-micros": Sized("TIMESTAMP", 6),
    "local-timestamp-nanos": Sized("TIMESTAMP", 6),
}


class UnreadableSchemaError(ValueError):
    """A schema that stands for no columns; the message says why."""


def record_name(subject: str) -> str:
    """The full name of a subject's records, of what Avro allows in names."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", subject)
    return f"{NAMESPACE}.{plain if NAME.match(plain) else '_' + plain}"


def avro_schema(columns: Sequence[Column], name: str = f"{NAMESPACE}.row") -> dict[str, Any]:
    """The schema of a record of `columns`; `name` is its full name. Raises NO_AVRO_FORM."""
    return _record(name, [(c.name, c.type) for c in columns])


def _record(name: str, members: Sequence[tuple[str, DataType]]) -> dict[str, Any]:
    for member, type_ in members:
        if not NAME.fullmatch(member):
            raise MillpondError(
                "NO_AVRO_FORM", column=member, type=str(type_), reason="Avro does not allow such a name"
            )
    fields = [{"name": n, "type": _nullable(t, f"{name}_{n}", n), "default": None} for n, t in members]
    return {"type": "record", "name": name, "fields": fields}


def _nullable(type_: DataType, path: str, column: str) -> list[Schema]:
    return ["null", _written(type_, path, column)]


def _written(type_: DataType, path: str, column: str) -> Schema:
    match type_:
        case ArrayType():
            return {"type": "array", "items": _nullable(type_.element, path, column)}
        case MapType():
            if type_.key.name != "VARCHAR":
                raise MillpondError(
                    "NO_AVRO_FORM", column=column, type=str(type_), reason="Avro's maps have text as keys"
                )
            return {"type": "map", "values": _nullable(type_.value, path, column)}
        case StructType():
            return _record(path, [(f.name, f.type) for f in type_.fields])
        case DecimalType():
            return {"type": "bytes", "logicalType": "decimal", "precision": type_.precision, "scale": type_.scale}
    return WRITTEN[type_.name]


def parsed(text: str) -> tuple[Schema, dict[str, Schema]]:
    """A schema with all names in full, and the named types in it. Raises UnreadableSchemaError."""
    named: dict[str, Schema] = {}
    try:
        return parse_schema(json.loads(text), named_schemas=named, _write_hint=False), named
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a stranger's schema
        raise UnreadableSchemaError(f"it is no Avro schema: {error}") from None


def resolved(schema: Schema, named: Mapping[str, Schema]) -> dict[str, Any]:
    """The schema itself where only its name is given; a union as `{"type": "union", "branches": [...]}`."""
    while True:
        if isinstance(schema, str):
            found = named.get(schema)
            if found is None:
                return {"type": schema}
            schema = found
        elif isinstance(schema, list):
            return {"type": "union", "branches": schema}
        elif isinstance(schema["type"], str) and schema["type"] not in named:
            return dict(schema)
        else:
            schema = schema["type"]


def logical(schema: Mapping[str, Any]) -> str:
    """The logical type of a resolved schema, if it is one that is known and fits; else its plain type."""
    name, plain = str(schema.get("logicalType")), str(schema["type"])
    if name not in READ_LOGICAL and name != "decimal":
        return plain
    fits = {"date": ("int",), "time-millis": ("int",), "decimal": ("bytes", "fixed")}
    return name if plain in fits.get(name, ("long",)) else plain


def columns_of(text: str) -> tuple[Column, ...]:
    """The columns that a record schema stands for. Raises UnreadableSchemaError."""
    schema, named = parsed(text)
    record = resolved(schema, named)
    if record["type"] != "record" or not record["fields"]:
        raise UnreadableSchemaError(f"it is of type {record['type']}, not a record with fields")
    return tuple(Column(name, type_) for name, type_ in _members(record, named, frozenset()))


def type_of(text: str) -> DataType:
    """The type of a schema's values: a STRUCT for a record. Raises UnreadableSchemaError."""
    schema, named = parsed(text)
    return _type(schema, named, frozenset())


def combined(texts: Sequence[str]) -> str:
    """The last schema, with the types of those before it that it names in it. Raises UnreadableSchemaError."""
    named: dict[str, Schema] = {}
    try:
        for text in texts:
            schema = parse_schema(json.loads(text), named_schemas=named, _write_hint=False)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a stranger's schema
        raise UnreadableSchemaError(f"it is no Avro schema: {error}") from None
    return json.dumps(_complete(schema, named, set()))


def _complete(schema: Schema, named: Mapping[str, Schema], defined: set[str]) -> Schema:
    """A schema whose names are in full, with a type's definition where it is named first."""
    if isinstance(schema, list):
        return [_complete(s, named, defined) for s in schema]
    if isinstance(schema, str):
        first = schema in named and schema not in defined
        return _complete(named[schema], named, defined) if first else schema
    whole = dict(schema)
    if "name" in whole:
        defined.add(whole["name"])
        if "." not in whole["name"]:
            whole["namespace"] = ""  # else it is in the namespace of the record around it
    if "fields" in whole:
        whole["fields"] = [{**f, "type": _complete(f["type"], named, defined)} for f in whole["fields"]]
        return whole
    for part in ("type", "items", "values"):
        if part in whole and "name" not in whole:
            whole[part] = _complete(whole[part], named, defined)
    return whole


def _members(
    record: Mapping[str, Any], named: Mapping[str, Schema], around: frozenset[str]
) -> Iterator[tuple[str, DataType]]:
    if record["name"] in around:
        raise UnreadableSchemaError(f"{record['name']} contains itself")
    for field in record["fields"]:
        try:
            yield field["name"], _type(field["type"], named, around | {record["name"]})
        except UnreadableSchemaError as error:
            raise UnreadableSchemaError(f"field {field['name']}: {error}") from None


def _type(schema: Schema, named: Mapping[str, Schema], around: frozenset[str]) -> DataType:
    found = resolved(schema, named)
    match found["type"]:
        case "union":
            branches = [b for b in found["branches"] if resolved(b, named)["type"] != "null"]
            if len(branches) != 1:
                raise UnreadableSchemaError("a union of several types has no SQL type")
            return _type(branches[0], named, around)
        case "array":
            return ArrayType(element=_type(found["items"], named, around))
        case "map":
            return MapType(key=VARCHAR, value=_type(found["values"], named, around))
        case "record":
            return StructType(fields=tuple(Field(n, t) for n, t in _members(found, named, around)))
    return _scalar(found)


def _scalar(schema: Mapping[str, Any]) -> DataType:
    name = logical(schema)
    if name == "decimal":
        if schema["precision"] > MOST_DIGITS:
            raise UnreadableSchemaError(f"a DECIMAL has {MOST_DIGITS} digits at most")
        return DecimalType(precision=schema["precision"], scale=schema.get("scale", 0))
    type_: DataType | None = READ_LOGICAL.get(name) or READ.get(name)
    if type_ is None:
        raise UnreadableSchemaError(f"{name} has no SQL type")
    return type_
