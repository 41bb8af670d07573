"""CREATE: streams, changelogs, views, tables, databases, schemas, indexes."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.sql.cursor import Cursor
from millpond.sql.datatypes import data_type
from millpond.sql.names import identifier, identifiers, name
from millpond.sql.properties import with_list
from millpond.sql.queries import query
from millpond.sql.statements import (
    ColumnDefinition,
    CreateIndex,
    CreateNamespace,
    CreateRelation,
    CreateRelationAs,
    Identifier,
    Statement,
)


@dataclass(frozen=True, slots=True)
class _Columns:
    """What stands in parentheses after a relation's name."""

    columns: tuple[ColumnDefinition, ...]
    primary_key: tuple[Identifier, ...]


def create_stream(cursor: Cursor) -> Statement:
    return _create_relation(cursor, "stream")


def create_changelog(cursor: Cursor) -> Statement:
    return _create_relation(cursor, "changelog")


def create_view(cursor: Cursor) -> Statement:
    return _create_as(cursor, "view", "a materialized view")


def create_table(cursor: Cursor) -> Statement:
    return _create_as(cursor, "table", "a table")


def create_database(cursor: Cursor) -> Statement:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    return CreateNamespace("database", name(cursor, "a database", 1), None, if_not_exists, text=cursor.sql)


def create_schema(cursor: Cursor) -> Statement:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    schema = name(cursor, "a schema", 2)
    database = name(cursor, "a database", 1) if cursor.accept("IN", "DATABASE") else None
    if database and len(schema.parts) > 1:
        cursor.problem("The schema's name has the database in it already.", back=1)
    return CreateNamespace("schema", schema, database, if_not_exists, text=cursor.sql)


def create_index(cursor: Cursor) -> Statement:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    index = None if cursor.at("ON") else identifier(cursor, "an index")
    cursor.expect("ON")
    view = name(cursor, "a materialized view")
    return CreateIndex(index, view, identifiers(cursor, "a column"), if_not_exists, text=cursor.sql)


def _create_relation(cursor: Cursor, kind: str) -> Statement:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    relation = name(cursor, f"a {kind}")
    given = _columns(cursor, kind) if cursor.at("(") else None
    properties = with_list(cursor)
    if cursor.at("AS") and given is None:
        cursor.advance()
        return CreateRelationAs(kind, relation, query(cursor), properties, if_not_exists, text=cursor.sql)
    if cursor.at("AS"):
        cursor.problem("The columns come from the SELECT: leave out the list of columns.")
    if given is None and not properties:
        cursor.fail("(", "WITH", "AS")
    columns = given or _Columns((), ())
    return CreateRelation(
        kind, relation, columns.columns, columns.primary_key, properties, if_not_exists, text=cursor.sql
    )


def _create_as(cursor: Cursor, kind: str, what: str) -> Statement:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    relation = name(cursor, what)
    if kind == "table" and cursor.at("("):
        cursor.unsupported("CREATE TABLE with columns", "CREATE STREAM or CREATE CHANGELOG declare what is in a topic.")
    properties = with_list(cursor)
    if not cursor.accept("AS"):
        cursor.fail(*(("AS",) if properties else ("WITH", "AS")))
    return CreateRelationAs(kind, relation, query(cursor), properties, if_not_exists, text=cursor.sql)


def _columns(cursor: Cursor, kind: str) -> _Columns:
    columns: list[ColumnDefinition] = []
    key: tuple[Identifier, ...] = ()
    cursor.expect("(")
    while True:
        if cursor.at("PRIMARY", "KEY"):
            key = _primary_key(cursor, kind, key)
            key = identifiers(cursor, "a column")
        else:
            columns.append(_column(cursor))
            if cursor.at("PRIMARY", "KEY"):
                key = _primary_key(cursor, kind, key) or (columns[-1].name,)
        if not cursor.accept(","):
            break
    if not cursor.accept(")"):
        cursor.fail(",", ")", "NOT NULL")
    if not columns:
        cursor.problem("At least one column is needed besides the PRIMARY KEY.", back=1)
    return _Columns(tuple(columns), key)


def _primary_key(cursor: Cursor, kind: str, given: tuple[Identifier, ...]) -> tuple[Identifier, ...]:
    """Step over PRIMARY KEY, where it is allowed and the first one."""
    if kind == "stream":
        cursor.problem("A STREAM has no PRIMARY KEY. Leave it out, or write CREATE CHANGELOG.")
    if given:
        cursor.problem("There is one PRIMARY KEY; list all its columns in it.")
    cursor.advance(2)
    return ()


def _column(cursor: Cursor) -> ColumnDefinition:
    column = identifier(cursor, "a column")
    kind = data_type(cursor)
    nullable = not cursor.accept("NOT", "NULL")
    if nullable:
        cursor.accept("NULL")
    return ColumnDefinition(column, kind, nullable)
