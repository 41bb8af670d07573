"""Every error that a user can meet, by name.

The table is `errors.toml`: NAME -> sqlstate, template, hint. Code raises
``MillpondError("RELATION_NOT_FOUND", name="clicks")``; tests assert on the name, never on prose.
"""

from __future__ import annotations

import logging
import re
import tomllib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """One row of the error table. `template` and `hint` take the error's parameters by name."""

    name: str
    sqlstate: str
    template: str
    hint: str = ""


@cache
def error_table() -> dict[str, ErrorKind]:
    """All errors by name, read from `errors.toml`."""
    text = files("millpond").joinpath("errors.toml").read_text("utf-8")
    return {name: ErrorKind(name, **row) for name, row in tomllib.loads(text).items()}


@dataclass(frozen=True, slots=True)
class Position:
    """Where in a statement's text an error lies: 1-based line and column, and the token's length."""

    line: int
    column: int
    length: int = 1


class MillpondError(Exception):
    """An error with a name, an SQLSTATE, a sentence and a next step; `position` points into `sql`."""

    def __init__(
        self, name: str, /, *, position: Position | None = None, sql: str | None = None, **params: object
    ) -> None:
        self.kind = error_table()[name]
        self.params = params
        self.position = position
        self.sql = sql
        super().__init__(name)

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def sqlstate(self) -> str:
        return self.kind.sqlstate

    @property
    def sentence(self) -> str:
        """What happened, with its objects in quotes."""
        return filled(self.kind.template, self.params)

    @property
    def hint(self) -> str:
        """What to do next; may be empty."""
        return filled(self.kind.hint, self.params)

    def located(self, sql: str, position: Position | None) -> MillpondError:
        """The same error, pointing at a token of `sql`, unless it points somewhere already."""
        if self.position is None and position is not None:
            self.sql, self.position = sql, position
        return self

    def __str__(self) -> str:
        parts = [f"[{self.name}] {self.sentence}"]
        if self.position and self.sql:
            parts.append(f"Line {self.position.line}, column {self.position.column}:")
            parts.append(underline(self.sql, self.position))
        if self.hint:
            parts.append(self.hint)
        return "\n".join(parts)


def missing_properties(statement: str, examples: Mapping[str, object]) -> MillpondError:
    """MISSING_PROPERTY for all that the WITH list of `statement` lacks: name -> an example of its value, as in SQL."""
    names = " and ".join(f"the property '{name}'" for name in examples)
    example = ", ".join(f"'{name}' = {value}" for name, value in examples.items())
    return MillpondError("MISSING_PROPERTY", statement=statement, names=names, example=example)


_FULL_STOP = re.compile(r"\.(?=\s|$)")
_SENTENCE_ENDS = (".", "!", "?")


def filled(template: str, params: Mapping[str, Any]) -> str:
    """`template` with its parameters; one that ends a sentence itself, as others' messages do, gets no second stop."""
    text = ""
    for literal, field, form, _ in Formatter().parse(template):
        text += literal[1:] if text.endswith(_SENTENCE_ENDS) and _FULL_STOP.match(literal) else literal
        if field is not None:
            text += format(params[field], form or "")
    return text


def internal(error: BaseException) -> MillpondError:
    """`error`, which nobody foresaw, as INTERNAL: logged in full, told by a reference only."""
    if isinstance(error, MillpondError):
        return error
    reference = uuid.uuid4().hex[:12]
    log.error("unexpected error %s", reference, exc_info=error)
    return MillpondError("INTERNAL", reason=f"an unexpected {type(error).__name__}", reference=reference)


_SECRET = re.compile(
    r"""
    ( (?<![\w.]) (?= [\w.]* (?: password | passphrase | secret | token | access_key ) ) [\w.]++ ['"`’”]? \s*+ = \s*+ )
    ( '(?:[^']|'')*'? | "(?:[^"]|"")*"? | ‘[^’]*’? | “[^”]*”? )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ADDRESS_LOGIN = re.compile(r"(://)([^/\s'\"@]+)(?=@)")
_PRIVATE_KEY = re.compile(
    r"()(-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z))", re.DOTALL
)


def mask_secrets(sql: str) -> str:
    """`sql` with a star for each character of a property's value that is a secret; positions stay as they are."""
    for pattern in (_SECRET, _PRIVATE_KEY, _ADDRESS_LOGIN):
        sql = pattern.sub(lambda found: found[1] + re.sub(r"[^\n]", "*", found[2]), sql)
    return sql


def underline(sql: str, position: Position) -> str:
    """The line of `sql` that `position` is in, with carets below the token; secrets are masked."""
    lines = mask_secrets(sql).splitlines() or [""]
    line = lines[min(position.line, len(lines)) - 1]
    return f"  {line}\n  {' ' * (position.column - 1)}{'^' * max(1, position.length)}"
