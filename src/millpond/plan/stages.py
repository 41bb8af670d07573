"""What carries a statement out: an ordered list of small values. EXPLAIN prints it, the runner executes it.

What fails half-way is undone in reverse: `millpond.serve.runner` has one `do` and one `undo` for each class here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millpond.catalog.model import (
    DescriptorSource,
    EntityDescriptor,
    Index,
    PersistentQuery,
    Relation,
    SchemaRegistry,
    Secrets,
    Store,
)
from millpond.plan.expressions import Expr
from millpond.plan.nodes import Sink
from millpond.types import Column


@dataclass(frozen=True, slots=True)
class Stage:
    """One step with an effect on the world."""


@dataclass(frozen=True, slots=True)
class EnsureTopic(Stage):
    """The topic exists afterwards; one that is there already must have these partitions and replicas (None: any)."""

    store: str
    topic: str
    partitions: int | None = None
    replicas: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeleteTopic(Stage):
    """A topic that Millpond made for itself goes."""

    store: str
    topic: str


@dataclass(frozen=True, slots=True)
class RegisterSchema(Stage):
    """The store's schema registry has the schema of these columns in that subject afterwards."""

    store: str
    subject: str
    columns: tuple[Column, ...]
    format: str = "avro"


@dataclass(frozen=True, slots=True)
class RegisterRelation(Stage):
    relation: Relation


@dataclass(frozen=True, slots=True)
class UnregisterRelation(Stage):
    relation: Relation


@dataclass(frozen=True, slots=True)
class UpdateRelation(Stage):
    relation: Relation
    before: Relation


@dataclass(frozen=True, slots=True)
class BuildView(Stage):
    """The view store folds the view's changelog from now on."""

    relation: Relation


@dataclass(frozen=True, slots=True)
class RemoveView(Stage):
    relation: Relation


@dataclass(frozen=True, slots=True)
class AddIndex(Stage):
    index: Index
    view: Relation


@dataclass(frozen=True, slots=True)
class RemoveIndex(Stage):
    index: Index
    view: Relation


@dataclass(frozen=True, slots=True)
class StartQuery(Stage):
    """Register the query and start it; `plan` is what Spark runs."""

    query: PersistentQuery
    plan: Sink


@dataclass(frozen=True, slots=True)
class RestartQuery(Stage):
    query: PersistentQuery


@dataclass(frozen=True, slots=True)
class StopQuery(Stage):
    """Stop the query for good; `forget` also drops its checkpoint."""

    query: PersistentQuery


@dataclass(frozen=True, slots=True)
class WriteRows(Stage):
    """INSERT INTO ... VALUES: each row's constant expressions are parallel to the relation's columns."""

    relation: Relation
    rows: tuple[tuple[Expr, ...], ...]


@dataclass(frozen=True, slots=True)
class WriteEntity(Stage):
    """INSERT INTO ENTITY: one JSON text as a record's value."""

    store: str
    topic: str
    value: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class CreateEntity(Stage):
    """An entity that is not there yet. None: as many as the store makes by itself."""

    store: str
    topic: str
    partitions: int | None = None
    replicas: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AlterEntity(Stage):
    """Other partitions (None: as they are) and settings."""

    store: str
    topic: str
    partitions: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RemoveEntity(Stage):
    """The entity goes with its records: that cannot be undone."""

    store: str
    topic: str


@dataclass(frozen=True, slots=True)
class CheckStore(Stage):
    """The store answers, its certificate is trusted, its login is good: else nothing is kept of the statement."""

    store: Store
    secrets: Secrets


@dataclass(frozen=True, slots=True)
class RegisterStore(Stage):
    store: Store
    secrets: Secrets


@dataclass(frozen=True, slots=True)
class ChangeStore(Stage):
    """`secrets` are those given anew: the others stay. The store is checked before it is changed."""

    store: Store
    secrets: Secrets
    before: Store


@dataclass(frozen=True, slots=True)
class UnregisterStore(Stage):
    store: Store


@dataclass(frozen=True, slots=True)
class RegisterRegistry(Stage):
    registry: SchemaRegistry
    secrets: Secrets


@dataclass(frozen=True, slots=True)
class ChangeRegistry(Stage):
    """`secrets` are those given anew: the others stay."""

    registry: SchemaRegistry
    secrets: Secrets
    before: SchemaRegistry


@dataclass(frozen=True, slots=True)
class UnregisterRegistry(Stage):
    registry: SchemaRegistry


@dataclass(frozen=True, slots=True)
class AddDescriptorSource(Stage):
    source: DescriptorSource
    content: bytes


@dataclass(frozen=True, slots=True)
class RemoveDescriptorSource(Stage):
    source: DescriptorSource


@dataclass(frozen=True, slots=True)
class DescribeEntity(Stage):
    """The message that an entity's keys or values (`part`) are from now on; None: none that is known."""

    store: str
    topic: str
    part: str
    descriptor: EntityDescriptor | None


@dataclass(frozen=True, slots=True)
class AddNamespace(Stage):
    """A database (with its schema `public`), or a schema of one."""

    database: str
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveNamespace(Stage):
    database: str
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """Stages in order, and the one row that a statement with effects answers: Type, Name, Command, Summary, Path."""

    stages: tuple[Stage, ...]
    type: str
    name: str
    command: str
    summary: str
    path: tuple[str, ...] = ()
