"""Paths into JSON: `$.a.b[0]['c d']`, the part of SQL/JSON paths that both engines read alike."""

from __future__ import annotations

import re
from functools import cache
from typing import TypeAlias

Step: TypeAlias = str | int
"""A member's name, or an index from 0."""

_STEP = re.compile(
    r"""\s*(?:\.\s*(?P<name>[^\s.\[\]'"*?@()]+) | \.\s*"(?P<quoted>[^"]*)"
    | \[\s*(?P<index>\d+)\s*\] | \[\s*'(?P<single>[^']*)'\s*\] | \[\s*"(?P<double>[^"]*)"\s*\])\s*""",
    re.VERBOSE,
)


@cache
def parse_path(text: str) -> tuple[Step, ...]:
    """The steps of a path; ValueError says what is wrong with it."""
    rest = re.sub(r"^\s*(lax|strict)\s+", "", text, flags=re.IGNORECASE).strip()
    if not rest.startswith("$"):
        raise ValueError("a path starts with $")
    steps: list[Step] = []
    at = 1
    while at < len(rest):
        found = _STEP.match(rest, at)
        if not found:
            raise ValueError(f"'{rest[at:]}' is neither .name nor ['name'] nor [index]")
        steps.append(_step(found))
        at = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    if found["index"] is not None:
        return int(found["index"])
    return next(v for k in ("name", "quoted", "single", "double") if (v := found[k]) is not None)


def write_path(steps: tuple[Step, ...]) -> str:
    """The canonical spelling of a path, which Spark's get_json_object reads too."""
    for step in steps:
        if isinstance(step, str) and "'" in step:
            raise ValueError("a member's name with a quote in it cannot be addressed")
    return "$" + "".join(f"[{s}]" if isinstance(s, int) else f"['{s}']" for s in steps)
