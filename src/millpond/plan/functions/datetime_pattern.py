"""Patterns of dates and times in Java's letters ('yyyy-MM-dd HH:mm:ss.SSS'): the ones that Spark reads too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

LETTERS = {
    "y": 4,
    "u": 4,
    "M": 4,
    "L": 4,
    "d": 2,
    "D": 3,
    "E": 4,
    "a": 1,
    "H": 2,
    "h": 2,
    "k": 2,
    "K": 2,
    "m": 2,
    "s": 2,
    "S": 9,
    "X": 3,
    "x": 3,
    "Z": 3,
    "z": 3,
    "V": 2,
    "Q": 4,
    "q": 4,
}
"""Letter -> how often it may stand in a row. Spark refuses week-based letters, so they are not here."""

_TOKEN = re.compile(r"([A-Za-z])\1*|'((?:[^']|'')*)'|\[|\]|[^A-Za-z'\[\]]+")


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a pattern: a run of `letter` (`count` of them), or literal `text`, or a bracket '[' or ']'."""

    letter: str
    count: int
    text: str = ""


@lru_cache(256)
def parse_pattern(pattern: str) -> tuple[Part, ...]:
    """The parts of a pattern; ValueError says what is wrong with it."""
    parts: list[Part] = []
    at = 0
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        if not found:
            raise ValueError("a quote is not closed")
        parts.append(_part(found))
        at = found.end()
    if not parts:
        raise ValueError("it is empty")
    return tuple(parts)


def _part(found: re.Match[str]) -> Part:
    text, letter = found[0], found[1]
    if letter:
        most = LETTERS.get(letter)
        if most is None:
            raise ValueError(f"the letter '{letter}' is not supported")
        if len(text) > most:
            raise ValueError(f"'{text}' is too long")
        return Part(letter, len(text))
    if text.startswith("'"):
        return Part("", 0, found[2].replace("''", "'") or "'")
    if text in ("[", "]"):
        return Part(text, 1)
    if set(text) & set("{}#"):
        raise ValueError(f"'{text}' must stand in quotes")
    return Part("", 0, text)


def check_for_reading(pattern: str) -> None:
    """ValueError for what can be written but not read: Spark stops at names of days and at quarters."""
    parts = parse_pattern(pattern)
    for before, part in zip((None, *parts), parts, strict=False):
        if part.letter and part.letter in "EQq":
            raise ValueError(f"'{part.letter}' can be written but not read")
        if part.letter == "S" and before is not None and before.letter and before.letter not in "[]":
            raise ValueError("a fraction (S) is read only after a separator")
