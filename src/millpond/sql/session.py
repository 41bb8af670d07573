"""Statements about the session: USE, SET, UNSET, CAN I."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from millpond.sql.cursor import Cursor
from millpond.sql.names import name
from millpond.sql.properties import property_key, property_value
from millpond.sql.statements import CanI, Set, Statement, Use

_USED = {"DATABASE": 1, "SCHEMA": 2, "STORE": 1, "ROLE": 1, "ORGANIZATION": 1, "COMPUTE_POOL": 1}
"""What USE takes, and the most parts that its name has."""


def use(cursor: Cursor) -> Statement:
    """What follows USE."""
    return _use(cursor, default=False)


def set_default(cursor: Cursor) -> Statement:
    """What follows SET DEFAULT."""
    return _use(cursor, default=True)


def _use(cursor: Cursor, default: bool) -> Statement:
    kind = cursor.key()
    if kind not in _USED:
        cursor.fail(*_USED)
    cursor.advance()
    thing = f"the {kind.lower().replace('_', ' ')}"
    return Use(kind.lower(), name(cursor, thing, _USED[kind]), default, text=cursor.sql)


def set_value(cursor: Cursor) -> Statement:
    """What follows SET: nothing, or key = value."""
    if cursor.ended:
        return Set(None, text=cursor.sql)
    key = property_key(cursor)
    cursor.expect("=")
    return Set(key, property_value(cursor), text=cursor.sql)


def unset(cursor: Cursor) -> Statement:
    """What follows UNSET."""
    return Set(property_key(cursor), None, True, text=cursor.sql)


def can_i(cursor: Cursor) -> Statement:
    """What follows CAN I: a privilege, perhaps ON something."""
    words: list[str] = []
    while cursor.at_type(TokenType.VAR) and not cursor.at("ON"):
        words.append(cursor.advance().text.upper())
    if not words:
        cursor.fail("a privilege")
    if cursor.accept("ON"):
        words += ["ON", *_object(cursor)]
    return CanI(" ".join(words), text=cursor.sql)


def _object(cursor: Cursor) -> list[str]:
    """The kind of object, and its name as it is written."""
    if not cursor.at_type(TokenType.VAR):
        cursor.fail("a kind of object")
    kind = cursor.advance().text.upper()
    if cursor.ended:
        return [kind]
    start = cursor.token.start
    name(cursor, "a name", None)
    return [kind, cursor.sql[start : cursor.token_at(cursor.index - 1).end + 1]]
