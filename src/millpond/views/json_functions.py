"""SQLite functions over JSON in text columns, as Spark reads it: doubles in Java's digits, its first value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from millpond.plan.functions.json_path import parse_path
from millpond.stores.formats.numbers import NumberText, java_float
from millpond.views.json_text import dump


def _no_constant(name: str) -> Any:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_float=lambda t: NumberText(java_float(float(t))), parse_constant=_no_constant)


def _find(text: str, path: str) -> Any:
    """What is at `path`; None where there is nothing, JSON's null included."""
    value, _ = _DECODER.raw_decode(text.lstrip(" \t\r\n"))
    for step in parse_path(path):
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _written(value: Any) -> str | None:
    """A scalar as text, an object or array as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else None if value is None else dump(value)


def json_value(text: str, path: str) -> str | None:
    """The scalar at `path` as text; NULL for an object or array."""
    found = _find(text, path)
    return None if isinstance(found, dict | list) else _written(found)


def json_query(text: str, path: str) -> str | None:
    """The object or array at `path` as JSON; NULL for a scalar."""
    found = _find(text, path)
    return _written(found) if isinstance(found, dict | list) else None


def json_texts(text: str, path: str) -> str | None:
    """The array at `path` as an ARRAY<VARCHAR>; an object becomes an array of one, as in Spark."""
    found = _find(text, path)
    if not isinstance(found, list):
        return None
    return dump([_written(item) for item in found])


def _length(text: str) -> int | None:
    value = _DECODER.decode(text)
    return len(value) if isinstance(value, list) else None


def _keys(text: str) -> str | None:
    value = _DECODER.decode(text)
    return dump(list(value)) if isinstance(value, dict) else None


def _is_json(text: str) -> bool:
    try:
        _DECODER.decode(text)
    except ValueError:
        return False
    return True


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mp_json_get": lambda text, path: _written(_find(text, path)),
    "mp_json_value": json_value,
    "mp_json_query": json_query,
    "mp_json_texts": json_texts,
    "mp_json_array_length": _length,
    "mp_json_keys": _keys,
    "mp_is_json": _is_json,
}
"""NULL in, NULL out; what is no JSON is NULL."""
