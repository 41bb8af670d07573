"""Regular expressions as Java writes them (what Spark runs), compiled for Python (what the view store runs)."""

from __future__ import annotations

import re
from functools import lru_cache

import regex

CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Space": r" \t\n\x0b\f\r",
    "Blank": r" \t",
    "XDigit": "0-9a-fA-F",
    "ASCII": r"\x00-\x7f",
    "Cntrl": r"\x00-\x1f\x7f",
}
r"""Java's \p{...} names that mean a set of ASCII characters."""

_ESCAPE = re.compile(r"\\([pP])\{(?:Is)?(\w+)\}|\\Q(.*?)(?:\\E|$)|\\(.)|(\[|\])", re.DOTALL)


_STEP = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,\d*)?\}|.", re.DOTALL)
MOST_STEPS = 10_000
"""Of a pattern whose counts are written out, as `regex` does: a{100000000} would take 30 GB."""


@lru_cache(512)
def compile_regex(pattern: str) -> regex.Pattern[str]:
    """A Java regular expression as a Python one; ValueError where it is wrong or not understood.

    `re` decides what is valid, for `regex` takes more than Java does. `regex` does the matching: it lets other threads
    run meanwhile and takes a `timeout`, without which one pattern such as (a|a)+$ would hold everybody for years.
    """
    try:
        translated = _translate(pattern)
        re.compile(translated, re.ASCII)
        if _steps(translated) > MOST_STEPS:
            raise ValueError(f"its counts make more than {MOST_STEPS} steps")
        return regex.compile(translated, regex.ASCII | regex.VERSION0)
    except (re.error, regex.error, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from None


def _steps(pattern: str) -> int:
    """How many characters, classes and groups `pattern` has when its counts are written out."""
    before: list[int] = []
    total = last = 0
    for found in _STEP.finditer(pattern):
        match found.group():
            case "(":
                before.append(total)
                total = last = 0
            case ")":
                last = total + 1
                total = last + (before.pop() if before else 0)
            case "{":
                raise ValueError("a { begins a count such as {2,3}; write \\{ for a brace")
            case _ if found[1]:
                more = last * max(0, int(found[1]) - 1)
                total, last = total + more, last + more
            case _:
                total, last = total + 1, 1
    return total


def _translate(pattern: str) -> str:
    if "&&" in pattern:
        raise ValueError("intersections of character classes (&&) are not supported")
    depth = 0

    def one(found: re.Match[str]) -> str:
        nonlocal depth
        kind, name, quoted, escaped, bracket = found.groups()
        if kind:
            return _named_class(kind, name, inside=depth > 0)
        if quoted is not None:
            return re.escape(quoted)
        if bracket:
            depth = max(0, depth + (1 if bracket == "[" else -1))
            if depth > 1:
                raise ValueError("a class of characters inside another one is not supported; write \\[ for a bracket")
            return str(bracket)
        return _escaped(escaped)

    named_groups = re.sub(r"(?<!\\)\(\?<(?=[A-Za-z])", "(?P<", pattern)
    return _ESCAPE.sub(one, named_groups)


def _escaped(char: str) -> str:
    """`\\char` in Python's spelling."""
    return {"z": r"\Z", "Z": r"(?=\n?\Z)", "h": r"[ \t]", "R": r"(?:\r\n|[\n\r])", "e": r"\x1b"}.get(char, "\\" + char)


def _named_class(kind: str, name: str, inside: bool) -> str:
    if name not in CLASSES:
        raise ValueError(f"the character class \\{kind}{{{name}}} is not supported")
    if inside and kind == "P":
        raise ValueError("\\P{...} inside brackets is not supported")
    members = CLASSES[name]
    return members if inside else f"[{'^' if kind == 'P' else ''}{members}]"


@lru_cache(512)
def replacement_groups(text: str) -> tuple[str | int, ...]:
    """A Java replacement as parts: text, and group numbers. `$1` is a group, `\\$` a dollar."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            if at + 1 == len(text):
                raise ValueError("it ends with a lone backslash")
            parts.append(text[at + 1])
            at += 2
        elif char == "$":
            digit = text[at + 1 : at + 2]
            if not (digit.isascii() and digit.isdigit()):
                raise ValueError("a $ must be followed by a group's digit; write \\$ for a dollar")
            parts.append(int(digit))
            at += 2
        else:
            parts.append(char)
            at += 1
    return tuple(parts)
