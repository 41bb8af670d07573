"""Protobuf messages <-> JSON text as Protobuf itself spells it: what PRINT shows, what INSERT INTO ENTITY is given."""

from __future__ import annotations

from collections.abc import Callable

import orjson
from google.protobuf import json_format
from google.protobuf.message import DecodeError, EncodeError
from google.protobuf.message_factory import GetMessageClass

from millpond.protobuf_types import Message, described
from millpond.stores.formats.undecodable import UndecodableError


def protobuf_printer(message: Message) -> Callable[[bytes], str]:
    """Messages -> JSON; it raises UndecodableError. Raises UnreadableSchemaError."""
    made = GetMessageClass(described(message))

    def print_(data: bytes) -> str:
        try:
            shown = json_format.MessageToDict(made.FromString(data), preserving_proto_field_name=True)
            return orjson.dumps(shown).decode()
        except (DecodeError, UnicodeDecodeError, json_format.Error, TypeError, ValueError) as error:
            raise UndecodableError(f"not a Protobuf message '{message.name}': {error}") from None

    return print_


def protobuf_from_text(message: Message) -> Callable[[str], bytes]:
    """JSON text -> message; it raises UndecodableError. Raises UnreadableSchemaError."""
    made = GetMessageClass(described(message))

    def read(text: str) -> bytes:
        try:
            return json_format.Parse(text, made()).SerializeToString()
        except (json_format.ParseError, EncodeError, ValueError) as error:
            raise UndecodableError(str(error)) from None

    return read
