"""A statement and the catalog -> the stages that carry it out. Nothing happens here: plans are values."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from millpond.catalog.model import Index, PersistentQuery, QueryState, Relation, RelationKind, SessionContext
from millpond.catalog.names import Parts, new_relation_name, new_schema_name, resolve_relation, resolve_store
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan import drops
from millpond.plan.assignment import assign
from millpond.plan.binder import bind
from millpond.plan.expressions import ColumnRef, Expr, Literal
from millpond.plan.nodes import Kind, Project, Sink
from millpond.plan.properties import QUERY, RELATION, SINK, TEXT, VIEW, read_properties
from millpond.plan.query import QueryPlan, plan_query
from millpond.plan.relations import Home, TopicFacts, declared_relation, derived_relation
from millpond.plan.scope import Scope
from millpond.plan.stages import (
    AddIndex,
    AddNamespace,
    BuildView,
    EnsureTopic,
    Planned,
    RegisterRelation,
    RestartQuery,
    Stage,
    StartQuery,
    StopQuery,
    UpdateRelation,
    WriteEntity,
    WriteRows,
)
from millpond.sql import statements as st
from millpond.types import Column

COMPACTED = {"cleanup.policy": "compact", "segment.bytes": str(64 << 20), "segment.ms": str(3_600_000)}
"""Of a changelog's topic. Only closed segments are compacted: with Kafka's own sizes a small one never would be."""

TopicLookup = Callable[[str, str], TopicFacts | None]
"""(store, topic) -> its facts, or None if there is no such topic."""


def parts(name: st.Name) -> Parts:
    """A statement's name as the catalog takes it."""
    return tuple((p.text, p.quoted) for p in name.parts)


class Planner:
    """Plans statements for one session."""

    def __init__(self, reader: CatalogReader, context: SessionContext, topics: TopicLookup) -> None:
        self.reader = reader
        self.context = context
        self.topics = topics

    def plan(self, statement: st.Statement) -> Planned:
        """The stages of a statement with effects. Raises the error that makes it impossible, before any effect."""
        match statement:
            case st.CreateRelation():
                return self._create_relation(statement)
            case st.CreateRelationAs():
                return self._create_as(statement)
            case st.InsertSelect():
                return self._insert_select(statement)
            case st.InsertValues():
                return self._insert_values(statement)
            case st.InsertEntity():
                return self._insert_entity(statement)
            case st.CreateIndex():
                return self._create_index(statement)
            case st.CreateNamespace():
                return self._create_namespace(statement)
            case st.Drop():
                return drops.plan_drop(statement, self.reader, self.context)
            case st.Terminate():
                return self._terminate(statement)
            case st.Restart():
                return self._restart(statement)
            case st.AlterRelation():
                return self._alter(statement)
        raise MillpondError("UNSUPPORTED", feature=type(statement).__name__, instead="See docs/sql-reference.md.")

    # --- relations ---

    def _home(self, name: st.Name) -> Home:
        database, schema, relation = new_relation_name(parts(name), self.context)
        if self.reader.schema(database, schema) is None:
            resolve_relation(self.reader, parts(name), self.context)
        return Home(database, schema, relation, self.context)

    def _exists(self, home: Home, if_not_exists: bool, kind: str) -> Planned | None:
        """The answer for a name that is taken, if the statement allows that. Raises DUPLICATE_RELATION."""
        found = self.reader.relation(home.database, home.schema, home.name)
        if found is None:
            return None
        if not if_not_exists:
            raise MillpondError("DUPLICATE_RELATION", name=home.name, kind=found.kind.value)
        return Planned((), kind, home.name, "CREATE", f"'{home.name}' exists already, nothing was done", _path(found))

    def _create_relation(self, statement: st.CreateRelation) -> Planned:
        home = self._home(statement.name)
        taken = self._exists(home, statement.if_not_exists, statement.kind)
        if taken:
            return taken
        columns = self._columns(statement)
        key = tuple(_declared(columns, i, home.name) for i in statement.primary_key)
        what = f"CREATE {statement.kind.upper()}"
        given = self._with_store(read_properties(statement.properties, RELATION, what, prefixes=True))
        _refuse_producer(given, what)
        relation = declared_relation(RelationKind(statement.kind), home, columns, key, given)
        topic = self._declared_topic(relation, given)
        return _created((topic, RegisterRelation(relation)), relation)

    def _columns(self, statement: st.CreateRelation) -> tuple[Column, ...]:
        columns = tuple(
            Column(d.name.text if d.name.quoted else d.name.text.lower(), d.type, d.nullable) for d in statement.columns
        )
        if not columns:
            raise MillpondError(
                "UNSUPPORTED",
                feature="Columns from a schema registry",
                instead="List the columns and their types.",
            )
        names = [c.name for c in columns]
        for name in names:
            if names.count(name) > 1:
                raise MillpondError("DUPLICATE_COLUMN", name=name)
            if name.startswith("_"):
                raise MillpondError("RESERVED_NAME", name=name)
        if statement.kind == "changelog" and not statement.primary_key:
            raise MillpondError(
                "BAD_KEY",
                name=statement.name.parts[-1].text,
                reason="a changelog needs a PRIMARY KEY",
                instead="Add PRIMARY KEY (column) to the column list, or CREATE STREAM.",
            )
        return columns

    def _with_store(self, given: dict[str, Any]) -> dict[str, Any]:
        name = given.get("store")
        wanted: Parts = ((name, True),) if name else ((self.context.store, True),)
        return {**given, "store": resolve_store(self.reader, wanted, self.context).name}

    def _declared_topic(self, relation: Relation, given: Mapping[str, Any]) -> EnsureTopic:
        partitions = given.get("topic.partitions")
        replicas = given.get("topic.replicas")
        return EnsureTopic(relation.store, relation.topic, partitions, replicas, _topic_config(given))

    # --- continuous queries ---

    def _create_as(self, statement: st.CreateRelationAs) -> Planned:
        home = self._home(statement.name)
        kind = _kind(statement.kind)
        taken = self._exists(home, statement.if_not_exists, statement.kind)
        if taken:
            return taken
        what = f"CREATE {'MATERIALIZED VIEW' if kind is RelationKind.VIEW else kind.value.upper()} AS SELECT"
        known = VIEW if kind is RelationKind.VIEW else SINK
        given = self._with_store(read_properties(statement.properties, known, what, prefixes=True))
        plan = plan_query(statement.query, self.reader, self._starting(given))
        _check_kind(kind, plan)
        relation = derived_relation(kind, home, plan, given)
        sink = _sink(relation, plan, given)
        query = self._query(statement, statement.query, relation, plan)
        topics = self._sink_topics(relation, plan, given)
        view = (BuildView(relation),) if kind is RelationKind.VIEW else ()
        return _created((*topics, RegisterRelation(relation), *view, StartQuery(query, sink)), relation, query)

    def _starting(self, given: Mapping[str, Any]) -> SessionContext:
        if "starting.position" not in given:
            return self.context
        settings = {**self.context.settings, "starting.position": given["starting.position"]}
        return replace(self.context, settings=settings)

    def _query(self, statement: st.Statement, query: st.Query, sink: Relation, plan: QueryPlan) -> PersistentQuery:
        given = read_properties(query.properties, QUERY, "QUERY WITH")
        name, version = given.get("query.name"), given.get("query.version", 1)
        other = self.reader.query_named(name, version) if name else None
        if other is not None:
            raise MillpondError("DUPLICATE_QUERY", name=name, version=version, id=other.id)
        now = int(time.time() * 1000)
        return PersistentQuery(
            id=str(uuid.uuid4()),
            name=name,
            version=version,
            sql=statement.text,
            sink=sink.id,
            sources=tuple(dict.fromkeys(s.relation.id for s in plan.scans)),
            owner=self.context.role,
            intended_state=QueryState.RUNNING,
            state=QueryState.STARTING,
            created_at=now,
            updated_at=now,
            database=self.context.database,
            schema=self.context.schema,
            store=self.context.store,
        )

    def _sink_topics(self, relation: Relation, plan: QueryPlan, given: Mapping[str, Any]) -> tuple[EnsureTopic, ...]:
        """The sink's topic with the left-most source's counts unless given, and the dead letters' topic."""
        scan = plan.scans[0].relation
        source = self.topics(scan.store, scan.topic)
        existing = self.topics(relation.store, relation.topic)
        inferred = source.partitions if source and not existing else None
        compacted = {} if relation.kind is RelationKind.STREAM else COMPACTED
        config = {**compacted, **_topic_config(given)}
        sink = EnsureTopic(
            relation.store,
            relation.topic,
            given.get("topic.partitions") or inferred,
            given.get("topic.replicas") or (source.replicas if source and not existing else None),
            config,
        )
        letters = {dead_letter_topic(s, relation) for s in plan.scans if s.error_handling == "LOG"}
        return (sink, *(EnsureTopic(relation.store, t) for t in sorted(letters)))

    def _insert_select(self, statement: st.InsertSelect) -> Planned:
        relation = resolve_relation(self.reader, parts(statement.name), self.context)
        if relation.kind is RelationKind.VIEW:
            raise MillpondError(
                "UNSUPPORTED",
                feature=f"INSERT INTO the materialized view '{relation.name}'",
                instead="Insert into the stream that it reads.",
            )
        plan = plan_query(statement.query, self.reader, self.context)
        if plan.kind is Kind.UPSERT and relation.kind is RelationKind.STREAM:
            _check_kind(relation.kind, plan)
        fitted = _fit(plan, relation)
        query = self._query(statement, statement.query, relation, plan)
        topics = self._sink_topics(relation, plan, {})[1:]
        sink = _sink(relation, fitted, {})
        summary = f"query {query.id} writes into '{relation.name}'"
        return Planned((*topics, StartQuery(query, sink)), "query", query.id, "INSERT", summary, _path(relation))

    # --- rows, indexes, namespaces, queries ---

    def _insert_values(self, statement: st.InsertValues) -> Planned:
        relation = resolve_relation(self.reader, parts(statement.name), self.context)
        if relation.kind is RelationKind.VIEW:
            raise MillpondError(
                "UNSUPPORTED",
                feature=f"INSERT INTO the materialized view '{relation.name}'",
                instead="Insert into the stream that it reads.",
            )
        names = [_declared(relation.columns, i, relation.name) for i in statement.columns] or [
            c.name for c in relation.columns
        ]
        rows = tuple(_row(relation, names, row) for row in statement.rows)
        return Planned(
            (WriteRows(relation, rows),),
            "relation",
            relation.name,
            "INSERT",
            f"{len(rows)} rows",
            _path(relation),
        )

    def _insert_entity(self, statement: st.InsertEntity) -> Planned:
        wanted = parts(statement.store) if statement.store else ((self.context.store, True),)
        store = resolve_store(self.reader, wanted, self.context).name
        topic = entity_topic(statement.entity)
        return Planned((WriteEntity(store, topic, statement.value),), "entity", topic, "INSERT", "1 record")

    def _create_index(self, statement: st.CreateIndex) -> Planned:
        view = resolve_relation(self.reader, parts(statement.view), self.context)
        if view.kind is not RelationKind.VIEW:
            raise MillpondError(
                "UNSUPPORTED",
                feature=f"An index on the {view.kind.value} '{view.name}'",
                instead="Indexes are made on materialized views.",
            )
        columns = tuple(_declared(view.columns, c, view.name) for c in statement.columns)
        name = statement.name.text if statement.name else f"{view.name}_{'_'.join(columns)}"
        if any(i.name == name for i in self.reader.indexes(view.id)):
            if not statement.if_not_exists:
                raise MillpondError("DUPLICATE_INDEX", name=name, relation=view.name)
            return Planned((), "index", name, "CREATE", f"'{name}' exists already, nothing was done", _path(view))
        index = Index(name, view.id, columns, int(time.time() * 1000))
        return Planned(
            (AddIndex(index, view),), "index", name, "CREATE", f"index '{name}' on '{view.name}'", _path(view)
        )

    def _create_namespace(self, statement: st.CreateNamespace) -> Planned:
        if statement.kind == "database":
            (database,) = (p.text if p.quoted else p.text.lower() for p in statement.name.parts)
            schema, there = None, self.reader.database(database) is not None
        else:
            outer = parts(statement.database) if statement.database else ()
            database, schema = new_schema_name(parts(statement.name), self.context, outer)
            there = self.reader.schema(database, schema) is not None
        name = schema or database
        if there and statement.if_not_exists:
            return Planned((), statement.kind, name, "CREATE", f"'{name}' exists already, nothing was done")
        if there and schema is None:
            raise MillpondError("DUPLICATE_DATABASE", name=name)
        if there:
            raise MillpondError("DUPLICATE_SCHEMA", name=name, database=database)
        path = (database,) if schema is None else (database, schema)
        return Planned((AddNamespace(database, schema),), statement.kind, name, "CREATE", f"'{name}' was created", path)

    def _terminate(self, statement: st.Terminate) -> Planned:
        query = drops.query_of(statement.query, self.reader, self.context)
        stages = () if query.state is QueryState.TERMINATED else (StopQuery(query),)
        return Planned(stages, "query", query.id, "TERMINATE", f"query {query.id} is terminated")

    def _restart(self, statement: st.Restart) -> Planned:
        query = drops.query_of(statement.query, self.reader, self.context)
        return Planned((RestartQuery(query),), "query", query.id, "RESTART", f"query {query.id} starts again")

    def _alter(self, statement: st.AlterRelation) -> Planned:
        relation = resolve_relation(self.reader, parts(statement.name), self.context)
        given = read_properties(statement.properties, {"description": TEXT}, "ALTER RELATION")
        changed = replace(relation, description=given["description"], updated_at=int(time.time() * 1000))
        return Planned(
            (UpdateRelation(changed, relation),),
            "relation",
            relation.name,
            "ALTER",
            "description set",
            _path(relation),
        )


def plan_into(
    statement: st.CreateRelationAs | st.InsertSelect,
    sink: Relation,
    reader: CatalogReader,
    context: SessionContext,
) -> Sink:
    """The plan of a statement whose relation is there already: what a restart runs again."""
    if isinstance(statement, st.InsertSelect):
        return _sink(sink, _fit(plan_query(statement.query, reader, context), sink), {})
    known = VIEW if sink.kind is RelationKind.VIEW else SINK
    given = read_properties(statement.properties, known, "CREATE AS SELECT", prefixes=True)
    return _sink(sink, plan_query(statement.query, reader, context), given)


def entity_topic(entity: st.Name) -> str:
    """A Kafka topic's name: the parts joined by dots, as written."""
    return ".".join(p.text for p in entity.parts)


def dead_letter_topic(scan: Any, sink: Relation) -> str:
    """Where records that do not decode go: the source's own choice, else one topic for each sink."""
    return scan.dead_letter_topic or f"dead-letters.{sink.database}.{sink.schema}.{sink.name}"


def _kind(kind: str) -> RelationKind:
    if kind == "table":
        raise MillpondError(
            "UNSUPPORTED",
            feature="CREATE TABLE AS SELECT in the DeltaStream dialect",
            instead="CREATE MATERIALIZED VIEW ... AS SELECT keeps a result that is queried like a table.",
        )
    return RelationKind(kind)


def _check_kind(kind: RelationKind, plan: QueryPlan) -> None:
    if kind is RelationKind.STREAM and plan.kind is Kind.UPSERT:
        raise MillpondError(
            "WRONG_RELATION_KIND",
            inferred="changelog",
            wanted="stream",
            instead="GROUP BY and changelog sources make a changelog: CREATE CHANGELOG ... AS SELECT.",
        )
    if kind is RelationKind.CHANGELOG and plan.kind is Kind.APPEND:
        raise MillpondError(
            "WRONG_RELATION_KIND",
            inferred="stream",
            wanted="changelog",
            instead="Add a GROUP BY, or CREATE STREAM ... AS SELECT.",
        )


def _sink(relation: Relation, plan: QueryPlan, given: Mapping[str, Any]) -> Sink:
    excluded = (*plan.hidden, *_excluded(relation, given))
    producer = tuple(
        (k.removeprefix("kafka.producer."), str(v)) for k, v in given.items() if k.startswith("kafka.producer.")
    )
    return Sink(
        relation.columns,
        plan.node,
        relation,
        plan.key or relation.key_columns,
        plan.having,
        excluded,
        producer,
    )


def _excluded(relation: Relation, given: Mapping[str, Any]) -> tuple[str, ...]:
    excluded: tuple[str, ...] = given.get("value.columns.exclude") or ()
    for column in excluded:
        if column not in relation.key_columns:
            raise MillpondError(
                "BAD_PROPERTY",
                name="value.columns.exclude",
                value=column,
                takes="columns of the key ('key.columns')",
            )
    return excluded


def _fit(plan: QueryPlan, relation: Relation) -> QueryPlan:
    """The plan with its columns cast and named as `relation`'s, by position, for INSERT INTO ... SELECT."""
    if len(plan.columns) != len(relation.columns):
        raise MillpondError(
            "WRONG_VALUES",
            name=relation.name,
            reason=f"the query has {len(plan.columns)} columns, the relation {len(relation.columns)}",
            columns=", ".join(f"{c.name} {c.type}" for c in relation.columns),
        )
    pairs = list(zip(plan.columns, relation.columns, strict=True))
    exprs: list[Expr] = [assign(ColumnRef(have.type, have.name), want) for have, want in pairs]
    renamed = {have.name: want.name for have, want in pairs}
    extra = [c for c in plan.node.columns if c.name in plan.hidden]
    columns = (*relation.columns, *extra)
    node = Project(columns, plan.node, (*exprs, *(ColumnRef(c.type, c.name) for c in extra)))
    key = tuple(renamed.get(k, k) for k in plan.key)
    if plan.kind is Kind.UPSERT and key != relation.key_columns:
        raise MillpondError(
            "BAD_KEY",
            name=relation.name,
            reason=f"the query's key is ({', '.join(key)}), the relation's ({', '.join(relation.key_columns)})",
            instead="Group by the relation's PRIMARY KEY columns, in their order.",
        )
    return replace(plan, node=node, key=key or relation.key_columns)


def _row(relation: Relation, names: list[str], row: tuple[Any, ...]) -> tuple[Expr, ...]:
    if len(row) != len(names):
        raise MillpondError(
            "WRONG_VALUES",
            name=relation.name,
            reason=f"{len(row)} values for {len(names)} columns",
            columns=", ".join(f"{c.name} {c.type}" for c in relation.columns),
        )
    scope = Scope.of_columns((), "VALUES")
    given = {name: bind(value, scope) for name, value in zip(names, row, strict=True)}
    return tuple(assign(given[c.name], c) if c.name in given else Literal(c.type, None) for c in relation.columns)


def _declared(columns: tuple[Any, ...], name: st.Identifier, where: str) -> str:
    """The column that `name` means: exactly first, then without case."""
    text = name.text if name.quoted else name.text.lower()
    exact = [c.name for c in columns if c.name == text] or [c.name for c in columns if c.name.lower() == text.lower()]
    if len(exact) != 1:
        known = ", ".join(c.name for c in columns)
        raise MillpondError("COLUMN_NOT_FOUND", name=name.text, where=f"'{where}'", suggestion=f"It has: {known}.")
    return str(exact[0])


def _topic_config(given: Mapping[str, Any]) -> dict[str, str]:
    return {k.removeprefix("kafka.topic."): str(v) for k, v in given.items() if k.startswith("kafka.topic.")}


def _refuse_producer(given: Mapping[str, Any], what: str) -> None:
    for key in given:
        if key.startswith("kafka.producer."):
            raise MillpondError("UNKNOWN_PROPERTY", name=key, statement=what, suggestion="Queries have producers.")


def _created(stages: tuple[Stage, ...], relation: Relation, query: PersistentQuery | None = None) -> Planned:
    kind = relation.kind.value
    summary = f"{kind} '{relation.name}' was created" + (f", query {query.id} fills it" if query else "")
    label = "MATERIALIZED VIEW" if relation.kind is RelationKind.VIEW else kind.upper()
    return Planned(stages, kind, relation.name, f"CREATE {label}", summary, _path(relation))


def _path(relation: Relation) -> tuple[str, ...]:
    return (relation.database, relation.schema, relation.name)
