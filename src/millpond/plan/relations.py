"""CREATE STREAM | CHANGELOG, with or without AS SELECT -> the relation that it makes."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from millpond.catalog.model import Relation, RelationKind, SessionContext
from millpond.errors import MillpondError
from millpond.plan.query import QueryPlan
from millpond.sql.parser import parse_type
from millpond.types import TEMPORAL, Column, DataType, Field, StructType

PRIMITIVE_KEYS = ("SMALLINT", "INTEGER", "BIGINT", "DOUBLE", "VARCHAR")
TIMESTAMPS = ("BIGINT", *(t for t in TEMPORAL if t.startswith("TIMESTAMP")))


class TopicFacts(Protocol):
    """What the planner asks a store about a topic; None if there is no such topic."""

    @property
    def partitions(self) -> int: ...

    @property
    def replicas(self) -> int: ...


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
        raise MillpondError(
            "MISSING_PROPERTY",
            statement=f"CREATE {kind.value.upper()}",
            name="value.format",
            example="'json'",
        )
    key_format, key_type = declared_key(home.name, columns, primary_key, given)
    return _relation(kind, home, columns, primary_key, given, key_format, key_type, primary_key, home.name.lower())


def declared_key(
    name: str, columns: Sequence[Column], primary_key: Sequence[str], given: Mapping[str, Any]
) -> tuple[str | None, DataType | None]:
    """The format and type of a declared relation's record keys."""
    check_formats(given)
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


def check_formats(given: Mapping[str, Any]) -> None:
    """Refuse the formats that a later version will bring."""
    for key in ("value.format", "key.format"):
        if given.get(key) in ("avro", "protobuf"):
            raise MillpondError(
                "UNSUPPORTED", feature=f"'{key}' = '{given[key]}'", instead="Use 'json' or 'primitive'."
            )


def derived_relation(kind: RelationKind, home: Home, plan: QueryPlan, given: Mapping[str, Any]) -> Relation:
    """The relation of a CREATE ... AS SELECT. Formats default to the left-most source's. Raises BAD_KEY."""
    check_formats(given)
    source = plan.scans[0].relation
    form = given.get("value.format") or source.value_format
    if form == "primitive" and len(plan.columns) != 1:
        form = "json"
    full = {"value.format": form, "timestamp.format": source.timestamp_format, **given}
    if kind is RelationKind.VIEW:
        return _view(home, plan, {**full, "value.format": "json"})
    if kind is RelationKind.CHANGELOG:
        return _changelog(home, plan, full)
    return _stream(home, plan, full, source)


def _view(home: Home, plan: QueryPlan, given: Mapping[str, Any]) -> Relation:
    key = () if any(k in plan.hidden for k in plan.key) else plan.key
    relation_id = str(uuid.uuid4())
    topic = f"millpond.view.{home.database}.{home.schema}.{home.name}.{relation_id[:8]}"
    given = {**given, "topic": given.get("topic", topic)}
    return _relation(RelationKind.VIEW, home, plan.columns, key, given, "json", None, plan.key, topic, relation_id)


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
    columns = given.get("key.columns") or ()
    if not columns:
        form, key_type = given.get("key.format") or source.key_format, source.key_type
        return _relation(RelationKind.STREAM, home, plan.columns, (), given, form, key_type, (), home.name.lower())
    known = {c.name for c in plan.columns}
    for column in columns:
        if column not in known:
            raise MillpondError(
                "COLUMN_NOT_FOUND", name=column, where="'key.columns'", suggestion="Use result columns."
            )
    form, key_type = declared_key(home.name, plan.columns, columns, {k: v for k, v in given.items() if k != "key.type"})
    return _relation(RelationKind.STREAM, home, plan.columns, (), given, form, key_type, columns, home.name.lower())


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
    now = int(time.time() * 1000)
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
        timestamp_column=_timestamp_column(home.name, columns, given),
        timestamp_format=given.get("timestamp.format", "sql"),
        owner=home.context.role,
        created_at=now,
        updated_at=now,
        properties={k: ",".join(v) if isinstance(v, tuple) else str(v) for k, v in given.items()},
    )


def _timestamp_column(name: str, columns: Sequence[Column], given: Mapping[str, Any]) -> str | None:
    wanted = given.get("timestamp")
    if wanted is None:
        return None
    found = next((c for c in columns if c.name == wanted), None) or next(
        (c for c in columns if c.name.lower() == str(wanted).lower()), None
    )
    if found is None:
        raise MillpondError("COLUMN_NOT_FOUND", name=wanted, where=f"'{name}' (property 'timestamp')", suggestion="")
    if found.type.name not in TIMESTAMPS:
        raise MillpondError(
            "BAD_PROPERTY",
            name="timestamp",
            value=wanted,
            takes=f"a column of {', '.join(TIMESTAMPS)}; '{found.name}' is {found.type}",
        )
    return found.name
