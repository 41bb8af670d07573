"""SQLite functions over arrays, maps and structs, which the view store keeps as JSON text.

Where a value goes into JSON or comes out of it, the function is told its SQL type by name.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import orjson

from millpond.stores.formats.json_reader import parse_exactly, reader
from millpond.stores.formats.json_writer import writer
from millpond.type_text import read_type
from millpond.views.json_text import dump
from millpond.views.value_limits import check_items, check_length
from millpond.views.values import from_sqlite_converter, to_sqlite_converter

Converter = Callable[[Any], Any]


@lru_cache(256)
def _reading(type_text: str) -> Converter:
    """Parsed JSON (not None) -> what SQLite has of a value of this type."""
    type_ = read_type(type_text)
    read, keep = reader(type_), to_sqlite_converter(type_)
    return read if keep is None else lambda value: keep(read(value))


@lru_cache(256)
def _writing(type_text: str) -> Converter:
    """What SQLite has of a value of this type (not None) -> what orjson writes for it."""
    type_ = read_type(type_text)
    write, parse = writer(type_), from_sqlite_converter(type_)
    return write if parse is None else lambda value: write(parse(value))


def _out(value: Any, type_text: str) -> Any:
    return None if value is None else _reading(type_text)(value)


def to_json_value(value: Any, type_text: str) -> Any:
    return None if value is None else _writing(type_text)(value)


def _parsed_again(value: Any, type_text: str) -> Any:
    """A value as it looks after a round trip through JSON, to compare it with parsed ones."""
    return parse_exactly(orjson.dumps(to_json_value(value, type_text)))


def element(array: str, index: int, type_text: str) -> Any:
    """`array[index]`: from 1, negative from the end; NULL outside."""
    items = parse_exactly(array)
    at = index - 1 if index > 0 else len(items) + index
    return _out(items[at], type_text) if index and 0 <= at < len(items) else None


def element_from_start(array: str, index: int, type_text: str) -> Any:
    """`array[index]` where a negative index is outside."""
    return element(array, index, type_text) if index > 0 else None


def member(map_text: str, key: Any, type_text: str) -> Any:
    """`map[key]`, or a STRUCT's member."""
    return _out(parse_exactly(map_text).get(_key(key)), type_text)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else orjson.dumps(key).decode()


def array(type_text: str, *items: Any) -> str:
    """ARRAY[...] of items that may be NULL."""
    _check_parts(items)
    return orjson.dumps([to_json_value(i, type_text) for i in items]).decode()


def map_of(key_type: str, value_type: str, *pairs: Any) -> str:
    """MAP[key, value, ...]."""
    _check_parts(pairs)
    found = {}
    for key, value in zip(pairs[0::2], pairs[1::2], strict=True):
        name = to_json_value(key, key_type)
        found[name if isinstance(name, str) else orjson.dumps(name).decode()] = to_json_value(value, value_type)
    return orjson.dumps(found).decode()


def struct_of(*triples: Any) -> str:
    """STRUCT of (name, type, value) triples."""
    _check_parts(triples)
    parts = zip(triples[0::3], triples[1::3], triples[2::3], strict=True)
    return orjson.dumps({name: to_json_value(value, type_text) for name, type_text, value in parts}).decode()


def _check_parts(parts: tuple[Any, ...]) -> None:
    """Before they are put together. Raises VALUE_TOO_LARGE."""
    check_length(sum(len(p) for p in parts if isinstance(p, str | bytes)))


def _contains(text: str, value: Any, type_text: str) -> bool | None:
    items = parse_exactly(text)
    if _same(value, type_text) in [_number(i) for i in items]:
        return True
    return None if None in items else False


def _number(value: Any) -> Any:
    """Numbers compare as numbers, however they are written."""
    return (
        Decimal(str(value)) if isinstance(value, float | int) and not isinstance(value, bool) else _text_number(value)
    )


def _text_number(value: Any) -> Any:
    return Decimal(value) if type(value).__name__ == "NumberText" else value


def _same(value: Any, type_text: str) -> Any:
    return _number(_parsed_again(value, type_text))


def _position(text: str, value: Any, type_text: str) -> int:
    items = [_number(i) for i in parse_exactly(text)]
    wanted = _same(value, type_text)
    return items.index(wanted) + 1 if wanted in items else 0


def _distinct(text: str) -> str:
    found: list[Any] = []
    for item in parse_exactly(text):
        if item not in found:
            found.append(item)
    return dump(found)


def _concat(*texts: str) -> str:
    _check_parts(texts)
    found = [item for text in texts for item in parse_exactly(text)]
    check_items(len(found))
    return dump(found)


def _slice(text: str, first: int, last: int) -> str | None:
    return dump(parse_exactly(text)[first - 1 : max(last, first - 1)]) if first >= 1 else None


def _join(text: str, separator: str, instead: str | None = None) -> str:
    parsed = parse_exactly(text)
    check_length(len(text) + len(parsed) * (len(separator) + len(instead or "")))
    items = (instead if i is None else i for i in parsed)
    return separator.join(str(i) for i in items if i is not None)


def _sortable(items: list[Any], type_text: str) -> list[Any]:
    """Items that are not NULL in the order of their SQL type."""
    type_ = read_type(type_text)
    read = reader(type_)
    return sorted((i for i in items if i is not None), key=lambda i: read(i))


def _sort(text: str, type_text: str) -> str:
    items = parse_exactly(text)
    return dump([i for i in items if i is None] + _sortable(items, type_text))


def _best(last: bool) -> Callable[[str, str], Any]:
    def best(text: str, type_text: str) -> Any:
        items = _sortable(parse_exactly(text), type_text)
        return _out(items[-1 if last else 0], type_text) if items else None

    return best


def _append(text: str | None, value: Any, type_text: str) -> str | None:
    return None if text is None else dump([*parse_exactly(text), _again(value, type_text)])


def _again(value: Any, type_text: str) -> Any:
    return None if value is None else _parsed_again(value, type_text)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mp_element": element,
    "mp_index": element_from_start,
    "mp_member": member,
    "mp_json_size": lambda text: len(parse_exactly(text)),
    "mp_array_contains": _contains,
    "mp_array_position": _position,
    "mp_array_distinct": _distinct,
    "mp_array_concat": _concat,
    "mp_array_slice": _slice,
    "mp_array_sort": _sort,
    "mp_array_reverse": lambda text: dump(parse_exactly(text)[::-1]),
    "mp_array_max": _best(last=True),
    "mp_array_min": _best(last=False),
    "mp_array_join": _join,
    "mp_map_keys": lambda text: dump(list(parse_exactly(text))),
    "mp_map_values": lambda text: dump(list(parse_exactly(text).values())),
    "mp_map_contains": lambda text, key: _key(key) in parse_exactly(text),
}
"""NULL in, NULL out."""

NULL_AWARE: dict[str, Callable[..., Any]] = {
    "mp_array": array,
    "mp_map": map_of,
    "mp_struct": struct_of,
    "mp_array_append": _append,
}
"""Their parts may be NULL."""
