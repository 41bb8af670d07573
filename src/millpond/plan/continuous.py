"""CREATE ... AS SELECT and INSERT INTO ... SELECT: a query that runs for ever -> stages, and its plan again later."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from millpond.catalog.dependents import live
from millpond.catalog.lookup import existing_store
from millpond.catalog.model import PersistentQuery, QueryState, Relation, RelationKind, SessionContext
from millpond.catalog.reader import CatalogReader
from millpond.catalog.store_kinds import STORE_KINDS
from millpond.clock import now_ms
from millpond.errors import MillpondError
from millpond.plan.assignment import assign
from millpond.plan.dead_letters import LAST_RESORT, dead_letter_places
from millpond.plan.delimited import check_delimited
from millpond.plan.expressions import Expr
from millpond.plan.naming import Names, path_of
from millpond.plan.nodes import Kind, Sink
from millpond.plan.properties import QUERY, SINK, VIEW, read_properties
from millpond.plan.protobuf import DescriptorLookup, check_protobuf, with_descriptors, with_entity
from millpond.plan.query import QueryPlan, plan_query
from millpond.plan.relations import TopicLookup, created, derived_relation
from millpond.plan.schemas import check_schemas, sink_schemas
from millpond.plan.sink_topics import new_topic, refuse_feeding_itself
from millpond.plan.stages import BuildView, EnsureTopic, Planned, RegisterRelation, StartQuery
from millpond.plan.topics import check_new_topic, refuse_view_topic
from millpond.sql import statements as st
from millpond.sql.position import position_of
from millpond.types import Column


def plan_create_as(
    statement: st.CreateRelationAs, names: Names, topics: TopicLookup, descriptors: DescriptorLookup
) -> Planned:
    """Topics, relation, view if it is one, query: in this order, so that each finds what it needs."""
    home = names.home(statement.name)
    kind = _kind(statement)
    taken = names.taken(home, statement)
    if taken:
        return taken
    given = with_descriptors(names.with_store(_sink_properties(statement, kind)), descriptors)
    if kind is RelationKind.VIEW:
        given = _with_compacting_store(given, statement, names.reader)
    plan = plan_query(statement.query, names.reader, _starting(names.context, given))
    _check_kind(kind, plan, statement.name)
    relation = with_entity(derived_relation(kind, home, plan, given), names.reader)
    _check_topic(relation, names.reader)
    sink = _sink(relation, plan, given, names.reader)
    query = _query(statement, statement.query, relation, plan, names)
    view = (BuildView(relation),) if kind is RelationKind.VIEW else ()
    topic = new_topic(sink, plan.scans[0], given, topics)
    check_delimited(relation)
    check_schemas(relation, names.reader)
    check_protobuf(relation, names.reader, descriptors, written=True)
    stages = (topic, *_dead_letter_topics(sink, names.reader), *sink_schemas(sink), RegisterRelation(relation), *view)
    return created((*stages, StartQuery(query, sink)), relation, query)


def plan_insert_select(
    statement: st.InsertSelect, names: Names, topics: TopicLookup, descriptors: DescriptorLookup
) -> Planned:
    """Raises WRONG_VALUES, TYPE_MISMATCH, BAD_KEY, WRONG_RELATION_KIND besides what `plan_query` raises."""
    relation = names.target(statement.name)
    plan = _plan_for(relation, statement, names.reader, names.context)
    if relation.kind is RelationKind.STREAM:
        _check_kind(relation.kind, plan, statement.name)
    sink = _sink(relation, _fitted(plan, relation, statement.query), {}, names.reader)
    refuse_feeding_itself(sink)
    check_protobuf(relation, names.reader, descriptors, written=True)
    query = _query(statement, statement.query, relation, plan, names)
    summary = f"query {query.id} writes into '{relation.name}'"
    stages = (*_dead_letter_topics(sink, names.reader), *sink_schemas(sink), StartQuery(query, sink))
    return Planned(stages, "query", query.id, "INSERT", summary, path_of(relation))


def plan_into(
    statement: st.CreateRelationAs | st.InsertSelect,
    sink: Relation,
    reader: CatalogReader,
    context: SessionContext,
) -> Sink:
    """The plan of a statement whose relation is there already: what a restart runs again."""
    if isinstance(statement, st.InsertSelect):
        return _sink(sink, _fitted(_plan_for(sink, statement, reader, context), sink, statement.query), {}, reader)
    given = _sink_properties(statement, sink.kind)
    return _sink(sink, plan_query(statement.query, reader, _starting(context, given)), given, reader)


def _kind(statement: st.CreateRelationAs) -> RelationKind:
    if statement.kind == "table":
        raise MillpondError(
            "UNSUPPORTED",
            position=statement.name.position,
            feature="CREATE TABLE AS SELECT in the DeltaStream dialect",
            instead="CREATE MATERIALIZED VIEW ... AS SELECT keeps a result that is queried like a table.",
        )
    return RelationKind(statement.kind)


def _sink_properties(statement: st.CreateRelationAs, kind: RelationKind) -> dict[str, Any]:
    view = kind is RelationKind.VIEW
    what = f"CREATE {'MATERIALIZED VIEW' if view else kind.value.upper()} AS SELECT"
    return read_properties(statement.properties, VIEW if view else SINK, what, prefixes=True)


def _with_compacting_store(
    given: dict[str, Any], statement: st.CreateRelationAs, reader: CatalogReader
) -> dict[str, Any]:
    """A view's changelog keeps the last record of each key: where the session's store cannot, it lies in `kafka`."""
    store = given["store"]
    if STORE_KINDS[existing_store(reader, store).type].compacts:
        return given
    if any(item.key == "store" for item in statement.properties):
        raise MillpondError(
            "UNSUPPORTED",
            position=statement.name.position,
            feature=f"A materialized view's changelog in the store '{store}'",
            instead="Name a Kafka store: 'store' = 'kafka'. Its sources may lie anywhere.",
        )
    return {**given, "store": existing_store(reader, LAST_RESORT).name}


def _starting(context: SessionContext, given: Mapping[str, Any]) -> SessionContext:
    """`starting.position` of the statement stands for that of its sources."""
    if "starting.position" not in given:
        return context
    return replace(context, settings={**context.settings, "starting.position": given["starting.position"]})


def _check_kind(kind: RelationKind, plan: QueryPlan, name: st.Name) -> None:
    """Raises WRONG_RELATION_KIND. A view is made of both."""
    wrong = {RelationKind.STREAM: Kind.UPSERT, RelationKind.CHANGELOG: Kind.APPEND}.get(kind)
    if plan.kind is not wrong:
        return
    stream = kind is RelationKind.STREAM
    raise MillpondError(
        "WRONG_RELATION_KIND",
        position=name.position,
        inferred="changelog" if stream else "stream",
        wanted=kind.value,
        instead=(
            "GROUP BY and changelog sources make a changelog: CREATE CHANGELOG ... AS SELECT."
            if stream
            else "Add a GROUP BY, or CREATE STREAM ... AS SELECT."
        ),
    )


def _query(statement: st.Statement, query: st.Query, sink: Relation, plan: QueryPlan, names: Names) -> PersistentQuery:
    """The query that the catalog will know. Raises DUPLICATE_QUERY."""
    given = read_properties(query.properties, QUERY, "QUERY WITH")
    name, version = given.get("query.name"), given.get("query.version", 1)
    other = names.reader.query_named(name, version) if name else None
    if other is not None and live([other]):
        position = next(p.position for p in query.properties if p.key == "query.name")
        raise MillpondError("DUPLICATE_QUERY", position=position, name=name, version=version, id=other.id)
    now, context = now_ms(), names.context
    return PersistentQuery(
        id=str(uuid.uuid4()),
        name=name,
        version=version,
        sql=statement.text,
        sink=sink.id,
        sources=tuple(dict.fromkeys(s.relation.id for s in plan.scans)),
        owner=context.role,
        intended_state=QueryState.RUNNING,
        state=QueryState.STARTING,
        created_at=now,
        updated_at=now,
        database=context.database,
        schema=context.schema,
        store=context.store,
    )


def _check_topic(relation: Relation, reader: CatalogReader) -> None:
    """Raises BAD_TOPIC_NAME, INTERNAL_TOPIC, UNSUPPORTED for the topic of a view."""
    store = existing_store(reader, relation.store)
    check_new_topic(store, relation.topic)
    if relation.kind is not RelationKind.VIEW:  # a view's must not be there at all
        refuse_view_topic(reader, store, relation.topic)


def _dead_letter_topics(sink: Sink, reader: CatalogReader) -> tuple[EnsureTopic, ...]:
    """Raises BAD_TOPIC_NAME, INTERNAL_TOPIC, UNSUPPORTED for the topic of a view."""
    places = dead_letter_places(sink)
    for place in places:
        check_new_topic(store := existing_store(reader, place.store), place.topic)
        refuse_view_topic(reader, store, place.topic)
    return tuple(EnsureTopic(place.store, place.topic) for place in places)


def _sink(relation: Relation, plan: QueryPlan, given: Mapping[str, Any], reader: CatalogReader) -> Sink:
    producer = tuple(
        (k.removeprefix("kafka.producer."), str(v)) for k, v in given.items() if k.startswith("kafka.producer.")
    )
    key = plan.key or relation.key_columns
    kind = existing_store(reader, relation.store).type
    return Sink(relation.columns, plan.node, relation, key, plan.having, relation.excluded_columns, producer, kind)


def _plan_for(
    relation: Relation, statement: st.InsertSelect, reader: CatalogReader, context: SessionContext
) -> QueryPlan:
    return plan_query(statement.query, reader, context, into=[c.name for c in relation.columns])


def _fitted(plan: QueryPlan, relation: Relation, query: st.Query) -> QueryPlan:
    """The plan, whose columns are named as `relation`'s already, with its columns cast to them."""
    if len(plan.columns) != len(relation.columns):
        raise MillpondError(
            "WRONG_VALUES",
            name=relation.name,
            reason=f"the query has {len(plan.columns)} columns, the relation {len(relation.columns)}",
            columns=", ".join(f"{c.name} {c.type}" for c in relation.columns),
        )
    project = plan.node
    listed: list[exp.Expr] = query.tree.expressions
    trees = listed if len(listed) == len(relation.columns) else [query.tree] * len(relation.columns)
    made = {c.name: e for c, e in zip(project.columns, project.exprs, strict=True)}
    exprs = [_assigned(made[c.name], c, tree) for c, tree in zip(relation.columns, trees, strict=True)]
    extra = [c for c in project.columns if c.name in plan.hidden]
    node = replace(project, columns=(*relation.columns, *extra), exprs=(*exprs, *(made[c.name] for c in extra)))
    key = plan.key
    if plan.kind is Kind.UPSERT and key != relation.key_columns:
        raise MillpondError(
            "BAD_KEY",
            name=relation.name,
            reason=f"the query's key is ({', '.join(key)}), the relation's ({', '.join(relation.key_columns)})",
            instead="Group by the relation's PRIMARY KEY columns, in their order.",
        )
    return replace(plan, node=node, key=key or relation.key_columns)


def _assigned(expr: Expr, column: Column, tree: exp.Expr) -> Expr:
    try:
        return assign(expr, column)
    except MillpondError as error:
        error.position = error.position or position_of(tree)
        raise
