"""Reads one statement's tokens from left to right; all families of statements are written in terms of it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millpond.errors import MillpondError, Position
from millpond.sql.batch import tokens
from millpond.sql.position import Lines, mark
from millpond.sql.refusals import refused_clause
from millpond.sql.size import DEEPEST

_TEXTUAL = (
    TokenType.STRING,
    TokenType.IDENTIFIER,
    TokenType.NUMBER,
    TokenType.HEX_STRING,
    TokenType.NATIONAL_STRING,
)
_LITERALS = (TokenType.STRING, TokenType.NUMBER)


class Cursor:
    """A place in a statement's tokens. Keywords and symbols are compared in upper case, not quoted text."""

    __slots__ = ("_keys", "_ordinals", "_tokens", "depth", "index", "lines", "sql")

    def __init__(self, sql: str, plain: str | None = None) -> None:
        """`sql` as it was written; `plain` is the same with plain quotes, if that is different."""
        self.sql = sql
        self.lines = Lines(sql)
        self._tokens = tokens(sql if plain is None else plain, self.lines)
        self._keys = ["" if t.token_type in _TEXTUAL else t.text.upper() for t in self._tokens]
        literals = (t.start for t in self._tokens if t.token_type in _LITERALS)
        self._ordinals = {start: ordinal for ordinal, start in enumerate(literals)}
        self.index = 0
        self.depth = 0

    # --- looking ---------------------------------------------------------------------------------
    @property
    def ended(self) -> bool:
        return self.index >= len(self._tokens)

    @property
    def last(self) -> bool:
        """Whether one token is left."""
        return self.ends_after(1)

    def ends_after(self, count: int) -> bool:
        """Whether `count` tokens are left."""
        return len(self._tokens) - self.index == count

    @property
    def token(self) -> Token:
        """The current token; the caller knows that there is one."""
        return self._tokens[self.index]

    def token_at(self, index: int) -> Token:
        return self._tokens[index]

    def key(self, ahead: int = 0) -> str:
        """The keyword or symbol `ahead` tokens from here, in upper case; empty for anything else."""
        index = self.index + ahead
        return self._keys[index] if 0 <= index < len(self._keys) else ""

    def at(self, *keys: str) -> bool:
        """Whether the next tokens are these keywords and symbols."""
        return self._keys[self.index : self.index + len(keys)] == list(keys)

    def at_any(self, keys: frozenset[str] | tuple[str, ...]) -> bool:
        return self.key() in keys and not self.ended

    def at_type(self, *types: TokenType, ahead: int = 0) -> bool:
        index = self.index + ahead
        return index < len(self._tokens) and self._tokens[index].token_type in types

    def at_name(self, ahead: int = 0) -> bool:
        """Whether a word or a quoted name is there."""
        return self.at_type(TokenType.VAR, TokenType.IDENTIFIER, ahead=ahead)

    def touches(self) -> bool:
        """Whether the current token follows the one before with nothing between."""
        return 0 < self.index < len(self._tokens) and self._tokens[self.index - 1].end + 1 == self.token.start

    # --- moving ----------------------------------------------------------------------------------
    def advance(self, count: int = 1) -> Token:
        """Step over `count` tokens; the first of them."""
        token = self.token
        self.index += count
        return token

    def accept(self, *keys: str) -> bool:
        """Step over these keywords and symbols if all of them are next."""
        if self.at(*keys):
            self.index += len(keys)
            return True
        return False

    def expect(self, *keys: str) -> None:
        """Step over these keywords and symbols, which must be next."""
        for key in keys:
            if not self.accept(key):
                self.fail(key)

    def string(self, what: str) -> str:
        """The text of a single-quoted string that must be next."""
        if not self.at_type(TokenType.STRING):
            self.fail(what)
        return self.advance().text

    def count(self, what: str) -> int:
        """A whole number that must be next."""
        if not self.at_type(TokenType.NUMBER) or not self.token.text.isdigit():
            self.fail(what)
        return int(self.advance().text)

    # --- marking ---------------------------------------------------------------------------------
    def position(self, first: Token, last: Token | None = None) -> Position:
        return self.lines.position(first.start, (last or first).end + 1)

    def since(self, index: int) -> Position:
        """The position of everything from token `index` up to here."""
        return self.position(self._tokens[index], self._tokens[max(index, self.index - 1)])

    def marked(self, node: exp.Expr, token: Token) -> exp.Expr:
        """`node` with the position of its token; a literal also knows how many came before it."""
        mark(node, token, self.lines, self._ordinals.get(token.start))
        return node

    # --- refusing --------------------------------------------------------------------------------
    def fail(self, *expected: str) -> NoReturn:
        """Refuse the current token: by name if it begins something known, else with what was expected."""
        refusal = refused_clause(self)
        if refusal is not None:
            self.unsupported(refusal.feature, refusal.instead, refusal.length)
        wanted = _alternatives(expected)
        found = "but the statement ends here" if self.ended else f"not '{self.token_text()}'"
        self.problem(f"Expected {wanted}, {found}.{self._suggestion(expected)}")

    def problem(self, problem: str, back: int = 0) -> NoReturn:
        """Refuse the token `back` before the current one with a sentence."""
        raise MillpondError("SYNTAX", problem=problem, position=self._here(back), sql=self.sql)

    def unsupported(self, feature: str, instead: str, length: int = 1) -> NoReturn:
        """Refuse something that is understood but not there; the next `length` tokens are underlined."""
        last = min(self.index + length, len(self._tokens)) - 1
        position = self._here() if self.ended else self.position(self.token, self._tokens[last])
        raise MillpondError("UNSUPPORTED", feature=feature, instead=instead, position=position, sql=self.sql)

    def token_text(self) -> str:
        """The current token as written."""
        return self.sql[self.token.start : self.token.end + 1]

    def _here(self, back: int = 0) -> Position:
        index = self.index - back
        if index < len(self._tokens):
            return self.position(self._tokens[index])
        end = self._tokens[-1].end + 1 if self._tokens else 0
        return self.lines.position(end, end)

    def _suggestion(self, expected: tuple[str, ...]) -> str:
        near = get_close_matches(self.key(), [e for e in expected if e.isupper()], n=1, cutoff=0.7)
        return f" Did you mean {near[0]}?" if near else ""

    def deeper(self) -> None:
        """Enter a nested expression or sub-query; the caller takes one off `depth` when it leaves."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.problem(f"This is nested more than {DEEPEST} levels deep.")


def _alternatives(expected: tuple[str, ...]) -> str:
    """`a, b or c`, symbols in quotes."""
    words = [e if any(map(str.isalpha, e)) else f"'{e}'" for e in expected]
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
