"""Names: of relations, entities, queries."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millpond.sql.batch import UUID
from millpond.sql.cursor import Cursor
from millpond.sql.statements import Identifier, Name
from millpond.sql.words import RESERVED

_VERSIONED = re.compile(r"[^\W\d]\w*:\d+(?!\w)")


def name_token(cursor: Cursor, what: str) -> Token:
    """The word or quoted name that must be next."""
    if not cursor.at_name():
        cursor.fail(what)
    if cursor.at_type(TokenType.VAR) and cursor.key() in RESERVED:
        word = cursor.token_text()
        cursor.problem(f"Expected {what}, not the keyword '{word}'. Write \"{word}\" if that is its name.")
    if cursor.at_type(TokenType.IDENTIFIER) and not cursor.token.text:
        cursor.problem("A name cannot be empty.")
    if "\0" in cursor.token.text:
        cursor.problem("A name cannot have the character NUL in it.")
    return cursor.advance()


def identifier(cursor: Cursor, what: str) -> Identifier:
    """One unqualified name."""
    token = name_token(cursor, what)
    _refuse_dash(cursor, token)
    return Identifier(token.text, token.token_type == TokenType.IDENTIFIER, cursor.position(token))


def identifier_node(cursor: Cursor, what: str) -> exp.Identifier:
    """One unqualified name as a tree node with its position."""
    return node_of(cursor, name_token(cursor, what))


def node_of(cursor: Cursor, token: Token) -> exp.Identifier:
    """A name's token as a tree node."""
    node = exp.Identifier(this=token.text, quoted=token.token_type == TokenType.IDENTIFIER)
    cursor.marked(node, token)
    return node


def identifiers(cursor: Cursor, what: str) -> tuple[Identifier, ...]:
    """A list of names in parentheses."""
    cursor.expect("(")
    found = [identifier(cursor, what)]
    while cursor.accept(","):
        found.append(identifier(cursor, what))
    if not cursor.accept(")"):
        cursor.fail(",", ")")
    return tuple(found)


def name(cursor: Cursor, what: str, parts: int | None = 3) -> Name:
    """A qualified name of at most `parts` parts; None: as many as there are (an entity's path)."""
    start = cursor.index
    found = [identifier(cursor, what)]
    while cursor.accept("."):
        if len(found) == parts:
            cursor.problem(f"The name of {what} has at most {parts} {'part' if parts == 1 else 'parts'}.")
        found.append(identifier(cursor, "a name after the dot"))
    return Name(tuple(found), cursor.since(start))


def query_name(cursor: Cursor) -> Name:
    """A query's id or name: a UUID as it is, a word, name:version, a string, or the name of what it writes."""
    token = None if cursor.ended else cursor.token
    found = token and (UUID.match(cursor.sql, token.start) or _VERSIONED.match(cursor.sql, token.start))
    if not token or not found:
        return _plain_query_name(cursor)
    start = cursor.index
    while not cursor.ended and cursor.token.start < found.end():
        cursor.advance()
    return Name((Identifier(found.group()),), cursor.since(start))


def _plain_query_name(cursor: Cursor) -> Name:
    if cursor.at_type(TokenType.STRING):
        token = cursor.advance()
        return Name((Identifier(token.text, True),), cursor.position(token))
    return name(cursor, "the id or the name of a query, or what it writes")


def _refuse_dash(cursor: Cursor, token: Token) -> None:
    if token.token_type == TokenType.VAR and cursor.at("-") and cursor.touches():
        cursor.problem("A name with '-' in it must be put in double quotes.")
