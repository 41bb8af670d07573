"""Where statements end in a text: at semicolons outside quotes, comments and applications."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<string>  '(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` )
  | (?P<comment> --[^\n]* | /\*.*?\*/ )
  | (?P<open>    ' | " | ` | /\* )
  | (?P<word>    [A-Za-z_]\w* )
  | (?P<end>     ; )
  | (?P<blank>   \s+ )
  | (?P<other>   . )
    """,
    re.VERBOSE | re.DOTALL,
)

_OPENERS = {"'": "a string", '"': "a quoted name", "`": "a quoted name", "/*": "a comment"}


@dataclass(frozen=True, slots=True)
class Split:
    """`statements` with semicolons; `rest` follows the last one, `open_in` is what it ends inside."""

    statements: tuple[str, ...]
    rest: str
    open_in: str | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be ended."""
        return not self.rest


def split(text: str) -> Split:
    """Cut `text` into statements. Comments stay with the statement that they stand before or in."""
    statements: list[str] = []
    start, bare, words, application = 0, True, ("", ""), False
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "open":
            return Split(tuple(statements), text[start:].strip(), _OPENERS[token.group()])
        if kind == "word":
            words = (words[1], token.group().upper())
            application = words == ("BEGIN", "APPLICATION") or (application and words != ("END", "APPLICATION"))
        if kind == "end" and not application:
            if not bare:
                statements.append(text[start : token.end()].strip())
            start, bare, words = token.end(), True, ("", "")
        elif kind not in ("blank", "comment"):
            bare = False
    rest = "" if bare else text[start:].strip()
    return Split(tuple(statements), rest, "an application" if application else None)
