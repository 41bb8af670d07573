"""INSERT INTO: from a query, of values, of one JSON record into an entity."""

from __future__ import annotations

from typing import cast

from sqlglot import exp

from millpond.sql import expressions, select
from millpond.sql.cursor import Cursor
from millpond.sql.names import identifiers, name
from millpond.sql.properties import with_list
from millpond.sql.queries import query
from millpond.sql.statements import InsertEntity, InsertSelect, InsertValues, Statement
from millpond.sql.stores import entity_in_store


def insert(cursor: Cursor) -> Statement:
    """What follows INSERT INTO."""
    if (
        cursor.at_any(("ENTITY", "TOPIC"))
        and cursor.at_name(ahead=1)
        and cursor.key(1) not in ("VALUES", "VALUE", "SELECT")
    ):
        cursor.advance()
        return _entity(cursor)
    relation = name(cursor, "a relation")
    columns = identifiers(cursor, "a column") if cursor.at("(") and not select.at_query(cursor) else ()
    if cursor.accept("VALUES"):
        return InsertValues(relation, columns, _rows(cursor, len(columns)), text=cursor.sql)
    if not select.at_query(cursor):
        cursor.fail(*(("VALUES",) if columns else ("SELECT", "VALUES", "(")))
    if columns:
        cursor.unsupported("A list of columns before SELECT", "Write the SELECT list in the order of the columns.")
    return InsertSelect(relation, query(cursor), text=cursor.sql)


def _rows(cursor: Cursor, width: int) -> tuple[tuple[exp.Expression, ...], ...]:
    found = [_row(cursor, width)]
    while cursor.accept(","):
        found.append(_row(cursor, width or len(found[0])))
    return tuple(found)


def _row(cursor: Cursor, width: int) -> tuple[exp.Expression, ...]:
    """One row; `width` values, if it is not 0."""
    start = cursor.index
    cursor.expect("(")
    values = expressions.expressions(cursor)
    if not cursor.accept(")"):
        cursor.fail(",", ")")
    if width and len(values) != width:
        back = cursor.index - start
        cursor.problem(f"This row has {len(values)} values where {width} are expected.", back=back)
    return tuple(cast(list[exp.Expression], values))


def _entity(cursor: Cursor) -> Statement:
    entity, store = entity_in_store(cursor)
    if not cursor.accept("VALUE") and not cursor.accept("VALUES"):
        cursor.fail(*(("VALUE",) if store else ("IN STORE", "VALUE")))
    cursor.expect("(")
    value = cursor.string("a record as JSON in single quotes")
    cursor.expect(")")
    return InsertEntity(entity, store, value, with_list(cursor), text=cursor.sql)
