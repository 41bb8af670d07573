"""The five bytes in front of a record that is written with a schema: a zero, and the schema's id in its registry."""

from __future__ import annotations

from millpond.stores.formats.undecodable import UndecodableError

HEADER = 5


def framed(schema_id: int, data: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + data


def schema_id_of(data: bytes) -> int:
    """The id in front of `data`. Raises UndecodableError."""
    if len(data) < HEADER or data[0] != 0:
        raise UndecodableError("it does not begin with a zero byte and the id of a schema")
    return int.from_bytes(data[1:HEADER], "big", signed=True)
