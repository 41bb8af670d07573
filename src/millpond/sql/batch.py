"""A batch of statements cut at its semicolons, and one statement's tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from millpond.errors import MillpondError, Position
from millpond.sql.dialect import Millpond
from millpond.sql.position import Lines

_DIALECT = Millpond()
_PIECES = re.compile(
    r"""(?P<space>[\s\ufeff]+ | --[^\r\n]* | /\*.*?\*/)
    | (?P<end>;)
    | (?P<open>/\*)
    | (?P<text>'[^']*' | "[^"]*" | `[^`]*` | [\w.,()=<>*+\[\]%:|]+ | [-/!$])
    | (?P<wrong>.)""",
    re.VERBOSE | re.DOTALL,
)
_UNCLOSED = {
    "'": "a string that begins here is not closed: a single quote (') is missing",
    '"': 'a quoted name that begins here is not closed: a double quote (") is missing',
    "/": "a comment that begins here is not closed: */ is missing",
    "`": "a quoted name that begins here is not closed: a backquote (`) is missing",
}
_HEX = re.compile(r"\b[xX]'(?![0-9a-fA-F]*')[^']*'")
_NUMBER = re.compile(r"(?=.{1,400}$)([0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?)")


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement of a batch: `text` from its first token to its last, and its offset in the batch."""

    text: str
    offset: int


def pieces(batch: str) -> Iterator[Piece]:
    """The statements in `batch`, without semicolons and the comments around them; empty ones are skipped."""
    first, last = -1, 0
    for match in _PIECES.finditer(batch):
        kind = match.lastgroup
        if kind == "text":
            first, last = (match.start() if first < 0 else first), match.end()
        elif kind in ("wrong", "open"):
            raise _wrong(batch, match.start())
        elif kind == "end":
            if first >= 0:
                yield Piece(batch[first:last], first)
            first = -1
    if first >= 0:
        yield Piece(batch[first:last], first)


def _wrong(batch: str, at: int) -> MillpondError:
    char = batch[at]
    problem = _UNCLOSED.get(char, f"the character {char!r} has no meaning here")
    problem = problem[0].upper() + problem[1:] + "."
    return MillpondError("SYNTAX", problem=problem, position=Lines(batch).position(at, at + 1), sql=batch)


ID_LENGTH = 36
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![\w-])", re.IGNORECASE)
"""A query's id may be written bare; cut into tokens, parts of it may look like numbers that are none: 1e98-40."""


def tokens(text: str, lines: Lines) -> list[Token]:
    """The tokens of one statement. Raises SYNTAX for numbers and words that are none."""
    try:
        found = _DIALECT.tokenizer().tokenize(text)
    except TokenError:
        wrong = _HEX.search(text)
        position = lines.position(*wrong.span()) if wrong else None
        problem = "This is not a binary string: write X'00FF'."
        raise MillpondError("SYNTAX", problem=problem, position=position, sql=text) from None
    for token in found:
        if token.token_type == TokenType.NUMBER:
            _check(_NUMBER.fullmatch(token.text) is not None, "a number", token, text, lines)
        elif token.token_type == TokenType.VAR:
            _check(token.text.replace("$", "_").isidentifier(), "a name", token, text, lines)
    return found


def _check(good: bool, what: str, token: Token, text: str, lines: Lines) -> None:
    if not good and not _in_id(token, text):
        position: Position = lines.position(token.start, token.end + 1)
        raise MillpondError("SYNTAX", problem=f"'{token.text}' is not {what}.", position=position, sql=text)


def _in_id(token: Token, text: str) -> bool:
    """Whether the token is part of a bare id."""
    begin = max(0, token.start - ID_LENGTH)
    return any(
        found.start() <= token.start < found.end() for found in UUID.finditer(text, begin, token.end + ID_LENGTH)
    )
