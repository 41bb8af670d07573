"""Where things stand in a statement's text."""

from __future__ import annotations

from bisect import bisect_right

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from millpond.errors import Position


class Lines:
    """The lines of a text, to turn offsets into positions. Lines end as `str.splitlines` says."""

    __slots__ = ("_starts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] | None = None

    def position(self, start: int, end: int) -> Position:
        """The position of text[start:end]; only the part on the first line is counted in its length."""
        line = bisect_right(self.starts, start)
        begin = self.starts[line - 1]
        limit = self.starts[line] if line < len(self.starts) else len(self._text)
        visible = self._text[start : min(end, limit)].rstrip("\r\n")
        return Position(line, start - begin + 1, max(1, len(visible)))

    @property
    def starts(self) -> list[int]:
        """The offset of each line's first character; a text that ends with a line break has one more line."""
        if self._starts is None:
            self._starts = [0]
            for line in self._text.splitlines(keepends=True):
                self._starts.append(self._starts[-1] + len(line))
            ended = self._text.splitlines(keepends=True)[-1:] != self._text.splitlines()[-1:]
            if not ended and len(self._starts) > 1:
                self._starts.pop()
        return self._starts


def mark(node: exp.Expr, token: Token, lines: Lines, ordinal: int | None = None) -> None:
    """Note in `node` where its token stands: sqlglot's keys, its length and, of a literal, its number."""
    position = lines.position(token.start, token.end + 1)
    meta = node.meta
    meta["line"], meta["col"] = position.line, position.column + position.length - 1
    meta["start"], meta["end"], meta["length"] = token.start, token.end, position.length
    if ordinal is not None:
        meta["ordinal"] = ordinal


def position_of(node: exp.Expr) -> Position | None:
    """Where `node` stands in its statement's `text`: its own token, else the first one below it."""
    first: Position | None = None
    for part in node.walk():
        meta = part.meta
        if "length" not in meta:
            continue
        position = Position(meta["line"], meta["col"] - meta["length"] + 1, meta["length"])
        if part is node:
            return position
        if first is None or (position.line, position.column) < (first.line, first.column):
            first = position
    return first


def literal_ordinal(node: exp.Expr) -> int | None:
    """Which of its statement's literals a literal is: numbers and strings, from 0, as in `shape_of`."""
    ordinal = node.meta.get("ordinal")
    return ordinal if isinstance(ordinal, int) else None
