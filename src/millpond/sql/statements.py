"""The statements of the language as immutable values: what `parse` returns and the planner reads.

A query keeps its body as a sqlglot tree (`Query.tree`), because expressions are bound later by
`plan`; everything else is plain data. Names are kept as written: folding belongs to the session.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from millpond.errors import Position
from millpond.types import DataType


@dataclass(frozen=True, slots=True)
class Identifier:
    """One part of a name; an unquoted one is folded by the session's dialect."""

    text: str
    quoted: bool = False
    position: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A possibly qualified name: relation, schema.relation or database.schema.relation, or an entity path."""

    parts: tuple[Identifier, ...]
    position: Position | None = field(default=None, compare=False)


PropertyValue: TypeAlias = str | int | float | bool | None
"""A WITH value: string, number, TRUE/FALSE or a bare keyword (as upper-case str). None: given without one."""


@dataclass(frozen=True, slots=True)
class Property:
    """One `'key' = value` of a WITH list. Keys are kept as written, lower-cased."""

    key: str
    value: PropertyValue
    position: Position | None = field(default=None, compare=False)


Properties: TypeAlias = tuple[Property, ...]


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column in CREATE STREAM / CHANGELOG."""

    name: Identifier
    type: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Statement:
    """Anything that ends with a semicolon. `text` is the statement as written, without the semicolon.

    A statement within another one (the query of CREATE ... AS, what EXPLAIN explains) has the whole
    one's text, so that all positions (of names, properties and tree nodes) are relative to `text`.
    """

    text: str = field(default="", kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class Query(Statement):
    """A SELECT with `QUERY WITH (...)` and, at the very end, `EMIT CHANGES`.

    `tree` is an `exp.Select` (or `exp.Union`). In FROM and JOIN stand `exp.Table` (a relation),
    `millpond.sql.nodes.WindowSource` (TUMBLE/HOP/CUMULATE), `exp.Subquery` or `exp.Unnest`; a source's
    own WITH list is a `millpond.sql.nodes.SourceProperties` in its arg ``source_properties``.
    """

    tree: exp.Query
    properties: Properties = ()
    emit_changes: bool = False


@dataclass(frozen=True, slots=True)
class CreateRelation(Statement):
    """CREATE STREAM | CHANGELOG n (columns [, PRIMARY KEY (...)]) WITH (...). `kind`: stream or changelog."""

    kind: str
    name: Name
    columns: tuple[ColumnDefinition, ...]
    primary_key: tuple[Identifier, ...] = ()
    properties: Properties = ()
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateRelationAs(Statement):
    """CREATE STREAM | CHANGELOG | MATERIALIZED VIEW | TABLE n [WITH] AS query.

    `kind`: stream, changelog, view, table.
    """

    kind: str
    name: Name
    query: Query
    properties: Properties = ()
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class InsertSelect(Statement):
    """INSERT INTO n SELECT ..."""

    name: Name
    query: Query


@dataclass(frozen=True, slots=True)
class InsertValues(Statement):
    """INSERT INTO n [(columns)] VALUES (...), (...). Each value is an unbound sqlglot expression."""

    name: Name
    columns: tuple[Identifier, ...]
    rows: tuple[tuple[exp.Expression, ...], ...]


@dataclass(frozen=True, slots=True)
class InsertEntity(Statement):
    """INSERT INTO ENTITY e [IN STORE s] VALUE('<json>') [WITH (...)]."""

    entity: Name
    store: Name | None
    value: str
    properties: Properties = ()


@dataclass(frozen=True, slots=True)
class CreateIndex(Statement):
    """CREATE INDEX [IF NOT EXISTS] [name] ON view (column, ...)."""

    name: Identifier | None
    view: Name
    columns: tuple[Identifier, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateStore(Statement):
    """CREATE STORE [IF NOT EXISTS] s WITH (...)."""

    name: Name
    properties: Properties
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class UpdateStore(Statement):
    """UPDATE STORE s WITH (...)."""

    name: Name
    properties: Properties


@dataclass(frozen=True, slots=True)
class CreateEntity(Statement):
    """CREATE ENTITY [IF NOT EXISTS] e [IN STORE s] [WITH (...)]."""

    entity: Name
    store: Name | None = None
    properties: Properties = ()
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class UpdateEntity(Statement):
    """UPDATE ENTITY e [IN STORE s] WITH (...)."""

    entity: Name
    store: Name | None
    properties: Properties


@dataclass(frozen=True, slots=True)
class CreateSchemaRegistry(Statement):
    """CREATE SCHEMA_REGISTRY [IF NOT EXISTS] r WITH (...)."""

    name: Name
    properties: Properties
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class UpdateSchemaRegistry(Statement):
    """UPDATE SCHEMA_REGISTRY r WITH (...)."""

    name: Name
    properties: Properties


@dataclass(frozen=True, slots=True)
class CreateDescriptorSource(Statement):
    """CREATE DESCRIPTOR_SOURCE [IF NOT EXISTS] d WITH ('file' = '...')."""

    name: Name
    properties: Properties
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateNamespace(Statement):
    """CREATE DATABASE d; CREATE SCHEMA s [IN DATABASE d]. `kind`: database or schema."""

    kind: str
    name: Name
    database: Name | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class Drop(Statement):
    """DROP {STREAM|CHANGELOG|MATERIALIZED VIEW|TABLE|RELATION|DATABASE|SCHEMA|STORE|ENTITY|INDEX|SCHEMA_REGISTRY|
    DESCRIPTOR_SOURCE} n.

    ENTITY takes IN STORE s.
    `kind` is the lower-case word(s), 'view' for MATERIALIZED VIEW.
    """

    kind: str
    name: Name
    store: Name | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Use(Statement):
    """USE | SET DEFAULT {DATABASE|SCHEMA|STORE|ROLE|ORGANIZATION|COMPUTE_POOL} n. `default`: SET DEFAULT."""

    kind: str
    name: Name
    default: bool = False


@dataclass(frozen=True, slots=True)
class Set(Statement):
    """SET 'key' = value; SET alone lists them (key None). UNSET 'key' has value None and `unset`."""

    key: str | None
    value: PropertyValue = None
    unset: bool = False


@dataclass(frozen=True, slots=True)
class List(Statement):
    """LIST | SHOW things. `kind` in lower case with blanks: databases, schemas, stores, entities, relations,
    streams, changelogs, materialized views, tables, columns, queries, functions, indexes, properties,
    compute_pools, function_sources, descriptor_sources, schema_registries, roles, organizations, ...
    `scope` is IN DATABASE d (schemas) / IN SCHEMA d.s (relations of all kinds) / IN path (entities) /
    FROM relation (columns, indexes); `store` is IN STORE s."""

    kind: str
    scope: Name | None = None
    store: Name | None = None


@dataclass(frozen=True, slots=True)
class Describe(Statement):
    """DESCRIBE {RELATION|RELATION COLUMNS|STORE|ENTITY|QUERY|QUERY METRICS|QUERY EVENTS|QUERY STATE|
    QUERY HISTORY|STREAM|CHANGELOG|MATERIALIZED VIEW|TABLE|DATABASE|SCHEMA|SCHEMA_REGISTRY|DESCRIPTOR_SOURCE} n;
    `kind` in lower case. A bare
    `DESCRIBE n` has kind 'relation'."""

    kind: str
    name: Name
    store: Name | None = None


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """EXPLAIN <statement>; DESCRIBE <statement> has `json` set (one row: kind, JSON)."""

    statement: Statement
    json: bool = False


@dataclass(frozen=True, slots=True)
class Terminate(Statement):
    """TERMINATE [QUERY] {id | name}; the name may be a UUID written bare."""

    query: Name


@dataclass(frozen=True, slots=True)
class Restart(Statement):
    """RESTART QUERY {id | name}."""

    query: Name


@dataclass(frozen=True, slots=True)
class PrintEntity(Statement):
    """PRINT {ENTITY|TOPIC} e [IN STORE s] [WITH ('from_beginning')] [LIMIT n]."""

    entity: Name
    store: Name | None = None
    from_beginning: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class CanI(Statement):
    """CAN I <privilege> [ON ...]: `privilege` has it all, keywords in upper case."""

    privilege: str


@dataclass(frozen=True, slots=True)
class AlterRelation(Statement):
    """ALTER RELATION n SET description = '...'."""

    name: Name
    properties: Properties
