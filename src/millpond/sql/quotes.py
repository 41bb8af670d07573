"""Typographic quotes, which come along when SQL is pasted from an article, read as plain ones."""

from __future__ import annotations

import re

SINGLE = "‘’‚‛′"
DOUBLE = "“”„‟″"

_TYPOGRAPHIC = re.compile(f"[{SINGLE}{DOUBLE}]")
_PIECES = re.compile(
    rf"""(?P<kept>'[^']*' | "[^"]*" | `[^`]*` | --[^\r\n]* | /\*.*?\*/)
    | (?P<single>[{SINGLE}] (?:[{SINGLE}']{{2}} | [^{SINGLE}'])* [{SINGLE}'])
    | (?P<double>[{DOUBLE}] (?:[{DOUBLE}"]{{2}} | [^{DOUBLE}"])* [{DOUBLE}"])""",
    re.VERBOSE | re.DOTALL,
)
_TO_SINGLE = str.maketrans(dict.fromkeys(SINGLE, "'"))
_TO_DOUBLE = str.maketrans(dict.fromkeys(DOUBLE, '"'))


def plain_quotes(text: str) -> str:
    """`text` with typographic quotes made plain, each by one character, so that positions stay.

    Inside a comment or between plain quotes they are content and stay as they are.
    """
    return _PIECES.sub(_plain, text) if has_typographic_quotes(text) else text


def has_typographic_quotes(text: str) -> bool:
    """Whether any is in `text`, wherever."""
    return _TYPOGRAPHIC.search(text) is not None


def _plain(match: re.Match[str]) -> str:
    piece = match.group()
    if match.lastgroup == "single":
        return piece.translate(_TO_SINGLE)
    return piece.translate(_TO_DOUBLE) if match.lastgroup == "double" else piece
