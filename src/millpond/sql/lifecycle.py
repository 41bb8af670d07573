"""Statements about running queries and records: TERMINATE, RESTART, PRINT; and ALTER RELATION."""

from __future__ import annotations

from millpond.errors import MillpondError
from millpond.sql.cursor import Cursor
from millpond.sql.names import name, query_name
from millpond.sql.properties import property_key, property_value, with_list
from millpond.sql.statements import AlterRelation, PrintEntity, Property, Restart, Statement, Terminate


def terminate(cursor: Cursor) -> Statement:
    """What follows TERMINATE: [QUERY] and a query."""
    _query_word(cursor)
    return Terminate(query_name(cursor), text=cursor.sql)


def restart(cursor: Cursor) -> Statement:
    """What follows RESTART: [QUERY] and a query."""
    _query_word(cursor)
    return Restart(query_name(cursor), text=cursor.sql)


def _query_word(cursor: Cursor) -> None:
    if cursor.at("QUERY") and not cursor.last:
        cursor.advance()


def print_entity(cursor: Cursor) -> Statement:
    """What follows PRINT."""
    if cursor.at_any(("ENTITY", "TOPIC")) and cursor.at_name(ahead=1) and cursor.key(1) not in ("IN", "WITH", "LIMIT"):
        cursor.advance()
    entity = name(cursor, "the entity", parts=None)
    store = name(cursor, "a store", 1) if cursor.accept("IN", "STORE") else None
    from_beginning = cursor.accept("FROM", "BEGINNING") or _from_beginning(cursor)
    limit = cursor.count("a whole number") if cursor.accept("LIMIT") else None
    return PrintEntity(entity, store, from_beginning, limit, text=cursor.sql)


def _from_beginning(cursor: Cursor) -> bool:
    """WITH ('from_beginning'), with or without a value."""
    found = False
    for given in with_list(cursor):
        if given.key != "from_beginning":
            suggestion = "PRINT ENTITY takes 'from_beginning'."
            raise MillpondError(
                "UNKNOWN_PROPERTY",
                position=given.position,
                sql=cursor.sql,
                name=given.key,
                statement="PRINT ENTITY",
                suggestion=suggestion,
            )
        found = str(given.value).lower() in ("none", "true")
    return found


def alter_relation(cursor: Cursor) -> Statement:
    """What follows ALTER RELATION."""
    relation = name(cursor, "a relation")
    cursor.expect("SET")
    properties = [_assignment(cursor)]
    while cursor.accept(","):
        properties.append(_assignment(cursor))
    return AlterRelation(relation, tuple(properties), text=cursor.sql)


def _assignment(cursor: Cursor) -> Property:
    start = cursor.index
    key = property_key(cursor)
    position = cursor.since(start)
    cursor.expect("=")
    return Property(key, property_value(cursor), position)
