"""CREATE DATABASE, CREATE SCHEMA and CREATE INDEX -> stages."""

from __future__ import annotations

from millpond.catalog.model import Index, Relation, RelationKind
from millpond.catalog.names import new_name, new_schema_name, resolve_database
from millpond.catalog.reader import CatalogReader
from millpond.clock import now_ms
from millpond.errors import MillpondError
from millpond.plan.naming import Names, column_named, parts, path_of, refuse_twice
from millpond.plan.stages import AddIndex, AddNamespace, Planned
from millpond.sql import statements as st


def plan_create_namespace(statement: st.CreateNamespace, names: Names) -> Planned:
    """Raises DUPLICATE_DATABASE, DUPLICATE_SCHEMA, DATABASE_NOT_FOUND, INVALID_NAME."""
    path = _new_path(statement, names)
    there = names.reader.schema(*path) if len(path) == 2 else names.reader.database(*path)
    if there is not None:
        return _there(statement, path)
    stage = AddNamespace(path[0], path[1] if len(path) == 2 else None)
    return Planned((stage,), statement.kind, path[-1], "CREATE", f"'{path[-1]}' was created", path)


def _new_path(statement: st.CreateNamespace, names: Names) -> tuple[str, ...]:
    """(database,) or (database, schema)."""
    name, context = parts(statement.name), names.context
    if statement.kind == "database":
        return (new_name(name, context, "database"),)
    database, schema = new_schema_name(name, context, parts(statement.database) if statement.database else ())
    return (resolve_database(names.reader, ((database, True),), context).name, schema)


def _there(statement: st.CreateNamespace, path: tuple[str, ...]) -> Planned:
    if statement.if_not_exists:
        summary = f"'{path[-1]}' exists already, nothing was done"
        return Planned((), statement.kind, path[-1], "CREATE", summary, path)
    if len(path) == 1:
        raise MillpondError("DUPLICATE_DATABASE", name=path[0])
    raise MillpondError("DUPLICATE_SCHEMA", name=path[1], database=path[0])


def plan_create_index(statement: st.CreateIndex, names: Names) -> Planned:
    """Raises RELATION_NOT_FOUND, UNSUPPORTED for what is no view, COLUMN_NOT_FOUND, DUPLICATE_INDEX."""
    view = names.relation(statement.view)
    if view.kind is not RelationKind.VIEW:
        raise MillpondError(
            "UNSUPPORTED",
            position=statement.view.position,
            feature=f"An index on the {view.kind.value} '{view.name}'",
            instead="Indexes are made on materialized views.",
        )
    columns = tuple(column_named(view.columns, c, view.name) for c in statement.columns)
    refuse_twice(statement.columns, columns)
    given = statement.name
    name = new_name(((given.text, given.quoted),), names.context, "index") if given else _index_name(view.name, columns)
    taken = _indexed(name, view, names.reader)
    if taken is not None:
        if not statement.if_not_exists:
            position = given.position if given else None
            raise MillpondError("DUPLICATE_INDEX", position=position, name=name, relation=taken.name)
        return Planned((), "index", name, "CREATE", f"'{name}' exists already, nothing was done", path_of(taken))
    stage = AddIndex(Index(name, view.id, columns, now_ms()), view)
    return Planned((stage,), "index", name, "CREATE", f"index '{name}' on '{view.name}'", path_of(view))


def _indexed(name: str, view: Relation, reader: CatalogReader) -> Relation | None:
    """The relation in the view's schema that has an index of that name."""
    home = reader.relations(view.database, view.schema)
    return next((r for r in home if any(i.name == name for i in reader.indexes(r.id))), None)


def _index_name(view: str, columns: tuple[str, ...]) -> str:
    return f"{view}_{'_'.join(columns)}"
