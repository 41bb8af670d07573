"""CREATE and UPDATE of what lies outside: stores, entities, schema registries, descriptor sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from millpond.sql.cursor import Cursor
from millpond.sql.names import name
from millpond.sql.properties import with_list
from millpond.sql.statements import (
    CreateDescriptorSource,
    CreateEntity,
    CreateSchemaRegistry,
    CreateStore,
    Name,
    Properties,
    Statement,
    UpdateEntity,
    UpdateSchemaRegistry,
    UpdateStore,
)

Created = TypeVar("Created", bound=Statement)


def create_store(cursor: Cursor) -> Statement:
    return _create(cursor, "a store", CreateStore)


def update_store(cursor: Cursor) -> Statement:
    return UpdateStore(name(cursor, "a store", 1), _with(cursor), text=cursor.sql)


def create_schema_registry(cursor: Cursor) -> Statement:
    return _create(cursor, "a schema registry", CreateSchemaRegistry)


def update_schema_registry(cursor: Cursor) -> Statement:
    return UpdateSchemaRegistry(name(cursor, "a schema registry", 1), _with(cursor), text=cursor.sql)


def create_descriptor_source(cursor: Cursor) -> Statement:
    return _create(cursor, "a descriptor source", CreateDescriptorSource)


def create_entity(cursor: Cursor) -> Statement:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    entity, store = entity_in_store(cursor)
    return CreateEntity(entity, store, with_list(cursor), if_not_exists, text=cursor.sql)


def update_entity(cursor: Cursor) -> Statement:
    entity, store = entity_in_store(cursor)
    return UpdateEntity(entity, store, _with(cursor), text=cursor.sql)


def entity_in_store(cursor: Cursor) -> tuple[Name, Name | None]:
    """An entity's path, perhaps followed by IN STORE."""
    entity = name(cursor, "an entity", parts=None)
    return entity, name(cursor, "a store", 1) if cursor.accept("IN", "STORE") else None


def _create(cursor: Cursor, what: str, statement: Callable[..., Created]) -> Created:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    return statement(name(cursor, what, 1), _with(cursor), if_not_exists, text=cursor.sql)


def _with(cursor: Cursor) -> Properties:
    """The WITH list, which must be there."""
    if not cursor.at("WITH"):
        cursor.fail("WITH")
    return with_list(cursor)
