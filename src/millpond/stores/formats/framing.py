"""What is in front of a record that is written with a schema: a zero, and the schema's id in its registry.

In front of a Protobuf message its place in the schema follows, as zigzag varints: how many numbers, then the message's
index in the file, and in the message before it; a single zero is short for the file's first message.
"""

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


FIRST_MESSAGE = (0,)
LONGEST_PATH = 100
"""Messages are nested in one another no deeper; a longer path is no path."""


def framed_message(schema_id: int, data: bytes) -> bytes:
    """A message of the first type of its schema's file."""
    return framed(schema_id, b"\0" + data)


def message_path(data: bytes) -> tuple[tuple[int, ...], int]:
    """The place of the message behind the schema's id, and where its bytes begin. Raises UndecodableError."""
    count, at = _zigzag(data, HEADER)
    if count == 0:
        return FIRST_MESSAGE, at
    if not 0 < count <= LONGEST_PATH:
        raise UndecodableError("it does not say which message of its schema it is")
    path = []
    for _ in range(count):
        number, at = _zigzag(data, at)
        path.append(number)
    return tuple(path), at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    raw = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            break
        raw |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return raw >> 1 ^ -(raw & 1), at
    raise UndecodableError("it does not say which message of its schema it is")
