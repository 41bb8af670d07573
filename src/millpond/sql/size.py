"""How long and how deeply nested a text may be; looked at before anything that takes time."""

from __future__ import annotations

import re

from millpond.errors import MillpondError
from millpond.sql.position import Lines

DEEPEST = 50
"""Nested parentheses and sub-queries. Each takes about ten frames of Python's stack, here and later on."""
MOST_TOKENS = 500_000
"""Words, numbers, texts and signs of a batch: 25,000 rows of ten values. So many take some seconds to read."""
MOST_CHARACTERS = 20_000_000
_TOKENS = re.compile(
    r"""'[^']*(?:'|\Z) | "[^"]*(?:"|\Z) | `[^`]*(?:`|\Z) | --[^\r\n]* | /\*.*?(?:\*/|\Z)
    | (?P<open>[(\[]) | (?P<close>[)\]]) | (?P<end>;) | \w+ | [^\w\s]""",
    re.VERBOSE | re.DOTALL,
)


def check_size(text: str) -> None:
    """In time that grows with the length of `text` at most. Raises STATEMENT_TOO_LONG, SYNTAX for what is too deep."""
    if len(text) > MOST_CHARACTERS:
        raise _too_long()
    depth = 0
    for count, found in enumerate(_TOKENS.finditer(text)):
        match found.lastgroup:
            case None:
                pass
            case "open":
                depth += 1
                if depth > DEEPEST:
                    raise _too_deep(text, found.start())
            case "close":
                depth -= 1
            case _:
                depth = 0
        if count >= MOST_TOKENS:
            raise _too_long()


def _too_long() -> MillpondError:
    return MillpondError("STATEMENT_TOO_LONG", tokens=f"{MOST_TOKENS:,}", characters=f"{MOST_CHARACTERS:,}")


def _too_deep(text: str, at: int) -> MillpondError:
    problem = f"This is nested more than {DEEPEST} levels deep."
    return MillpondError("SYNTAX", problem=problem, position=Lines(text).position(at, at + 1), sql=text)
