"""SQLite functions over regular expressions, as Spark's of the same name; each within the time of its statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import regex

from millpond.plan.functions.java_regex import compile_regex, replacement_groups
from millpond.views.text_functions import json_array
from millpond.views.time_limit import seconds_left
from millpond.views.value_limits import check_items, check_length


def _first(text: str, pattern: str) -> regex.Match[str] | None:
    return compile_regex(pattern).search(text, timeout=seconds_left())


def _matches(text: str, pattern: str) -> Iterator[regex.Match[str]]:
    """Raises TimeoutError, and VALUE_TOO_LARGE past the items of one value."""
    for n, found in enumerate(compile_regex(pattern).finditer(text, timeout=seconds_left())):
        check_items(n)
        yield found


def _extract(text: str, pattern: str, group: int) -> str | None:
    found = _first(text, pattern)
    return (found[group] or "") if found else None


def _extract_all(text: str, pattern: str, group: int) -> str:
    return json_array([m[group] or "" for m in _matches(text, pattern)])


def _replace(text: str, pattern: str, replacement: str) -> str:
    parts = replacement_groups(replacement)
    made = 0

    def one(found: regex.Match[str]) -> str:
        nonlocal made
        put = "".join(p if isinstance(p, str) else found[p] or "" for p in parts)
        made += len(put)
        check_length(made)
        return put

    replaced: str = compile_regex(pattern).sub(one, text, timeout=seconds_left())
    return replaced


def _instr(text: str, pattern: str) -> int:
    found = _first(text, pattern)
    return found.start() + 1 if found else 0


def _split(text: str, pattern: str) -> str:
    """Java drops an empty part that a match of no width at the beginning would make."""
    parts: list[str] = []
    at = 0
    for found in _matches(text, pattern):
        if found.end() == 0:
            continue
        if found.start() == found.end() == len(text):
            break
        parts.append(text[at : found.start()])
        at = found.end()
    return json_array([*parts, text[at:]])


def _count(text: str, pattern: str) -> int:
    return sum(1 for _ in compile_regex(pattern).finditer(text, timeout=seconds_left()))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mp_regexp_extract": _extract,
    "mp_regexp_extract_all": _extract_all,
    "mp_regexp_replace": _replace,
    "mp_regexp_like": lambda text, pattern: _first(text, pattern) is not None,
    "mp_regexp_count": _count,
    "mp_regexp_instr": _instr,
    "mp_regexp_substr": lambda text, pattern: _extract(text, pattern, 0),
    "mp_regexp_split": _split,
}
"""NULL in, NULL out."""
