"""Records that the Kinesis Producer Library packed into one: its own magic, a protobuf message, an MD5 sum."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

MAGIC = b"\xf3\x89\x9a\xc2"
SUM_BYTES = 16

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Protobuf's wire types."""
PARTITION_KEYS, RECORDS = 1, 3
"""Fields of the aggregate: its table of partition keys, and the records."""
KEY_INDEX, DATA = 1, 3
"""Fields of a record: which key, and its bytes."""


def unpack(partition_key: str, data: bytes) -> list[tuple[str, bytes]]:
    """The (partition key, data) pairs in a record's data; the record itself unless it is an intact aggregate."""
    if not data.startswith(MAGIC) or len(data) <= len(MAGIC) + SUM_BYTES:
        return [(partition_key, data)]
    body, check = data[len(MAGIC) : -SUM_BYTES], data[-SUM_BYTES:]
    if hashlib.md5(body, usedforsecurity=False).digest() != check:
        return [(partition_key, data)]
    try:
        fields = list(_fields(body))
        keys = [value.decode() for number, value in fields if number == PARTITION_KEYS and isinstance(value, bytes)]
        return [_record(value, keys) for number, value in fields if number == RECORDS and isinstance(value, bytes)]
    except (ValueError, IndexError):
        return [(partition_key, data)]


def _record(message: bytes, keys: list[str]) -> tuple[str, bytes]:
    index, data = 0, b""
    for number, value in _fields(message):
        if number == KEY_INDEX and isinstance(value, int):
            index = value
        elif number == DATA and isinstance(value, bytes):
            data = value
    return keys[index], data


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field number, value) pairs. Raises ValueError, IndexError if it is no protobuf message."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire == BYTES:
            size, at = _varint(message, at)
        elif wire in (FIXED32, FIXED64):
            size = 4 if wire == FIXED32 else 8
        else:
            raise ValueError(wire)
        if at + size > len(message):
            raise IndexError(at)
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
