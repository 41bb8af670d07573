"""Records in Avro <-> JSON text, by the schema alone: what PRINT shows, and what INSERT INTO ENTITY is given."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import orjson
from fastavro import schemaless_reader, schemaless_writer
from fastavro.schema import parse_schema
from fastavro.validation import ValidationError, validate

from millpond.avro_types import type_of
from millpond.stores.formats import temporal
from millpond.stores.formats.framing import HEADER
from millpond.stores.formats.json_reader import InexactError, has_decimal, parse_exactly, parse_quickly, reader
from millpond.stores.formats.numbers import java_float
from millpond.stores.formats.undecodable import UndecodableError
from millpond.types import ArrayType, DataType, MapType, StructType


def avro_printer(text: str) -> Callable[[bytes], str]:
    """Framed records of a schema, whatever it is -> JSON. It raises UndecodableError."""
    schema = parse_schema(json.loads(text))

    def print_(data: bytes) -> str:
        source = io.BytesIO(data)
        source.seek(HEADER)
        try:
            value = schemaless_reader(source, schema, None)
            shown = orjson.dumps(_shown(value)).decode()
        except Exception as error:  # noqa: BLE001 - fastavro raises anything for bytes that are something else
            raise UndecodableError(f"not Avro of its schema: {error}") from None
        if source.read(1):
            raise UndecodableError("not Avro of its schema: more follows the record")
        return shown

    return print_


def _shown(value: Any) -> Any:
    """What orjson writes as JSON's texts are spelled everywhere else."""
    match value:
        case dict():
            return {name: _shown(v) for name, v in value.items()}
        case list():
            return [_shown(v) for v in value]
        case float():
            return orjson.Fragment(java_float(value)) if math.isfinite(value) else java_float(value)
        case Decimal():
            return orjson.Fragment(f"{value:f}")
        case bytes():
            return base64.b64encode(value).decode()
        case None | bool() | int() | str():
            return value
    return _moment(value)


def _moment(value: Any) -> str:
    match value:
        case datetime():
            return temporal.timestamp_text(temporal.from_datetime(value), " ", zoned=value.tzinfo is not None)
        case date():
            return temporal.date_text(temporal.from_date(value))
        case time():
            return temporal.time_text(temporal.from_time(value))
    return str(value)


def avro_from_text(text: str) -> Callable[[str], bytes]:
    """JSON -> Avro of a schema, unframed; the value of a schema without parts is the text itself.

    It raises UndecodableError with the field that does not fit. Raises UnreadableSchemaError.
    """
    type_, schema = type_of(text), parse_schema(json.loads(text))

    def encode(given: str) -> bytes:
        value = _value(type_, given)
        out = io.BytesIO()
        try:
            validate(value, schema)
            schemaless_writer(out, schema, value)
        except ValidationError as error:
            raise UndecodableError(str(error.errors[0]) if error.errors else str(error)) from None
        except Exception as error:  # noqa: BLE001 - fastavro raises anything for a value of another type
            raise UndecodableError(str(error)) from None
        return out.getvalue()

    return encode


def _value(type_: DataType, given: str) -> Any:
    read = reader(type_)
    if not isinstance(type_, ArrayType | MapType | StructType):
        return read(given)
    if not has_decimal(type_):
        try:
            return read(parse_quickly(given))
        except InexactError:
            pass
    return read(parse_exactly(given))
