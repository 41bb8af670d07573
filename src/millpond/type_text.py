"""Reads the canonical spelling of a type, as `str(type)` prints it: ``MAP<VARCHAR, DECIMAL(10, 2)>``.

It is the inverse of `str` for types that are kept as text. What users write (aliases, any case) is read by
`sql`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from millpond.types import ArrayType, DataType, DecimalType, Field, MapType, Sized, StructType

SIZED = frozenset({"VARCHAR", "VARBINARY", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"})
PLAIN = frozenset({"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DATE", "BYTES", "NULL"})
TOKEN = re.compile(r'"(?:[^"]|"")*"|[<>(),]|[^\s<>(),"]+')


@lru_cache(maxsize=4096)
def read_type(text: str) -> DataType:
    """The type that `text` spells. Raises ValueError if `text` is not the canonical spelling of a type."""
    reader = _Reader(text)
    found = reader.type()
    reader.expect(None)
    return found


class _Reader:
    """One pass over the tokens of a spelling."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self) -> str:
        token = self.peek()
        if token is None:
            raise ValueError(f"'{self.text}' ends in the middle of a type")
        self.at += 1
        return token

    def expect(self, token: str | None) -> None:
        """The next token is `token` (None: the end)."""
        found = self.peek()
        if found != token:
            raise ValueError(f"expected {token or 'the end'} but found {found or 'the end'} in type '{self.text}'")
        self.at += 1

    def type(self) -> DataType:
        name = self.take()
        if name in NESTED:
            self.expect("<")
            found = NESTED[name](self)
            self.expect(">")
            return found
        if name == "DECIMAL":
            return self.decimal()
        if name in SIZED:
            return Sized(name, self.size())
        if name in PLAIN:
            return DataType(name)
        raise ValueError(f"'{name}' is not a type, in '{self.text}'")

    def decimal(self) -> DataType:
        self.expect("(")
        precision = int(self.take())
        self.expect(",")
        scale = int(self.take())
        self.expect(")")
        return DecimalType(precision=precision, scale=scale)

    def size(self) -> int | None:
        if self.peek() != "(":
            return None
        self.take()
        size = int(self.take())
        self.expect(")")
        return size

    def array(self) -> DataType:
        return ArrayType(element=self.type())

    def map(self) -> DataType:
        key = self.type()
        self.expect(",")
        return MapType(key=key, value=self.type())

    def struct(self) -> DataType:
        fields: list[Field] = []
        while self.peek() != ">":
            if fields:
                self.expect(",")
            fields.append(self.field())
        return StructType(fields=tuple(fields))

    def field(self) -> Field:
        token = self.take()
        name = token[1:-1].replace('""', '"') if token.startswith('"') else token
        return Field(name, self.type())


NESTED: dict[str, Callable[[_Reader], DataType]] = {
    "ARRAY": _Reader.array,
    "MAP": _Reader.map,
    "STRUCT": _Reader.struct,
}
