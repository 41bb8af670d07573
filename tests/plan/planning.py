"""Statements planned against a catalog in memory, as a session would plan them, without an engine or a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import QueryState, Relation, SessionContext
from millpond.plan import stages as sg
from millpond.plan.nodes import Node, Sink, walk
from millpond.plan.planner import Planner
from millpond.sql.parser import parse
from tests.catalog.examples import KAFKA, ticking

T = TypeVar("T", bound=sg.Stage)
N = TypeVar("N", bound=Node)


@dataclass(frozen=True)
class Topic:
    """A topic as the planner sees it."""

    partitions: int = 1
    replicas: int = 1


@dataclass
class Session:
    """Plans statements and notes in the catalog what they make. `topics` are those that the store has."""

    topics: Mapping[str, Topic] = field(default_factory=dict)
    context: SessionContext = field(default_factory=SessionContext)

    def __post_init__(self) -> None:
        self.catalog = Catalog.in_memory(ticking())
        self.catalog.create_store(KAFKA)

    def plan(self, sql: str) -> sg.Planned:
        """The plan of one statement; nothing is carried out."""
        (statement,) = parse(sql)
        return Planner(self.catalog, self.context, lambda store, topic: self.topics.get(topic)).plan(statement)

    def run(self, sql: str) -> list[sg.Planned]:
        """Plan each statement, and register its relation, query, index or namespace for the next one."""
        plans = []
        for statement in parse(sql):
            planned = self.plan(statement.text)
            for stage in planned.stages:
                self._note(stage)
            plans.append(planned)
        return plans

    def _note(self, stage: sg.Stage) -> None:
        match stage:
            case sg.RegisterRelation():
                self.catalog.create_relation(stage.relation)
            case sg.UnregisterRelation():
                self.catalog.drop_relation(stage.relation.id)
            case sg.StartQuery():
                self.catalog.create_query(stage.query)
            case sg.StopQuery():
                self.catalog.update_query(stage.query.id, state=QueryState.TERMINATED)
            case sg.AddIndex():
                self.catalog.create_index(stage.index)
            case sg.AddNamespace():
                if stage.schema is None:
                    self.catalog.create_database(stage.database, "sysadmin")
                else:
                    self.catalog.create_schema(stage.database, stage.schema, "sysadmin")

    def sink(self, sql: str) -> Sink:
        """The plan that the last statement's query runs, after all statements ran."""
        return stage_of(self.run(sql)[-1], sg.StartQuery).plan

    def relation(self, sql: str) -> Relation:
        """The relation that the last statement makes, after all statements ran."""
        return stage_of(self.run(sql)[-1], sg.RegisterRelation).relation


def stages_of(planned: sg.Planned, kind: type[T]) -> list[T]:
    return [s for s in planned.stages if isinstance(s, kind)]


def stage_of(planned: sg.Planned, kind: type[T]) -> T:
    (found,) = stages_of(planned, kind)
    return found


def node_of(plan: Node, kind: type[N]) -> N:
    (found,) = (n for n in walk(plan) if isinstance(n, kind))
    return found
