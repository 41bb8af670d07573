"""A statement and the catalog -> the stages that carry it out. Nothing happens here: plans are values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from millpond.catalog.lookup import existing_relation
from millpond.catalog.model import QueryState, SessionContext
from millpond.catalog.reader import CatalogReader
from millpond.clock import now_ms
from millpond.errors import MillpondError
from millpond.plan.attachments import Files
from millpond.plan.continuous import plan_create_as, plan_insert_select, plan_into
from millpond.plan.declarations import plan_create_relation
from millpond.plan.drops import plan_drop, query_of
from millpond.plan.entities import plan_create_entity, plan_update_entity
from millpond.plan.namespaces import plan_create_index, plan_create_namespace
from millpond.plan.naming import Names, parts, path_of
from millpond.plan.pointing import point
from millpond.plan.properties import TEXT, read_properties
from millpond.plan.protobuf import DescriptorLookup, NoDescriptors
from millpond.plan.relations import TopicLookup
from millpond.plan.rows import entity_topic, plan_insert_entity, plan_insert_values
from millpond.plan.schemas import ColumnLookup
from millpond.plan.stages import Planned, RestartQuery, StopQuery, UpdateRelation
from millpond.plan.stores import (
    plan_create_descriptor_source,
    plan_create_registry,
    plan_create_store,
    plan_update_registry,
    plan_update_store,
)
from millpond.sql import statements as st
from millpond.types import Column

__all__ = ["Planner", "TopicLookup", "entity_topic", "parts", "plan_into"]


def _no_columns(store: str, topic: str, part: str, form: str) -> tuple[Column, ...]:
    raise MillpondError("NO_SCHEMA_REGISTRY", store=store, format=form)


class Planner:
    """Plans statements for one session."""

    def __init__(
        self,
        reader: CatalogReader,
        context: SessionContext,
        topics: TopicLookup,
        files: Files | None = None,
        columns: ColumnLookup = _no_columns,
        descriptors: DescriptorLookup | None = None,
    ) -> None:
        """`files` are those that came with the statement, by name; `columns` asks schema registries,
        `descriptors` the descriptor sources."""
        self.names = Names(reader, context)
        sent: Files = files or {}
        known = descriptors or NoDescriptors()
        self.topics = topics
        self.rules: dict[type[st.Statement], Callable[[Any], Planned]] = {
            st.CreateRelation: lambda s: plan_create_relation(s, self.names, columns, known),
            st.CreateRelationAs: lambda s: plan_create_as(s, self.names, topics, known),
            st.InsertSelect: lambda s: plan_insert_select(s, self.names, topics, known),
            st.InsertValues: lambda s: plan_insert_values(s, self.names),
            st.InsertEntity: lambda s: plan_insert_entity(s, self.names),
            st.CreateIndex: lambda s: plan_create_index(s, self.names),
            st.CreateNamespace: lambda s: plan_create_namespace(s, self.names),
            st.Drop: lambda s: plan_drop(s, self.names, topics),
            st.CreateStore: lambda s: plan_create_store(s, self.names, sent),
            st.UpdateStore: lambda s: plan_update_store(s, self.names, sent),
            st.CreateEntity: lambda s: plan_create_entity(s, self.names, topics, known),
            st.UpdateEntity: lambda s: plan_update_entity(s, self.names, topics, known),
            st.CreateSchemaRegistry: lambda s: plan_create_registry(s, self.names, sent),
            st.UpdateSchemaRegistry: lambda s: plan_update_registry(s, self.names, sent),
            st.CreateDescriptorSource: lambda s: plan_create_descriptor_source(s, self.names, sent),
            st.Terminate: self._terminate,
            st.Restart: self._restart,
            st.AlterRelation: self._alter,
        }

    def plan(self, statement: st.Statement) -> Planned:
        """The stages of a statement with effects. Raises the error that makes it impossible, before any effect."""
        rule = self.rules.get(type(statement))
        if rule is None:
            raise MillpondError("UNSUPPORTED", feature=type(statement).__name__, instead="See docs/sql-reference.md.")
        try:
            return rule(statement)
        except MillpondError as error:
            point(error, statement)
            raise

    def _terminate(self, statement: st.Terminate) -> Planned:
        query = query_of(statement.query, self.names.reader, self.names.context)
        stages = () if query.state is QueryState.TERMINATED else (StopQuery(query),)
        return Planned(stages, "query", query.id, "TERMINATE", f"query {query.id} is terminated")

    def _restart(self, statement: st.Restart) -> Planned:
        """Raises QUERY_NOT_FOUND, and RELATION_NOT_FOUND if what it wrote into is gone."""
        query = query_of(statement.query, self.names.reader, self.names.context)
        existing_relation(self.names.reader, query.sink)
        return Planned((RestartQuery(query),), "query", query.id, "RESTART", f"query {query.id} starts again")

    def _alter(self, statement: st.AlterRelation) -> Planned:
        relation = self.names.relation(statement.name)
        given = read_properties(statement.properties, {"description": TEXT}, "ALTER RELATION")
        changed = replace(relation, updated_at=now_ms(), **given)
        stages = (UpdateRelation(changed, relation),)
        return Planned(stages, "relation", relation.name, "ALTER", "description set", path_of(relation))
