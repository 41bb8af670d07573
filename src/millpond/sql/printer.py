"""Statements -> canonical text: what `parse` reads as an equal statement."""

from __future__ import annotations

import re
from functools import singledispatch

from sqlglot import exp

from millpond.sql.dialect import Millpond
from millpond.sql.generator import property_list, property_value, quoted
from millpond.sql.statements import (
    AlterRelation,
    CanI,
    CreateDescriptorSource,
    CreateEntity,
    CreateIndex,
    CreateNamespace,
    CreateRelation,
    CreateRelationAs,
    CreateSchemaRegistry,
    CreateStore,
    Describe,
    Drop,
    Explain,
    Identifier,
    InsertEntity,
    InsertSelect,
    InsertValues,
    List,
    Name,
    PrintEntity,
    Properties,
    Query,
    Restart,
    Set,
    Statement,
    Terminate,
    UpdateEntity,
    UpdateSchemaRegistry,
    UpdateStore,
    Use,
)
from millpond.sql.things import scope_words

_BARE_QUERY = re.compile(r"[^\W\d]\w*(:\d+)?|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_WORDS = {"view": "MATERIALIZED VIEW"}


@singledispatch
def print_statement(statement: Statement) -> str:
    """The canonical text of `statement`, on one line, without a semicolon."""
    raise TypeError(f"{type(statement).__name__} has no printed form")


def _identifier(part: Identifier) -> str:
    return quoted(part.text, '"') if part.quoted else part.text


def _name(name: Name) -> str:
    return ".".join(map(_identifier, name.parts))


def _query_name(name: Name) -> str:
    if len(name.parts) > 1:
        return _name(name)
    part = name.parts[0]
    return part.text if not part.quoted and _BARE_QUERY.fullmatch(part.text) else _identifier(part)


def _tree(tree: exp.Expr) -> str:
    return tree.sql(dialect=Millpond)


def _words(kind: str) -> str:
    return _WORDS.get(kind, kind.upper())


def _names(parts: tuple[Identifier, ...]) -> str:
    return f"({', '.join(map(_identifier, parts))})"


def _with(properties: Properties, before: str = " WITH ") -> str:
    return before + property_list(properties) if properties else ""


def _in_store(store: Name | None) -> str:
    return f" IN STORE {_name(store)}" if store else ""


def _if(condition: bool, text: str) -> str:
    return text if condition else ""


@print_statement.register
def _(statement: Query) -> str:
    properties = _with(statement.properties, " QUERY WITH ")
    return _tree(statement.tree) + properties + _if(statement.emit_changes, " EMIT CHANGES")


@print_statement.register
def _(statement: CreateRelation) -> str:
    columns = [f"{_identifier(c.name)} {c.type}{_if(not c.nullable, ' NOT NULL')}" for c in statement.columns]
    if statement.primary_key:
        columns.append(f"PRIMARY KEY {_names(statement.primary_key)}")
    listed = _if(bool(columns), f" ({', '.join(columns)})")
    return _create(statement.kind, statement.name, statement.if_not_exists) + listed + _with(statement.properties)


def _create(kind: str, name: Name, if_not_exists: bool) -> str:
    return f"CREATE {_words(kind)} {_if(if_not_exists, 'IF NOT EXISTS ')}{_name(name)}"


@print_statement.register
def _(statement: CreateRelationAs) -> str:
    head = _create(statement.kind, statement.name, statement.if_not_exists)
    return f"{head}{_with(statement.properties)} AS {print_statement(statement.query)}"


@print_statement.register
def _(statement: CreateNamespace) -> str:
    database = f" IN DATABASE {_name(statement.database)}" if statement.database else ""
    return _create(statement.kind, statement.name, statement.if_not_exists) + database


@print_statement.register
def _(statement: CreateStore) -> str:
    return _create("store", statement.name, statement.if_not_exists) + _with(statement.properties)


@print_statement.register
def _(statement: UpdateStore) -> str:
    return f"UPDATE STORE {_name(statement.name)}{_with(statement.properties)}"


@print_statement.register
def _(statement: CreateEntity) -> str:
    head = _create("entity", statement.entity, statement.if_not_exists)
    return head + _in_store(statement.store) + _with(statement.properties)


@print_statement.register
def _(statement: UpdateEntity) -> str:
    return f"UPDATE ENTITY {_name(statement.entity)}{_in_store(statement.store)}{_with(statement.properties)}"


@print_statement.register
def _(statement: CreateSchemaRegistry) -> str:
    return _create("schema_registry", statement.name, statement.if_not_exists) + _with(statement.properties)


@print_statement.register
def _(statement: UpdateSchemaRegistry) -> str:
    return f"UPDATE SCHEMA_REGISTRY {_name(statement.name)}{_with(statement.properties)}"


@print_statement.register
def _(statement: CreateDescriptorSource) -> str:
    return _create("descriptor_source", statement.name, statement.if_not_exists) + _with(statement.properties)


@print_statement.register
def _(statement: CreateIndex) -> str:
    name = f"{_identifier(statement.name)} " if statement.name else ""
    head = f"CREATE INDEX {_if(statement.if_not_exists, 'IF NOT EXISTS ')}{name}"
    return f"{head}ON {_name(statement.view)} {_names(statement.columns)}"


@print_statement.register
def _(statement: InsertSelect) -> str:
    return f"INSERT INTO {_name(statement.name)} {print_statement(statement.query)}"


@print_statement.register
def _(statement: InsertValues) -> str:
    columns = f" {_names(statement.columns)}" if statement.columns else ""
    rows = ", ".join(f"({', '.join(map(_tree, row))})" for row in statement.rows)
    return f"INSERT INTO {_name(statement.name)}{columns} VALUES {rows}"


@print_statement.register
def _(statement: InsertEntity) -> str:
    head = f"INSERT INTO ENTITY {_name(statement.entity)}{_in_store(statement.store)}"
    return f"{head} VALUE({quoted(statement.value)}){_with(statement.properties)}"


@print_statement.register
def _(statement: Drop) -> str:
    name = _if(statement.if_exists, "IF EXISTS ") + _name(statement.name)
    return f"DROP {_words(statement.kind)} {name}{_in_store(statement.store)}"


@print_statement.register
def _(statement: Use) -> str:
    return f"{'SET DEFAULT' if statement.default else 'USE'} {statement.kind.upper()} {_name(statement.name)}"


@print_statement.register
def _(statement: Set) -> str:
    if statement.key is None:
        return "SET"
    if statement.unset:
        return f"UNSET {quoted(statement.key)}"
    return f"SET {quoted(statement.key)}{property_value(statement.value)}"


@print_statement.register
def _(statement: List) -> str:
    scope = f" {scope_words(statement.kind)} {_name(statement.scope)}" if statement.scope else ""
    return f"LIST {statement.kind.upper()}{scope}{_in_store(statement.store)}"


@print_statement.register
def _(statement: Describe) -> str:
    query = statement.kind.split(" ")[0] == "query"
    name = _query_name(statement.name) if query else _name(statement.name)
    return f"DESCRIBE {statement.kind.upper()} {name}{_in_store(statement.store)}"


@print_statement.register
def _(statement: Explain) -> str:
    return f"{'DESCRIBE' if statement.json else 'EXPLAIN'} {print_statement(statement.statement)}"


@print_statement.register
def _(statement: Terminate) -> str:
    return f"TERMINATE QUERY {_query_name(statement.query)}"


@print_statement.register
def _(statement: Restart) -> str:
    return f"RESTART QUERY {_query_name(statement.query)}"


@print_statement.register
def _(statement: PrintEntity) -> str:
    beginning = _if(statement.from_beginning, " WITH ('from_beginning')")
    limit = "" if statement.limit is None else f" LIMIT {statement.limit}"
    return f"PRINT ENTITY {_name(statement.entity)}{_in_store(statement.store)}{beginning}{limit}"


@print_statement.register
def _(statement: CanI) -> str:
    return f"CAN I {statement.privilege}"


@print_statement.register
def _(statement: AlterRelation) -> str:
    properties = ", ".join(quoted(p.key) + property_value(p.value) for p in statement.properties)
    return f"ALTER RELATION {_name(statement.name)} SET {properties}"
