"""DROP ... -> stages; refused while something depends on it."""

from __future__ import annotations

from millpond.catalog.dependents import live, refuse_used_by_relations, refuse_used_relation
from millpond.catalog.model import PersistentQuery, Relation, RelationKind, SessionContext
from millpond.catalog.names import (
    fold_parts,
    resolve_database,
    resolve_index,
    resolve_query,
    resolve_relation,
    resolve_schema,
)
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.entities import plan_drop_entity
from millpond.plan.naming import Names
from millpond.plan.relations import TopicLookup
from millpond.plan.stages import (
    DeleteTopic,
    Planned,
    RemoveIndex,
    RemoveNamespace,
    RemoveView,
    Stage,
    StopQuery,
    UnregisterRelation,
)
from millpond.plan.stores import plan_drop_descriptor_source, plan_drop_registry, plan_drop_store
from millpond.sql import statements as st

RELATION_KINDS = {
    "stream": (RelationKind.STREAM,),
    "changelog": (RelationKind.CHANGELOG,),
    "view": (RelationKind.VIEW,),
    "table": (RelationKind.VIEW,),
    "relation": tuple(RelationKind),
}


def plan_drop(statement: st.Drop, names: Names, topics: TopicLookup) -> Planned:
    """Raises the not-found errors (unless IF EXISTS), DEPENDENTS_EXIST, WRONG_RELATION_KIND."""
    try:
        stages, path = _stages(statement, names, topics)
    except MillpondError as error:
        if statement.if_exists and error.name.endswith("_NOT_FOUND"):
            name = statement.name.parts[-1].text
            return Planned((), statement.kind, name, "DROP", f"'{name}' is not there, nothing was done")
        raise
    return Planned(stages, statement.kind, path[-1], "DROP", f"'{path[-1]}' was dropped{_kept(stages)}", path)


def _kept(stages: tuple[Stage, ...]) -> str:
    """What a DROP leaves in the store: the records of a stream or a changelog, and dead letters, which are nobody's."""
    relation = next((s.relation for s in stages if isinstance(s, UnregisterRelation)), None)
    if relation is None:
        return ""
    if relation.kind is RelationKind.VIEW:
        return " with its topic; its dead letters are kept"
    return f"; its topic '{relation.topic}' is kept"


OUTSIDE = {
    "store": plan_drop_store,
    "schema_registry": plan_drop_registry,
    "descriptor_source": plan_drop_descriptor_source,
}


def _stages(statement: st.Drop, names: Names, topics: TopicLookup) -> tuple[tuple[Stage, ...], tuple[str, ...]]:
    reader, context = names.reader, names.context
    name = tuple((p.text, p.quoted) for p in statement.name.parts)
    if statement.kind == "entity":
        return plan_drop_entity(statement, names, topics)
    if statement.kind in OUTSIDE:
        return OUTSIDE[statement.kind](statement.name, names), fold_parts(name, context)
    if statement.kind in RELATION_KINDS:
        return _drop_relation(resolve_relation(reader, name, context), statement.kind, reader)
    if statement.kind == "index":
        index = resolve_index(reader, name, context)
        view = reader.relation_by_id(index.relation)
        assert view is not None
        return (RemoveIndex(index, view),), (index.name,)
    if statement.kind == "schema":
        schema = resolve_schema(reader, name, context)
        refuse_used_by_relations(reader, "schema", schema.name, reader.relations(schema.database, schema.name))
        return (RemoveNamespace(schema.database, schema.name),), (schema.database, schema.name)
    if statement.kind == "database":
        database = resolve_database(reader, name, context)
        refuse_used_by_relations(reader, "database", database.name, reader.relations(database.name))
        return (RemoveNamespace(database.name),), (database.name,)
    raise MillpondError(
        "UNSUPPORTED",
        feature=f"DROP {statement.kind.upper()}",
        instead="See docs/sql-reference.md for what is.",
    )


def _drop_relation(relation: Relation, kind: str, reader: CatalogReader) -> tuple[tuple[Stage, ...], tuple[str, ...]]:
    if relation.kind not in RELATION_KINDS[kind]:
        raise MillpondError(
            "WRONG_OBJECT_KIND",
            name=relation.name,
            kind=relation.kind.value,
            statement=f"DROP {kind.upper()}",
        )
    path = (relation.database, relation.schema, relation.name)
    if relation.kind is RelationKind.VIEW:
        stops = tuple(StopQuery(q) for q in live(reader.queries_writing(relation.id)))
        remove = (
            RemoveView(relation),
            UnregisterRelation(relation),
            DeleteTopic(relation.store, relation.topic),
        )
        return (*stops, *remove), path
    refuse_used_relation(reader, relation)
    return (UnregisterRelation(relation),), path


def query_of(name: st.Name, reader: CatalogReader, context: SessionContext) -> PersistentQuery:
    """The query that a statement names by id or by name."""
    return resolve_query(reader, tuple((p.text, p.quoted) for p in name.parts), context)
