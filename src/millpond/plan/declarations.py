"""CREATE STREAM and CREATE CHANGELOG without a query: a relation over a topic -> stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.catalog.lookup import existing_store
from millpond.catalog.model import RelationKind
from millpond.errors import MillpondError
from millpond.plan.delimited import check_delimited
from millpond.plan.naming import Names, column_named, refuse_twice
from millpond.plan.properties import RELATION, read_properties
from millpond.plan.protobuf import DescriptorLookup, check_protobuf, of_entity, with_descriptors
from millpond.plan.relations import created, declared_relation
from millpond.plan.schemas import ColumnLookup, check_schemas, inferred
from millpond.plan.sink_topics import declared_topic
from millpond.plan.stages import Planned, RegisterRelation
from millpond.plan.topics import check_new_topic
from millpond.sql import statements as st
from millpond.types import Column


def plan_create_relation(
    statement: st.CreateRelation, names: Names, lookup: ColumnLookup, descriptors: DescriptorLookup
) -> Planned:
    """The topic, then the relation. Raises DUPLICATE_RELATION, DUPLICATE_COLUMN, RESERVED_NAME, BAD_KEY, those of
    properties, of `inferred` and of `check_new_topic`."""
    home = names.home(statement.name)
    taken = names.taken(home, statement)
    if taken:
        return taken
    what = f"CREATE {statement.kind.upper()}"
    given = names.with_store(read_properties(statement.properties, RELATION, what, prefixes=True))
    given = with_descriptors(given, descriptors)
    given = of_entity(given, given["store"], given.get("topic") or home.name.lower(), names.reader)
    _refuse_producer(given, what)
    _require_key(statement)
    kind, columns = RelationKind(statement.kind), _columns(statement)
    key = tuple(column_named(columns, i, home.name) for i in statement.primary_key)
    refuse_twice(statement.primary_key, key)
    if not columns:
        found = inferred(kind, home.name, given, lookup, descriptors)
        columns, key, given = found.columns, found.primary_key, dict(found.given)
    relation = declared_relation(kind, home, columns, key, given)
    store = existing_store(names.reader, relation.store)
    check_new_topic(store, relation.topic)
    check_delimited(relation)
    check_schemas(relation, names.reader)
    check_protobuf(relation, names.reader, descriptors, written=False)
    topic = declared_topic(relation, store.type, given)
    return created((topic, RegisterRelation(relation)), relation)


def _columns(statement: st.CreateRelation) -> tuple[Column, ...]:
    columns = tuple(
        Column(d.name.text if d.name.quoted else d.name.text.lower(), d.type, d.nullable) for d in statement.columns
    )
    refuse_twice([d.name for d in statement.columns], [c.name for c in columns])
    for definition, column in zip(statement.columns, columns, strict=True):
        if column.name.startswith("_"):
            raise MillpondError("RESERVED_NAME", position=definition.name.position, name=column.name)
    return columns


def _require_key(statement: st.CreateRelation) -> None:
    if statement.kind == "changelog" and statement.columns and not statement.primary_key:
        raise MillpondError(
            "BAD_KEY",
            name=statement.name.parts[-1].text,
            reason="a changelog needs a PRIMARY KEY",
            instead="Add PRIMARY KEY (column) to the column list, or CREATE STREAM.",
        )


def _refuse_producer(given: Mapping[str, Any], what: str) -> None:
    for key in given:
        if key.startswith("kafka.producer."):
            raise MillpondError("UNKNOWN_PROPERTY", name=key, statement=what, suggestion="Queries have producers.")
