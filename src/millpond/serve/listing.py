"""The answers of LIST and SHOW."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from millpond.catalog.model import ORGANIZATION, Relation, RelationKind, SessionContext
from millpond.catalog.names import (
    Parts,
    dotted,
    resolve_database,
    resolve_relation,
    resolve_schema,
    resolve_store,
)
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.functions.table import all_aggregates, all_functions
from millpond.serve.answers import Answer
from millpond.serve.facts import Facts
from millpond.serve.shapes import instant, relation_type, shape
from millpond.sql.statements import Name
from millpond.suggestion import suggestion
from millpond.types import Column

Rows: TypeAlias = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Request:
    """One LIST. `scope` is what stands after IN or FROM, `store` after IN STORE; empty if not given."""

    reader: CatalogReader
    context: SessionContext
    facts: Facts
    scope: Parts = ()
    store: Parts = ()


def list_things(
    kind: str,
    reader: CatalogReader,
    context: SessionContext,
    facts: Facts,
    scope: Name | None = None,
    store: Name | None = None,
) -> Answer:
    """The things of a kind, as `millpond.sql.statements.List` has it; of some kinds Millpond has none.

    Raises UNSUPPORTED for a kind that is not known, and the not-found errors of `scope` and `store`.
    """
    listing = LISTINGS.get(kind)
    if listing is None:
        known = suggestion(kind, LISTINGS, "The reference of the statement LIST names what can be listed.")
        raise MillpondError("UNSUPPORTED", feature=f"LIST {kind.upper()}", instead=known)
    columns, rows = listing
    request = Request(reader, context, facts, name_parts(scope), name_parts(store))
    return Answer(columns, rows(request), context, statement=f"LIST_{kind.replace(' ', '_').upper()}")


def name_parts(name: Name | None) -> Parts:
    """A statement's name as the catalog takes it; no parts for no name."""
    return () if name is None else tuple((p.text, p.quoted) for p in name.parts)


def column_rows(relation: Relation) -> Rows:
    """Name, type and whether it may be NULL, of each column."""
    return [(c.name, str(c.type), c.nullable) for c in relation.columns]


def setting_rows(context: SessionContext, settings: Mapping[str, str]) -> Rows:
    """The session's names, then what SET has set."""
    fixed = {
        "dialect": context.dialect,
        "timezone": context.timezone,
        "organization": context.organization,
        "role": context.role,
        "database": context.database,
        "schema": context.schema,
        "store": context.store,
        "compute_pool": context.compute_pool,
    }
    return [*fixed.items(), *sorted(settings.items())]


def _databases(request: Request) -> Rows:
    default = request.context.database
    found = request.reader.databases()
    return [(d.name, d.name == default, d.owner, instant(d.created_at)) for d in found]


def _schemas(request: Request) -> Rows:
    context = request.context
    home = request.scope or ((context.database, True),)
    database = resolve_database(request.reader, home, context).name
    default = (context.database, context.schema)
    return [
        (s.name, (database, s.name) == default, s.owner, instant(s.created_at))
        for s in request.reader.schemas(database)
    ]


def _stores(request: Request) -> Rows:
    default = request.context.store
    return [
        (
            *(s.name, s.type, s.status, s.status_message or None, s.name == default, s.owner),
            *(instant(s.created_at), instant(s.updated_at), f'["{s.name}"]'),
        )
        for s in request.reader.stores()
    ]


def _entities(request: Request) -> Rows:
    context = request.context
    store = resolve_store(request.reader, request.store or ((context.store, True),), context)
    if request.scope:
        feature = f"LIST ENTITIES IN {dotted(request.scope)}, a path within the store '{store.name}',"
        raise MillpondError("UNSUPPORTED", feature=feature, instead="A store of topics has no paths: LIST ENTITIES;")
    return [(topic, True) for topic in sorted(request.facts.topics(store.name))]


def _regions(request: Request) -> Rows:
    """Those that the stores are in; Millpond itself reaches any."""
    found = {s.properties.get("access_region") for s in request.reader.stores()}
    return [(f"AWS {region}", "AWS", region) for region in sorted(filter(None, found))]


def _registries(request: Request) -> Rows:
    return [
        (r.name, r.type, r.status, r.owner, instant(r.created_at), instant(r.updated_at))
        for r in request.reader.schema_registries()
    ]


def _descriptor_sources(request: Request) -> Rows:
    return [(d.name, "protobuf", d.file, d.description or None) for d in request.reader.descriptor_sources()]


def _relations(*kinds: RelationKind) -> Callable[[Request], Rows]:
    """Those of the kinds in the schema of the session, in the one that IN names, or in all of a database."""
    return lambda request: [
        (r.name, relation_type(r), r.owner, instant(r.created_at), instant(r.updated_at), r.state)
        for r in _in_scope(request)
        if r.kind in kinds
    ]


def _in_scope(request: Request) -> Sequence[Relation]:
    reader, context = request.reader, request.context
    try:
        schema = resolve_schema(reader, request.scope or ((context.schema, True),), context)
    except MillpondError as error:
        if error.name != "SCHEMA_NOT_FOUND" or len(request.scope) != 1:
            raise
        return reader.relations(_database_or(error, request))
    return reader.relations(schema.database, schema.name)


def _database_or(error: MillpondError, request: Request) -> str:
    """The database that the scope names; without one, a schema was meant, and its absence is the error."""
    try:
        return resolve_database(request.reader, request.scope, request.context).name
    except MillpondError:
        raise error from None


def _columns(request: Request) -> Rows:
    if not request.scope:
        raise MillpondError(
            "UNSUPPORTED",
            feature="LIST COLUMNS without a relation",
            instead="Write LIST COLUMNS FROM and the relation's name.",
        )
    return column_rows(resolve_relation(request.reader, request.scope, request.context))


def _queries(request: Request) -> Rows:
    sinks = {r.id: f"{r.database}.{r.schema}.{r.name}" for r in request.reader.relations()}
    return [
        (
            *(q.id, q.name, q.version, q.intended_state.value, q.state.value, q.sql, q.owner),
            *(instant(q.created_at), instant(q.updated_at), sinks.get(q.sink)),
        )
        for q in request.reader.queries()
    ]


def _indexes(request: Request) -> Rows:
    reader, names = request.reader, {r.id: r.name for r in _indexed(request)}
    return [
        (i.name, names[i.relation], ", ".join(i.columns), instant(i.created_at))
        for i in reader.indexes()
        if i.relation in names
    ]


def _indexed(request: Request) -> Sequence[Relation]:
    if request.scope:
        return [resolve_relation(request.reader, request.scope, request.context)]
    return _in_scope(request)


def _functions(_request: Request) -> Rows:
    scalars = {(f.describe(), "scalar") for f in all_functions() if f.spellings}
    aggregates = {(f.describe(), "aggregate") for f in all_aggregates()}
    return [(signature, kind, *[None] * 4) for signature, kind in sorted(scalars | aggregates)]


def _properties(request: Request) -> Rows:
    return setting_rows(request.context, request.context.settings)


def _roles(request: Request) -> Rows:
    return [(request.context.role, True, None)]


def _organizations(request: Request) -> Rows:
    return [(request.context.organization, ORGANIZATION, None, True)]


def _nothing(_request: Request) -> Rows:
    return []


NAMESPACES = shape("Name VARCHAR, IsDefault BOOLEAN, Owner VARCHAR, CreatedAt TIMESTAMP_LTZ(3)")
STORES = shape(
    "Name VARCHAR, Type VARCHAR, State VARCHAR, Message VARCHAR, IsDefault BOOLEAN, Owner VARCHAR,"
    " CreatedAt TIMESTAMP_LTZ(3), UpdatedAt TIMESTAMP_LTZ(3), Path VARCHAR"
)
RELATIONS = shape(
    "Name VARCHAR, Type VARCHAR, Owner VARCHAR, CreatedAt TIMESTAMP_LTZ(3), UpdatedAt TIMESTAMP_LTZ(3), State VARCHAR"
)
COLUMNS = shape("Name VARCHAR, Type VARCHAR, Nullable BOOLEAN")
QUERIES = shape(
    "ID VARCHAR, Name VARCHAR, Version INTEGER, IntendedState VARCHAR, ActualState VARCHAR, Query VARCHAR,"
    " Owner VARCHAR, CreatedAt TIMESTAMP_LTZ(3), UpdatedAt TIMESTAMP_LTZ(3), Sink VARCHAR"
)
COMPUTE_POOLS = shape(
    "Name VARCHAR, Size VARCHAR, IntendedState VARCHAR, ActualState VARCHAR, ErrorMessages VARCHAR, Timeout INTEGER"
)
FUNCTIONS = shape(
    "Signature VARCHAR, Type VARCHAR, SourceName VARCHAR, ClassName VARCHAR, EgressAllowURIs VARCHAR,"
    " Properties VARCHAR"
)
REGISTRIES = shape(
    "Name VARCHAR, Type VARCHAR, State VARCHAR, Owner VARCHAR, CreatedAt TIMESTAMP_LTZ(3), UpdatedAt TIMESTAMP_LTZ(3)"
)
SECRETS = shape(
    "Name VARCHAR, Type VARCHAR, Description VARCHAR, Owner VARCHAR, CreatedAt TIMESTAMP_LTZ(3),"
    " UpdatedAt TIMESTAMP_LTZ(3)"
)

DESCRIPTOR_SOURCES = shape("Name VARCHAR, Type VARCHAR, Url VARCHAR, Tags VARCHAR")
OWNED = shape("Name VARCHAR, Owner VARCHAR, CreatedAt TIMESTAMP_LTZ(3)")

LISTINGS: dict[str, tuple[tuple[Column, ...], Callable[[Request], Rows]]] = {
    "databases": (NAMESPACES, _databases),
    "schemas": (NAMESPACES, _schemas),
    "stores": (STORES, _stores),
    "regions": (shape("Name VARCHAR, Cloud VARCHAR, Region VARCHAR"), _regions),
    "entities": (shape("Name VARCHAR, IsLeaf BOOLEAN"), _entities),
    "relations": (RELATIONS, _relations(*RelationKind)),
    "streams": (RELATIONS, _relations(RelationKind.STREAM)),
    "changelogs": (RELATIONS, _relations(RelationKind.CHANGELOG)),
    "materialized views": (RELATIONS, _relations(RelationKind.VIEW)),
    "tables": (RELATIONS, _nothing),
    "columns": (COLUMNS, _columns),
    "queries": (QUERIES, _queries),
    "indexes": (
        shape("Name VARCHAR, Relation VARCHAR, Columns VARCHAR, CreatedAt TIMESTAMP_LTZ(3)"),
        _indexes,
    ),
    "functions": (FUNCTIONS, _functions),
    "properties": (shape("Property VARCHAR, Value VARCHAR"), _properties),
    "roles": (shape("Name VARCHAR, IsDefault BOOLEAN, CreatedAt TIMESTAMP_LTZ(3)"), _roles),
    "organizations": (
        shape("ID VARCHAR, Name VARCHAR, Description VARCHAR, IsDefault BOOLEAN"),
        _organizations,
    ),
    "compute_pools": (COMPUTE_POOLS, _nothing),
    "function_sources": (
        shape("Name VARCHAR, State VARCHAR, Language VARCHAR, Description VARCHAR, Url VARCHAR"),
        _nothing,
    ),
    "descriptor_sources": (DESCRIPTOR_SOURCES, _descriptor_sources),
    "schema_registries": (REGISTRIES, _registries),
    "secrets": (SECRETS, _nothing),
    "descriptors": (shape("Name VARCHAR, Source VARCHAR"), lambda request: list(request.facts.descriptors())),
    "users": (OWNED, _nothing),
    "api_tokens": (OWNED, _nothing),
    "invitations": (OWNED, _nothing),
    "metrics integrations": (OWNED, _nothing),
    "security integrations": (OWNED, _nothing),
}
"""By kind: the columns, which clients look up by name or place, and what makes the rows."""
