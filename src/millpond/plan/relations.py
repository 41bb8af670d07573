"""CREATE STREAM | CHANGELOG | MATERIALIZED VIEW, with or without AS SELECT -> the relation that it makes."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from millpond.catalog.model import PersistentQuery, Relation, RelationKind, SessionContext
from millpond.clock import now_ms
from millpond.errors import MillpondError, missing_properties
from millpond.plan.delimited import delimiter_of
from millpond.plan.protobuf import descriptor_of
from millpond.plan.query import QueryPlan
from millpond.plan.stages import Planned, Stage
from millpond.plan.timestamps import timestamp_column
from millpond.sql.parser import parse_type
from millpond.types import Column, DataType, Field, StructType

PRIMITIVE_KEYS = ("SMALLINT", "INTEGER", "BIGINT", "DOUBLE", "VARCHAR")
PRIMITIVE_VALUES = (*PRIMITIVE_KEYS, "BOOLEAN", "FLOAT", "BYTES", "VARBINARY")


class TopicFacts(Protocol):
    """What the planner asks a store about a topic; None if there is no such topic."""

    @property
    def partitions(self) -> int: ...

    @property
    def replicas(self) -> int: ...


TopicLookup = Callable[[str, str], TopicFacts | None]
"""(store, topic) -> its facts, or None if there is no such topic."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where a new relation goes: its full name, and the session that makes it."""

    database: str
    schema: str
    name: str
    context: SessionContext


def declared_relation(
    kind: RelationKind,
    home: Home,
    columns: tuple[Column, ...],
    primary_key: tuple[str, ...],
    given: Mapping[str, Any],
) -> Relation:
    """The relation of a CREATE STREAM or CHANGELOG without a query. Raises BAD_KEY, BAD_PROPERTY, MISSING_PROPERTY."""
    if "value.format" not in given:
        raise missing_properties(f"CREATE {kind.value.upper()}", {"value.format": "'json'"})
    if given["value.format"] == "primitive":
        check_primitive_value(columns)
    key_format, key_type = declared_key(home.name, columns, primary_key, given)
    return _relation(kind, home, columns, primary_key, given, key_format, key_type, primary_key, home.name.lower())


def declared_key(
    name: str, columns: Sequence[Column], primary_key: Sequence[str], given: Mapping[str, Any]
) -> tuple[str | None, DataType | None]:
    """The format and type of a declared relation's record keys."""
    by_name = {c.name: c.type for c in columns}
    if given.get("key.type"):
        key_type = parse_type(str(given["key.type"]))
        form = given.get("key.format", "json" if isinstance(key_type, StructType) else "primitive")
        if form == "primitive":
            _check_primitive_key(name, [key_type])
        return form, key_type
    if not primary_key:
        return given.get("key.format"), None
    key_types = [by_name[c] for c in primary_key]
    form = given.get("key.format") or ("primitive" if len(key_types) == 1 and _plain(key_types[0]) else "json")
    if form == "primitive":
        _check_primitive_key(name, key_types)
        return form, key_types[0]
    return form, StructType(fields=tuple(Field(c, by_name[c]) for c in primary_key))


def _plain(data_type: DataType) -> bool:
    return data_type.name in PRIMITIVE_KEYS


def _check_primitive_key(name: str, types: Sequence[DataType]) -> None:
    if len(types) != 1:
        raise MillpondError(
            "BAD_KEY",
            name=name,
            reason=f"a primitive key is one column, not {len(types)}",
            instead="Use 'key.format' = 'json'.",
        )
    if not _plain(types[0]):
        raise MillpondError(
            "BAD_KEY",
            name=name,
            reason=f"{types[0]} is not a primitive key type",
            instead=f"Use 'key.format' = 'json', or one of {', '.join(PRIMITIVE_KEYS)}.",
        )


def check_primitive_value(columns: Sequence[Column]) -> None:
    """Raises NO_PRIMITIVE_FORM unless `columns` are one of a type that Kafka has a serializer for."""
    if len(columns) != 1 or columns[0].type.name not in PRIMITIVE_VALUES:
        raise MillpondError(
            "NO_PRIMITIVE_FORM",
            columns=", ".join(f"{c.name} {c.type}" for c in columns),
            types=", ".join(PRIMITIVE_VALUES),
        )


def derived_relation(kind: RelationKind, home: Home, plan: QueryPlan, given: Mapping[str, Any]) -> Relation:
    """The relation of a CREATE ... AS SELECT. Formats default to the left-most source's.

    Raises BAD_KEY, BAD_PROPERTY, COLUMN_NOT_FOUND, DUPLICATE_COLUMN, NO_PRIMITIVE_FORM.
    """
    source = plan.scans[0].relation
    given = {**given, **_columns_given(home.name, plan, given)}
    carried = [c for c in plan.columns if c.name not in given.get("value.columns.exclude", ())]
    if "value.format" not in given:
        plain = len(carried) == 1 and carried[0].type.name in PRIMITIVE_VALUES
        inherited = plain or source.value_format != "primitive"
        given["value.format"] = source.value_format if inherited else "json"
        if kind is not RelationKind.VIEW:
            given = {**delimiter_of(source, "value", given["value.format"]), **given}
    elif given["value.format"] == "primitive":
        check_primitive_value(carried)
    full = {"timestamp.format": source.timestamp_format, **given}
    full.pop("starting.position", None)  # the query's, not of those that will read the relation
    if kind is RelationKind.VIEW:
        return _view(home, plan, full)
    if kind is RelationKind.CHANGELOG:
        return _changelog(home, plan, full)
    return _stream(home, plan, full, source)


def _columns_given(name: str, plan: QueryPlan, given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """`key.columns` and `value.columns.exclude` by the columns' own names."""
    found = {}
    for key in ("key.columns", "value.columns.exclude"):
        if key in given:
            found[key] = tuple(_result_column(c, key, plan) for c in given[key])
    inside = found.get("key.columns") or plan.key
    for column in found.get("value.columns.exclude", ()):
        if column not in inside:
            raise MillpondError(
                "BAD_PROPERTY",
                name="value.columns.exclude",
                value=column,
                takes="columns of the key ('key.columns')",
            )
    if plan.key and found.get("key.columns", plan.key) != plan.key:
        raise MillpondError(
            "BAD_KEY",
            name=name,
            reason=f"'key.columns' differs from the GROUP BY or PRIMARY KEY, which is ({', '.join(plan.key)})",
            instead="Leave 'key.columns' out.",
        )
    return found


def _result_column(name: str, key: str, plan: QueryPlan) -> str:
    exact = [c.name for c in plan.columns if c.name == name.strip('"')]
    found = exact or [c.name for c in plan.columns if c.name.lower() == name.lower()]
    if len(found) != 1:
        known = f"The result has: {', '.join(c.name for c in plan.columns)}."
        raise MillpondError("COLUMN_NOT_FOUND", name=name, where=f"'{key}'", suggestion=known)
    return found[0]


def _view(home: Home, plan: QueryPlan, given: Mapping[str, Any]) -> Relation:
    _refuse_alike(plan.columns)
    key = () if any(k in plan.hidden for k in plan.key) else plan.key
    relation_id = str(uuid.uuid4())
    topic = kafka_name("millpond.view", home.database, home.schema, home.name, relation_id[:8])
    given = {**given, "topic": given.get("topic", topic), "value.format": "json"}
    return _relation(RelationKind.VIEW, home, plan.columns, key, given, "json", None, plan.key, topic, relation_id)


def _refuse_alike(columns: Sequence[Column]) -> None:
    """The view store's tables do not tell names apart that differ in case alone."""
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            raise MillpondError("DUPLICATE_COLUMN", name=column.name)
        seen.add(column.name.lower())


def _changelog(home: Home, plan: QueryPlan, given: Mapping[str, Any]) -> Relation:
    unseen = [k for k in plan.key if k in plan.hidden]
    if unseen:
        raise MillpondError(
            "BAD_KEY",
            name=home.name,
            reason="an expression of GROUP BY, or a primary key column, is missing in the SELECT list",
            instead="Select every GROUP BY expression.",
        )
    if not plan.key:
        raise MillpondError(
            "BAD_KEY",
            name=home.name,
            reason="there is no GROUP BY",
            instead="Add a GROUP BY, or CREATE a view.",
        )
    key_format, key_type = declared_key(
        home.name, plan.columns, plan.key, {k: v for k, v in given.items() if k != "key.type"}
    )
    return _relation(
        RelationKind.CHANGELOG,
        home,
        plan.columns,
        plan.key,
        given,
        key_format,
        key_type,
        plan.key,
        home.name.lower(),
    )


def _stream(home: Home, plan: QueryPlan, given: Mapping[str, Any], source: Relation) -> Relation:
    columns: tuple[str, ...] = given.get("key.columns") or ()
    if columns:
        rest = {k: v for k, v in given.items() if k != "key.type"}
        form, key_type = declared_key(home.name, plan.columns, columns, rest)
    elif "key.type" in given and source.key_type is None:
        form, key_type = declared_key(home.name, plan.columns, (), given)
    else:
        form, key_type = source.key_format, source.key_type
        _check_passed_key(home.name, given, source)
        given = {**given, **delimiter_of(source, "key", form), **descriptor_of(source, "key", form)}
    return _relation(RelationKind.STREAM, home, plan.columns, (), given, form, key_type, columns, home.name.lower())


def _check_passed_key(name: str, given: Mapping[str, Any], source: Relation) -> None:
    """Without `key.columns` the source's keys go through as they are: in no other format."""
    has = {
        "key.format": source.key_format,
        **delimiter_of(source, "key", source.key_format),
        **descriptor_of(source, "key", source.key_format),
    }
    for key in ("key.format", "key.delimiter", "key.descriptor.name"):
        if key in given and given[key] != has.get(key):
            raise MillpondError(
                "BAD_KEY",
                name=name,
                reason=f"'{key}' is '{given[key]}', but the keys of '{source.name}' go through as they are",
                instead=f"Say with 'key.columns' what the key is made of, or leave '{key}' out.",
            )


def _relation(
    kind: RelationKind,
    home: Home,
    columns: tuple[Column, ...],
    primary_key: tuple[str, ...],
    given: Mapping[str, Any],
    key_format: str | None,
    key_type: DataType | None,
    key_columns: tuple[str, ...],
    topic: str,
    relation_id: str | None = None,
) -> Relation:
    now = now_ms()
    return Relation(
        id=relation_id or str(uuid.uuid4()),
        database=home.database,
        schema=home.schema,
        name=home.name,
        kind=kind,
        columns=columns,
        primary_key=primary_key,
        store=given.get("store") or home.context.store,
        topic=given.get("topic") or topic,
        value_format=given["value.format"],
        key_format=key_format,
        key_type=key_type,
        key_columns=key_columns,
        timestamp_column=timestamp_column(home.name, columns, given.get("timestamp")),
        timestamp_format=given.get("timestamp.format", "sql"),
        owner=home.context.role,
        created_at=now,
        updated_at=now,
        properties={k: ",".join(v) if isinstance(v, tuple) else str(v) for k, v in given.items()},
    )


LONGEST_TOPIC = 249
"""Characters that Kafka takes."""


def kafka_name(*parts: str) -> str:
    """A topic's name of `parts`; what Kafka does not take in a name becomes `_`."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", ".".join(parts))[:LONGEST_TOPIC]


def created(stages: tuple[Stage, ...], relation: Relation, query: PersistentQuery | None = None) -> Planned:
    """The answer of a CREATE."""
    kind = relation.kind.value
    summary = f"{kind} '{relation.name}' was created" + (f", query {query.id} fills it" if query else "")
    label = "MATERIALIZED VIEW" if relation.kind is RelationKind.VIEW else kind.upper()
    path = (relation.database, relation.schema, relation.name)
    return Planned(stages, kind, relation.name, f"CREATE {label}", summary, path)
