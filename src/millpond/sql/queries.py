"""A query as a statement: its body, QUERY WITH (...) and EMIT CHANGES."""

from __future__ import annotations

from millpond.sql import select
from millpond.sql.cursor import Cursor
from millpond.sql.properties import property_list
from millpond.sql.statements import Properties, Query


def query(cursor: Cursor) -> Query:
    """The query that must be next. QUERY WITH and EMIT CHANGES come in any order, LIMIT also after them."""
    if not select.at_query(cursor):
        cursor.fail("SELECT")
    tree = select.query_tree(cursor)
    properties: Properties = ()
    emit_changes = False
    while True:
        if not properties and cursor.accept("QUERY", "WITH"):
            properties = property_list(cursor)
        elif not emit_changes and cursor.accept("EMIT", "CHANGES"):
            emit_changes = True
            select.limit(cursor, tree)
        else:
            return Query(tree, properties, emit_changes, text=cursor.sql)
