"""Bare values in the bytes of Kafka's own serializers."""

from __future__ import annotations

import struct
from typing import Any

from millpond.errors import MillpondError
from millpond.stores.formats.undecodable import UndecodableError
from millpond.types import DataType

FIXED = {"BOOLEAN": "?", "SMALLINT": ">h", "INTEGER": ">i", "BIGINT": ">q", "FLOAT": ">f", "DOUBLE": ">d"}


def encode_primitive(type_: DataType, value: Any) -> bytes | None:
    """The bytes of `value`; None stays None. Raises VALUE_NOT_ENCODABLE."""
    if value is None:
        return None
    try:
        if type_.name in FIXED:
            return struct.pack(FIXED[type_.name], value)
        return value.encode() if type_.name == "VARCHAR" else bytes(value)
    except (struct.error, AttributeError, TypeError, OverflowError, UnicodeEncodeError):
        raise MillpondError("VALUE_NOT_ENCODABLE", value=repr(value), type=str(type_), column="key") from None


def decode_primitive(type_: DataType, data: bytes) -> Any:
    """The value of `data`. Raises UndecodableError."""
    try:
        if type_.name in FIXED:
            return struct.unpack(FIXED[type_.name], data)[0]
        return data.decode() if type_.name == "VARCHAR" else data
    except struct.error:
        raise UndecodableError(f"{len(data)} bytes are not a {type_}") from None
    except UnicodeDecodeError:
        raise UndecodableError("not UTF-8, as VARCHAR must be") from None
