"""Lines of delimited text (RFC 4180) <-> rows. The same rules as the JVM side; values are spelled as JSON's texts are.

An empty field is NULL; `""` is an empty text, and NULL for a type that has none. A line break may end the record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from millpond.errors import MillpondError
from millpond.stores.formats.json_reader import reader
from millpond.stores.formats.json_writer import value_text
from millpond.stores.formats.undecodable import UndecodableError
from millpond.types import Column

QUOTED = re.compile(r'"((?:[^"]|"")*+)"')
LINE_ENDS = ("", "\n", "\r\n", "\r")
NEVER_EMPTY = ("VARCHAR", "BYTES", "VARBINARY")
"""Types that `""` is a value of."""


@lru_cache(512)
def delimited_decoder(columns: tuple[Column, ...], delimiter: str) -> Callable[[bytes], tuple[Any, ...]]:
    """Records -> rows of `columns`; it raises UndecodableError."""
    readers = [(c.name, c.type.name in NEVER_EMPTY, reader(c.type)) for c in columns]

    def decode(data: bytes) -> tuple[Any, ...]:
        try:
            fields = split(data.decode(), delimiter)
        except UnicodeDecodeError:
            raise UndecodableError("not delimited text: not UTF-8") from None
        if len(fields) != len(readers):
            raise UndecodableError(f"{len(fields)} fields where there are {len(readers)} columns")
        return tuple(
            _value(name, read, field) if field or (text and field is not None) else None
            for (name, text, read), field in zip(readers, fields, strict=True)
        )

    return decode


def _value(name: str, read: Callable[[Any], Any], field: str) -> Any:
    try:
        return read(field)
    except UndecodableError as error:
        raise UndecodableError(f"column '{name}': {error}") from None


def split(line: str, delimiter: str) -> list[str | None]:
    """The fields of a line, None for an empty one without quotes. Raises UndecodableError."""
    fields: list[str | None] = []
    plain = re.compile(rf"[^{re.escape(delimiter)}\r\n]*")
    blanks = re.compile(rf"(?:(?!{re.escape(delimiter)})[ \t])*")
    at = -1
    while at < 0 or line[at : at + 1] == delimiter:
        field, at = _field(line, at + 1, plain, blanks)
        fields.append(field)
    if line[at:] not in LINE_ENDS:
        more = "more follows a closing quote" if line[at] not in "\r\n" else "it has more than one line"
        raise UndecodableError(f"not a delimited record: {more}")
    return fields


def _field(line: str, at: int, plain: re.Pattern[str], blanks: re.Pattern[str]) -> tuple[str | None, int]:
    """A field and where it ends; blanks behind a closing quote are passed over."""
    if line[at : at + 1] != '"':
        end = _end(plain, line, at)
        return line[at:end] or None, end
    quoted = QUOTED.match(line, at)
    if quoted is None:
        raise UndecodableError("not a delimited record: a quote is not closed")
    return quoted[1].replace('""', '"'), _end(blanks, line, quoted.end())


def _end(pattern: re.Pattern[str], line: str, at: int) -> int:
    found = pattern.match(line, at)
    return at if found is None else found.end()


def encode_delimited(
    row: Sequence[Any], columns: tuple[Column, ...], delimiter: str, timestamp_format: str = "sql"
) -> bytes:
    """A line without a line break at its end. Raises VALUE_NOT_ENCODABLE."""
    fields = []
    for column, value in zip(columns, row, strict=True):
        try:
            fields.append("" if value is None else _written(_text(value, column, timestamp_format), delimiter))
        except (ValueError, TypeError, AttributeError, ArithmeticError):
            raise MillpondError(
                "VALUE_NOT_ENCODABLE", value=repr(value), type=str(column.type), column=column.name
            ) from None
    return delimiter.join(fields).encode()


def _text(value: Any, column: Column, timestamp_format: str) -> str:
    if column.type.name != "VARCHAR":
        return value_text(value, column.type, timestamp_format).strip('"')
    if type(value) is not str:
        raise TypeError(f"{value!r} is no text")
    value.encode()  # a lone surrogate is found here
    return value


def _written(text: str, delimiter: str) -> str:
    """In quotes if it would be read otherwise without them, or by readers that trim."""
    trimmed = not text or text[0] <= " " or text[-1] <= " "
    if not trimmed and not any(c in text for c in (delimiter, *'"\r\n')):
        return text
    return '"' + text.replace('"', '""') + '"'
