"""What FROM of a query over views may name: views as their tables, and the system's own tables."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millpond.catalog.model import Relation, RelationKind, SessionContext
from millpond.catalog.names import resolve_relation
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.sources import name_parts
from millpond.serve.sys_tables import sys_tables
from millpond.sql.position import position_of
from millpond.types import Column
from millpond.views.schema import table_name


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the store: `sql` is what stands in SQLite's FROM."""

    sql: str
    columns: tuple[Column, ...]
    name: tuple[str, ...]
    view: Relation | None = None


def find_table(table: exp.Table, reader: CatalogReader, context: SessionContext) -> Table:
    """Raises RELATION_NOT_FOUND, and NOT_QUERYABLE for what is no table."""
    parts = name_parts(table)
    path = [text.lower() for text, _ in parts]
    if path[:-1] in (["deltastream", "sys"], ["sys"]):
        return _system_table(path[-1], table, reader)
    try:
        relation = resolve_relation(reader, parts, context)
    except MillpondError as error:
        error.position = error.position or position_of(table)
        raise
    if relation.kind is not RelationKind.VIEW:
        raise MillpondError(
            "NOT_QUERYABLE",
            position=position_of(table),
            what=f"The {relation.kind.value} '{relation.name}'",
            instead="CREATE MATERIALIZED VIEW ... AS SELECT for it, then query that.",
        )
    name = (relation.database, relation.schema, relation.name)
    return Table(f'"{table_name(relation.id)}"', relation.columns, name, relation)


def _system_table(name: str, table: exp.Table, reader: CatalogReader) -> Table:
    known = sys_tables(reader)
    if name not in known:
        raise MillpondError(
            "RELATION_NOT_FOUND",
            position=position_of(table),
            name=f"deltastream.sys.{name}",
            suggestion=f"The system's tables are: {', '.join(sorted(known))}.",
        )
    return Table(f'"sys_{name}"', known[name].columns, ("deltastream", "sys", name))
