"""Text -> statements."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from millpond.errors import MillpondError, Position
from millpond.sql import create, insert, lifecycle, queries, select, session, stores, things
from millpond.sql.batch import Piece, pieces
from millpond.sql.cursor import Cursor
from millpond.sql.datatypes import data_type
from millpond.sql.position import Lines
from millpond.sql.quotes import plain_quotes
from millpond.sql.refusals import STATEMENTS, refused_statement
from millpond.sql.size import check_size
from millpond.sql.statements import Explain, Statement
from millpond.types import DataType

Family = Callable[[Cursor], Statement]

FAMILIES: dict[tuple[str, ...], Family] = {
    ("SELECT",): queries.query,
    ("CREATE", "STREAM"): create.create_stream,
    ("CREATE", "CHANGELOG"): create.create_changelog,
    ("CREATE", "MATERIALIZED", "VIEW"): create.create_view,
    ("CREATE", "TABLE"): create.create_table,
    ("CREATE", "DATABASE"): create.create_database,
    ("CREATE", "SCHEMA"): create.create_schema,
    ("CREATE", "INDEX"): create.create_index,
    ("CREATE", "STORE"): stores.create_store,
    ("UPDATE", "STORE"): stores.update_store,
    ("CREATE", "ENTITY"): stores.create_entity,
    ("UPDATE", "ENTITY"): stores.update_entity,
    ("CREATE", "TOPIC"): stores.create_entity,
    ("UPDATE", "TOPIC"): stores.update_entity,
    ("CREATE", "SCHEMA_REGISTRY"): stores.create_schema_registry,
    ("UPDATE", "SCHEMA_REGISTRY"): stores.update_schema_registry,
    ("CREATE", "DESCRIPTOR_SOURCE"): stores.create_descriptor_source,
    ("INSERT", "INTO"): insert.insert,
    ("DROP",): things.drop,
    ("LIST",): things.list_things,
    ("SHOW",): things.list_things,
    ("USE",): session.use,
    ("SET", "DEFAULT"): session.set_default,
    ("SET",): session.set_value,
    ("UNSET",): session.unset,
    ("CAN", "I"): session.can_i,
    ("TERMINATE",): lifecycle.terminate,
    ("RESTART",): lifecycle.restart,
    ("PRINT",): lifecycle.print_entity,
    ("ALTER", "RELATION"): lifecycle.alter_relation,
}
"""The words that a statement begins with -> what reads the rest. DESCRIBE and EXPLAIN are below."""

_PLANNED = ("CREATE", "INSERT", "SELECT", "DROP", "UPDATE")
"""What DESCRIBE takes as a statement; after any other word it describes a thing."""


def parse(text: str) -> tuple[Statement, ...]:
    """The statements in `text`, separated by semicolons; empty ones are skipped.

    Raises MillpondError STATEMENT_TOO_LONG, and SYNTAX, UNSUPPORTED or UNKNOWN_PROPERTY with the position in `text`.
    Positions in the statements (names, properties, tree nodes) are relative to the statement's own `text`.
    """
    check_size(text)
    plain = plain_quotes(text)
    lines = Lines(text)
    try:
        found = list(pieces(plain))
    except MillpondError as error:
        error.sql = text
        raise
    return tuple(_parse_piece(piece, text, lines) for piece in found)


def parse_type(text: str) -> DataType:
    """The data type that `text` names, as `str` of a type writes it. Raises SYNTAX."""
    try:
        cursor = _cursor(text, Piece(plain_quotes(text), 0), Lines(text))
        found = data_type(cursor)
        _expect_end(cursor)
    except RecursionError:
        raise _too_deep(text) from None
    return found


def _parse_piece(piece: Piece, text: str, lines: Lines) -> Statement:
    try:
        cursor = _cursor(text, piece, lines)
        found = statement(cursor)
        _expect_end(cursor)
    except MillpondError as error:
        raise _moved(error, piece, text, lines) from None
    except RecursionError:
        raise _too_deep(text) from None
    return found


def statement(cursor: Cursor) -> Statement:
    """The statement that begins here."""
    if select.at_query(cursor):
        return queries.query(cursor)
    if cursor.accept("EXPLAIN"):
        return _explain(cursor)
    if cursor.at("DESCRIBE") or cursor.at("DESC"):
        return _describe(cursor)
    words = max((words for words in FAMILIES if cursor.at(*words)), key=len, default=())
    refusal = refused_statement(cursor)
    if refusal is not None and refusal.length >= len(words):
        cursor.unsupported(refusal.feature, refusal.instead, refusal.length)
    if not words:
        _unknown(cursor)
    cursor.advance(len(words))
    return FAMILIES[words](cursor)


def _explain(cursor: Cursor) -> Statement:
    if cursor.at("EXPLAIN"):
        cursor.problem("EXPLAIN cannot explain itself.")
    return Explain(statement(cursor), text=cursor.sql)


def _describe(cursor: Cursor) -> Statement:
    refusal = refused_statement(cursor)
    if refusal is not None and not cursor.ends_after(refusal.length):
        cursor.unsupported(refusal.feature, refusal.instead, refusal.length)
    cursor.advance()
    if cursor.at_any(_PLANNED) and not cursor.last:
        return Explain(statement(cursor), True, text=cursor.sql)
    return things.describe(cursor)


def _unknown(cursor: Cursor) -> None:
    """Refuse a statement whose first or second word is unknown; name the nearest one."""
    known = [*FAMILIES, *(tuple(words.split()) for words in STATEMENTS), ("EXPLAIN",), ("DESCRIBE",)]
    following = [words[1] for words in FAMILIES if cursor.at(words[0]) and len(words) > 1]
    if following:
        cursor.advance()
        cursor.fail(*dict.fromkeys(following))
    if cursor.ended:
        cursor.fail("a statement")
    near = get_close_matches(cursor.key(), {words[0] for words in known}, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    cursor.problem(f"No statement begins with '{cursor.token_text()}'.{hint}")


_CLAUSES = (
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "JOIN",
    "LEFT",
    "WITH",
    "UNION",
    "EMIT",
)


def _expect_end(cursor: Cursor) -> None:
    """Refuse what is left over; a misspelt clause before it may have been read as an alias."""
    if cursor.ended:
        return
    for back in (0, 1):
        near = get_close_matches(cursor.key(-back), _CLAUSES, n=1, cutoff=0.74)
        if near and near[0] != cursor.key(-back):
            cursor.advance(-back)
            cursor.problem(f"There is no clause '{cursor.token_text()}'. Did you mean {near[0]}?")
    cursor.fail("the end of the statement")


def _cursor(text: str, piece: Piece, lines: Lines) -> Cursor:
    written = text[piece.offset : piece.offset + len(piece.text)]
    try:
        return Cursor(written, piece.text)
    except MillpondError as error:
        raise _moved(error, piece, text, lines) from None


def _moved(error: MillpondError, piece: Piece, text: str, lines: Lines) -> MillpondError:
    """`error` with its position in the whole batch instead of in its statement."""
    if error.position is not None and error.sql is not text:
        base = lines.position(piece.offset, piece.offset)
        shift = base.column - 1 if error.position.line == 1 else 0
        line, column = base.line + error.position.line - 1, error.position.column + shift
        error.position = Position(line, column, error.position.length)
    error.sql = text
    return error


def _too_deep(text: str) -> MillpondError:
    return MillpondError("SYNTAX", problem="This is nested too deeply.", position=Position(1, 1), sql=text)
