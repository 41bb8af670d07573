"""Parsed JSON as text again, its numbers with the digits that they were read with."""

from __future__ import annotations

from typing import Any

import orjson

from millpond.stores.formats.numbers import NumberText


def dump(value: Any) -> str:
    """JSON text of parsed JSON, or of what a writer of `stores.formats` made."""
    return orjson.dumps(value, default=_with_digits, option=orjson.OPT_PASSTHROUGH_SUBCLASS).decode()


def _with_digits(value: Any) -> Any:
    if isinstance(value, NumberText):
        return orjson.Fragment(str(value))
    raise TypeError(type(value).__name__)
