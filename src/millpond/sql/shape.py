"""A statement's shape: its text with placeholders for its literals, under which a prepared plan is kept."""

from __future__ import annotations

import re

Literal = str | int | float

_TOKENS = re.compile(
    r"""['"`\-/0-9.?‘’‚‛′“”„‟″]
    (?: (?<=')(?<![\w$]')(?P<string>[^']*(?:''[^']*)*)'(?!')
      | (?<=[0-9])(?<![\w$.][0-9])(?P<number>[0-9]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)(?![\w$.])
      | (?<=")[^"]*" | (?<=`)[^`]*`
      | (?<=-)-[^\r\n]* | (?<=/)\*(?s:.*?)\*/
      | (?<=-)(?!-) | (?<=/)(?!\*) | (?<=[\w$][0-9])[0-9]* | (?<=\.)(?![0-9])
      | (?P<unsure>)
    )""",
    re.VERBOSE,
)
_MOST_DIGITS = 18
"""Whole numbers up to here are a BIGINT."""


class _UnsureError(Exception):
    """The text has something that could be read in more than one way."""


def shape_of(text: str) -> tuple[str, tuple[Literal, ...]]:
    """`text` with every string and number replaced by `?`, and those in order.

    Number n is the literal whose `literal_ordinal` in the tree of a parsed statement is n. Filling the
    placeholders with the literals again, strings quoted and numbers as `str` writes them, gives a statement
    that means the same. Whenever that is in doubt (typographic quotes, a `?`, something not closed, a number
    like 1.50 or 1e3) the shape is the text itself, without literals.
    """
    literals: list[Literal] = []

    def replace(match: re.Match[str]) -> str:
        kind = match.lastgroup
        if kind is None:
            return match.group()
        if kind == "string":
            literals.append(match["string"].replace("''", "'"))
        elif kind == "number":
            literals.append(_number(match.group()))
        else:
            raise _UnsureError
        return "?"

    try:
        return _TOKENS.sub(replace, text), tuple(literals)
    except _UnsureError:
        return text, ()


def _number(text: str) -> int | float:
    if len(text) > _MOST_DIGITS:
        raise _UnsureError
    value = int(text) if text.isdigit() else float(text)
    if str(value) != text:
        raise _UnsureError
    return value
