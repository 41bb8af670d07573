"""The view store's tables: names, columns, indexes, as SQL text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from millpond.catalog.model import Relation
from millpond.types import DataType

SQLITE_TYPES = {
    **dict.fromkeys(("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT"), "INTEGER"),
    **dict.fromkeys(("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"), "INTEGER"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "REAL"),
    **dict.fromkeys(("BYTES", "VARBINARY"), "BLOB"),
    "DECIMAL": "TEXT COLLATE DECIMAL",
}
OFFSETS_TABLE = """CREATE TABLE IF NOT EXISTS _offsets(
  relation TEXT NOT NULL, partition INTEGER NOT NULL, next_offset INTEGER NOT NULL, topic_id TEXT NOT NULL,
  PRIMARY KEY(relation, partition)) WITHOUT ROWID"""


@dataclass(frozen=True, slots=True)
class ViewIndex:
    """An index of a view's table; its name is unique within the view."""

    name: str
    columns: tuple[str, ...]


def quote(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def table_name(relation_id: str) -> str:
    """The table of a view."""
    return "v_" + relation_id.replace("-", "_")


def sqlite_type(type_: DataType) -> str:
    """Affinity and collation of a column."""
    return SQLITE_TYPES.get(type_.name, "TEXT")


def column_definitions(relation: Relation) -> str:
    """The visible columns with their SQLite types."""
    return ", ".join(f"{quote(c.name)} {sqlite_type(c.type)}" for c in relation.columns)


def create_table(relation: Relation) -> str:
    """The table of a view; its rows are found by the record's key."""
    return (
        f"CREATE TABLE {quote(table_name(relation.id))}"
        f"(_key BLOB NOT NULL PRIMARY KEY, {column_definitions(relation)}, _ingested INTEGER) WITHOUT ROWID"
    )


def upsert(relation: Relation) -> str:
    """One row: key, visible columns, ingested. For a key its columns never change, nor does their index."""
    names = [quote(c.name) for c in relation.columns]
    fixed = {quote(name) for name in relation.primary_key}
    changed = ", ".join(f"{n} = excluded.{n}" for n in [*names, "_ingested"] if n not in fixed)
    marks = ", ".join("?" * (len(names) + 2))
    return (
        f"INSERT INTO {quote(table_name(relation.id))}(_key, {', '.join(names)}, _ingested) VALUES ({marks}) "
        f"ON CONFLICT(_key) DO UPDATE SET {changed}"
    )


def delete(relation: Relation) -> str:
    """One row by its key."""
    return f"DELETE FROM {quote(table_name(relation.id))} WHERE _key = ?"


def own_indexes(relation: Relation) -> tuple[ViewIndex, ...]:
    """The indexes that a view has without being asked: its primary key, and age if it forgets."""
    visible = tuple(name for name in relation.primary_key if relation.column(name) is not None)
    found = [ViewIndex("_primary_key", visible)] if visible else []
    if retention_millis(relation) is not None:
        found.append(ViewIndex("_ingested", ("_ingested",)))
    return tuple(found)


def retention_millis(relation: Relation) -> int | None:
    """How long a row is kept after its source event came in; None: for ever."""
    text = relation.properties.get("retention.millis")
    return int(text) if text else None


def index_name(relation_id: str, index: ViewIndex | str) -> str:
    """SQLite's name of an index: unique in the file."""
    name = index if isinstance(index, str) else index.name
    return f"{table_name(relation_id)}.{name}"


def create_index(relation_id: str, index: ViewIndex) -> str:
    """CREATE INDEX for a view's table."""
    columns = ", ".join(quote(c) for c in index.columns)
    name = quote(index_name(relation_id, index))
    return f"CREATE INDEX IF NOT EXISTS {name} ON {quote(table_name(relation_id))}({columns})"


def drop_index(relation_id: str, name: str) -> str:
    """DROP INDEX for a view's table."""
    return f"DROP INDEX IF EXISTS {quote(index_name(relation_id, name))}"


def wanted_indexes(relation: Relation, indexes: Iterable[ViewIndex]) -> dict[str, ViewIndex]:
    """All indexes of a view by SQLite's name."""
    return {index_name(relation.id, i): i for i in (*own_indexes(relation), *indexes)}
