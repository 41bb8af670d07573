"""The answers of DESCRIBE."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from millpond.catalog.model import PersistentQuery, QueryState, Relation, SessionContext, Store
from millpond.catalog.names import (
    Parts,
    dotted,
    resolve_database,
    resolve_descriptor_source,
    resolve_query,
    resolve_registry,
    resolve_relation,
    resolve_schema,
    resolve_store,
)
from millpond.catalog.reader import CatalogReader
from millpond.catalog.store_kinds import speaks_tls
from millpond.errors import MillpondError
from millpond.serve.answers import Answer
from millpond.serve.facts import Facts, QueryEvent
from millpond.serve.listing import COLUMNS, column_rows, name_parts
from millpond.serve.shapes import instant, relation_type, shape
from millpond.sql.statements import Name
from millpond.stores.protocol import TopicDescription
from millpond.suggestion import suggestion
from millpond.types import VARCHAR, Column

Rows: TypeAlias = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Request:
    """One DESCRIBE. `store` is what stands after IN STORE; empty if not given."""

    reader: CatalogReader
    context: SessionContext
    facts: Facts
    name: Parts
    store: Parts = ()

    def home(self) -> Store:
        """The store that IN STORE names, or the session's."""
        return resolve_store(self.reader, self.store or ((self.context.store, True),), self.context)

    def relation(self) -> Relation:
        return resolve_relation(self.reader, self.name, self.context)

    def query(self) -> PersistentQuery:
        return resolve_query(self.reader, self.name, self.context)


def describe(
    kind: str,
    name: Name,
    reader: CatalogReader,
    context: SessionContext,
    facts: Facts,
    store: Name | None = None,
) -> Answer:
    """A thing of a kind, as `millpond.sql.statements.Describe` has it.

    Raises UNSUPPORTED for a kind that is not known, and the not-found error of the thing.
    """
    description = DESCRIPTIONS.get(kind)
    if description is None:
        known = suggestion(kind, DESCRIPTIONS, "The reference of the statement DESCRIBE names what can be described.")
        raise MillpondError("UNSUPPORTED", feature=f"DESCRIBE {kind.upper()}", instead=known)
    request = Request(reader, context, facts, name_parts(name), name_parts(store))
    if kind == "entity" and not request.home().type.endswith("KAFKA"):
        description = (SHARDS, _shards)
    columns, rows = description
    return Answer(columns, rows(request), context, statement=f"DESCRIBE_{kind.replace(' ', '_').upper()}")


def _relation(request: Request) -> Rows:
    relation, reader = request.relation(), request.reader
    known: dict[str, object] = {
        "name": relation.name,
        "fqn": relation.fqn,
        "type": relation_type(relation),
        "state": relation.state,
        "store": relation.store,
        "topic": relation.topic,
        "value.format": relation.value_format,
        "key.format": relation.key_format,
        "key.type": relation.key_type,
        **{name: relation.properties.get(name) for name in SPECIFIC},
        "primary_key": ", ".join(relation.primary_key) or None,
        "timestamp": relation.timestamp_column,
        "timestamp.format": relation.timestamp_format,
        "description": relation.description or None,
        "owner": relation.owner,
        "created_at": instant(relation.created_at).isoformat(sep=" "),
        "updated_at": instant(relation.updated_at).isoformat(sep=" "),
        "written_by": _query_ids(reader.queries_writing(relation.id)),
        "read_by": _query_ids(reader.queries_reading(relation.id)),
        **request.facts.relation_progress(relation.id),
    }
    rows = [(name, str(value)) for name, value in known.items() if value is not None]
    return rows + [(f"column {c.name}", f"{c.type}{'' if c.nullable else ' NOT NULL'}") for c in relation.columns]


SPECIFIC = ("value.delimiter", "key.delimiter", "value.descriptor.name", "key.descriptor.name")
"""Properties that some formats have."""


def _query_ids(queries: Sequence[PersistentQuery]) -> str | None:
    """The ids of those that are not terminated."""
    return ", ".join(q.id for q in queries if q.state is not QueryState.TERMINATED) or None


def _relation_columns(request: Request) -> Rows:
    return column_rows(request.relation())


def _database(request: Request) -> Rows:
    found = resolve_database(request.reader, request.name, request.context)
    return [(found.name, found.owner, instant(found.created_at))]


def _schema(request: Request) -> Rows:
    found = resolve_schema(request.reader, request.name, request.context)
    return [(found.name, found.owner, instant(found.created_at))]


def _store(request: Request) -> Rows:
    store = resolve_store(request.reader, request.name, request.context)
    properties = dict(store.properties)
    metadata = {"name": store.name, "type": store.type, "owner": store.owner, "status": store.status}
    return [
        (
            json.dumps(metadata),
            properties.get("uris"),
            json.dumps(properties),
            speaks_tls(properties),
            properties.get("tls.verify_server_hostname", "true").lower() == "true",
            properties.get("schema_registry.name"),
            json.dumps([store.name]),
        )
    ]


def _entity(request: Request) -> Rows:
    store, found = request.home().name, _topic(request)
    key, value = (_descriptor(request, found.name, part) for part in ("key", "value"))
    return [(found.name, store, found.partitions, found.replicas, key, value, json.dumps(dict(found.config)))]


def _descriptor(request: Request, topic: str, part: str) -> str | None:
    """The full name of the message that an entity's keys or values are."""
    found = request.reader.entity_descriptor(request.home().name, topic, part)
    return None if found is None else found.message


def _shards(request: Request) -> Rows:
    found = _topic(request)
    return [(found.name, found.partitions, _descriptor(request, found.name, "value"))]


def _topic(request: Request) -> TopicDescription:
    """A topic's name is taken as written first: topics know letter case, and dots. Raises ENTITY_NOT_FOUND."""
    store, written = request.home().name, dotted(request.name)
    known = request.facts.topics(store)
    topic = written if written in known else written.lower()
    if topic not in known:
        listed = suggestion(written, known, f'LIST ENTITIES IN STORE "{store}"; shows those that there are.')
        raise MillpondError("ENTITY_NOT_FOUND", name=written, store=store, suggestion=listed)
    return request.facts.topic(store, topic)


def _registry(request: Request) -> Rows:
    found = resolve_registry(request.reader, request.name, request.context)
    details = json.dumps(dict(found.properties))
    times = (instant(found.created_at), instant(found.updated_at))
    return [(found.name, found.type, found.status, found.properties.get("uris"), details, found.owner, *times)]


def _descriptor_source(request: Request) -> Rows:
    found = resolve_descriptor_source(request.reader, request.name, request.context)
    times = (instant(found.created_at), instant(found.updated_at))
    return [(found.name, "protobuf", found.file, found.description or None, found.owner, *times)]


def _query(request: Request) -> Rows:
    query = request.query()
    known = {
        "id": query.id,
        "name": query.name,
        "version": str(query.version),
        "state": query.state.value,
        "intended_state": query.intended_state.value,
        "mode": query.mode or None,
        "mode_reason": query.mode_reason or None,
        "sql": query.sql,
        "error": query.error or None,
        "owner": query.owner,
        "created_at": instant(query.created_at).isoformat(sep=" "),
        "updated_at": instant(query.updated_at).isoformat(sep=" "),
    }
    rows: list[tuple[str, str | None, str | None]] = [(name, value, None) for name, value in known.items()]
    rows += [_relation_row("source", request.reader, source) for source in query.sources]
    rows.append(_relation_row("sink", request.reader, query.sink))
    rows += [(name, value, None) for name, value in request.facts.query_progress(query.id).items()]
    return rows


def _relation_row(role: str, reader: CatalogReader, relation_id: str) -> tuple[str, str | None, str | None]:
    """A relation that has been dropped since is shown by its id."""
    found = reader.relation_by_id(relation_id)
    if found is None:
        return role, relation_id, None
    path = (found.database, found.schema, found.name)
    return role, ".".join(path), json.dumps(path)


def _query_metrics(request: Request) -> Rows:
    metrics: Mapping[str, float] = request.facts.query_metrics(request.query().id)
    return [(name, value) for name, value in sorted(metrics.items())]


def _query_state(request: Request) -> Rows:
    """The positions of a terminated query; while it may still move them, there are none to show."""
    query = request.query()
    if query.state is not QueryState.TERMINATED:
        return []
    positions = request.facts.query_positions(query.id)
    return [_position(request.reader, relation_id, info) for relation_id, info in positions.items()]


def _position(reader: CatalogReader, relation_id: str, info: str) -> tuple[str, str | None, str]:
    relation = reader.relation_by_id(relation_id)
    store = reader.store(relation.store) if relation else None
    return relation.fqn if relation else relation_id, store.type if store else None, info


def _history(request: Request) -> Sequence[QueryEvent]:
    query = request.query()
    now = QueryEvent(query.updated_at, query.state.value, query.error)
    return request.facts.query_history(query.id) or [now]


def _query_history(request: Request) -> Rows:
    return [(event.state, event.messages) for event in _history(request)]


def _query_events(request: Request) -> Rows:
    return [(instant(event.at), event.state, "system", event.messages) for event in _history(request)]


PROPERTIES = shape("Property VARCHAR, Value VARCHAR")
NAMESPACE = shape("Name VARCHAR, Owner VARCHAR, CreatedAt TIMESTAMP_LTZ(3)")
STORE = shape(
    "Metadata VARCHAR, Uri VARCHAR, Details VARCHAR, TlsEnabled BOOLEAN, VerifyHostname BOOLEAN,"
    " SchemaRegistryName VARCHAR, Path VARCHAR"
)
ENTITY = shape(
    "Name VARCHAR, Store VARCHAR, Partitions INTEGER, Replicas INTEGER, KeyDescriptor VARCHAR,"
    " ValueDescriptor VARCHAR, Config VARCHAR"
)

SHARDS = shape("Name VARCHAR, Shards INTEGER, Descriptor VARCHAR")
REGISTRY = shape(
    "Name VARCHAR, Type VARCHAR, State VARCHAR, Uri VARCHAR, Details VARCHAR, Owner VARCHAR,"
    " CreatedAt TIMESTAMP_LTZ(3), UpdatedAt TIMESTAMP_LTZ(3)"
)
DESCRIPTOR_SOURCE = shape(
    "Name VARCHAR, Type VARCHAR, Url VARCHAR, Description VARCHAR, Owner VARCHAR,"
    " CreatedAt TIMESTAMP_LTZ(3), UpdatedAt TIMESTAMP_LTZ(3)"
)

DESCRIPTIONS: dict[str, tuple[tuple[Column, ...], Callable[[Request], Rows]]] = {
    "relation": (PROPERTIES, _relation),
    "stream": (PROPERTIES, _relation),
    "changelog": (PROPERTIES, _relation),
    "materialized view": (PROPERTIES, _relation),
    "table": (PROPERTIES, _relation),
    "relation columns": (COLUMNS, _relation_columns),
    "database": (NAMESPACE, _database),
    "schema": (NAMESPACE, _schema),
    "store": (STORE, _store),
    "entity": (ENTITY, _entity),
    "schema_registry": (REGISTRY, _registry),
    "descriptor_source": (DESCRIPTOR_SOURCE, _descriptor_source),
    "query": (shape("Property VARCHAR, Value VARCHAR, Path VARCHAR"), _query),
    "query metrics": (shape("Metric VARCHAR, Value DOUBLE"), _query_metrics),
    "query state": (
        (Column("Relation Name", VARCHAR), Column("Store Type", VARCHAR), Column("Info", VARCHAR)),
        _query_state,
    ),
    "query history": (shape("state VARCHAR, messages VARCHAR"), _query_history),
    "query events": (
        shape("timestamp TIMESTAMP_LTZ(3), type VARCHAR, actor VARCHAR, messages VARCHAR"),
        _query_events,
    ),
}
"""By kind: the columns, which clients look up by name or place, and what makes the rows."""
