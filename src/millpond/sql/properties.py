"""WITH lists: `('key' = value, ...)`."""

from __future__ import annotations

import math

from sqlglot.tokenizer_core import TokenType

from millpond.sql.cursor import Cursor
from millpond.sql.statements import Properties, Property, PropertyValue


def with_list(cursor: Cursor) -> Properties:
    """WITH (...) if it is next, else nothing."""
    return property_list(cursor) if cursor.accept("WITH") else ()


def property_list(cursor: Cursor) -> Properties:
    """The properties in parentheses that must be next."""
    cursor.expect("(")
    found = [_property(cursor)]
    while cursor.accept(","):
        given = _property(cursor)
        if any(p.key == given.key for p in found):
            cursor.problem(f"The property '{given.key}' is given twice.", back=1)
        found.append(given)
    if not cursor.accept(")"):
        cursor.fail(",", ")")
    return tuple(found)


def _property(cursor: Cursor) -> Property:
    start = cursor.index
    key = property_key(cursor)
    position = cursor.since(start)
    return Property(key, property_value(cursor) if cursor.accept("=") else None, position)


def property_key(cursor: Cursor) -> str:
    """A key in lower case: a string, or words with dots between them."""
    if not cursor.at_type(TokenType.VAR):
        return cursor.string("a property's key in single quotes").lower()
    words = [cursor.advance().text]
    while cursor.at(".") and cursor.at_type(TokenType.VAR, ahead=1):
        cursor.advance()
        words.append(cursor.advance().text)
    return ".".join(words).lower()


def property_value(cursor: Cursor) -> PropertyValue:
    """A string, a number, TRUE, FALSE, a bare keyword (in upper case) or a quoted name (as it is)."""
    if cursor.at_type(TokenType.STRING, TokenType.IDENTIFIER):
        return cursor.advance().text
    if cursor.at_type(TokenType.NUMBER) or (cursor.at("-") and cursor.at_type(TokenType.NUMBER, ahead=1)):
        return _number(cursor)
    if not cursor.at_type(TokenType.VAR) or cursor.key() == "NULL":
        cursor.fail("a string, a number or a keyword")
    word = cursor.advance().text.upper()
    return {"TRUE": True, "FALSE": False}.get(word, word)


def _number(cursor: Cursor) -> int | float:
    sign = -1 if cursor.accept("-") else 1
    text = cursor.token.text
    if text.isdigit():
        cursor.advance()
        return sign * int(text)
    value = sign * float(text)
    if not math.isfinite(value):
        cursor.problem(f"The number {text} is too large.")
    cursor.advance()
    return value
