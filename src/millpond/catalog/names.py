"""What a name in a statement means in a session.

A name comes as its parts, each with whether it was quoted. An unquoted part is folded to the case of
the session's dialect. Then each level of a name is looked for exactly first and without case after
that, if just one thing is found so; the levels that the name leaves out are the session's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from millpond.catalog.dependents import live
from millpond.catalog.lookup import (
    no_database,
    no_descriptor_source,
    no_index,
    no_query,
    no_registry,
    no_relation,
    no_schema,
    no_store,
)
from millpond.catalog.model import (
    Database,
    DescriptorSource,
    Index,
    PersistentQuery,
    Relation,
    Schema,
    SchemaRegistry,
    SessionContext,
    Store,
)
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError

Parts: TypeAlias = Sequence[tuple[str, bool]]
"""The parts of a name, outermost first: (text, was it quoted)."""

T = TypeVar("T")


def fold(text: str, quoted: bool, context: SessionContext) -> str:
    """A part as the catalog knows it: as written if quoted, else in the case of the dialect."""
    if quoted:
        return text
    return text.upper() if context.dialect == "ksql" else text.lower()


def fold_parts(parts: Parts, context: SessionContext) -> tuple[str, ...]:
    """All parts folded: of entity paths, too, whose length is the store's affair."""
    return tuple(fold(text, quoted, context) for text, quoted in parts)


def resolve_database(reader: CatalogReader, parts: Parts, context: SessionContext) -> Database:
    """Raises DATABASE_NOT_FOUND, INVALID_NAME."""
    (name,) = _folded(parts, context, "database", ("database",))
    return _database(reader, name)


def resolve_schema(reader: CatalogReader, parts: Parts, context: SessionContext) -> Schema:
    """Of `schema` or `database.schema`. Raises SCHEMA_NOT_FOUND, DATABASE_NOT_FOUND, INVALID_NAME."""
    database, name = _qualified(_folded(parts, context, "schema", ("database", "schema")), (context.database,))
    return _schema(reader, database, name)


def resolve_store(reader: CatalogReader, parts: Parts, context: SessionContext) -> Store:
    """Raises STORE_NOT_FOUND, INVALID_NAME."""
    (name,) = _folded(parts, context, "store", ("store",))
    found = reader.store(name) or _caseless(name, reader.stores(), lambda s: s.name)
    if found is None:
        raise no_store(reader, name)
    return found


def resolve_registry(reader: CatalogReader, parts: Parts, context: SessionContext) -> SchemaRegistry:
    """Raises REGISTRY_NOT_FOUND, INVALID_NAME."""
    (name,) = _folded(parts, context, "schema registry", ("schema_registry",))
    found = reader.schema_registry(name) or _caseless(name, reader.schema_registries(), lambda r: r.name)
    if found is None:
        raise no_registry(reader, name)
    return found


def resolve_descriptor_source(reader: CatalogReader, parts: Parts, context: SessionContext) -> DescriptorSource:
    """Raises DESCRIPTOR_SOURCE_NOT_FOUND, INVALID_NAME."""
    (name,) = _folded(parts, context, "descriptor source", ("descriptor_source",))
    found = reader.descriptor_source(name) or _caseless(name, reader.descriptor_sources(), lambda d: d.name)
    if found is None:
        raise no_descriptor_source(reader, name)
    return found


def resolve_relation(reader: CatalogReader, parts: Parts, context: SessionContext) -> Relation:
    """Of a name with one to three parts.

    Raises RELATION_NOT_FOUND, SCHEMA_NOT_FOUND or DATABASE_NOT_FOUND for the level that is missing,
    INVALID_NAME.
    """
    database, schema, name = new_relation_name(parts, context)
    found = reader.relation(database, schema, name)
    if found is not None:
        return found
    home = _schema(reader, database, schema)
    known = reader.relations(home.database, home.name)
    found = reader.relation(home.database, home.name, name) or _caseless(name, known, lambda r: r.name)
    if found is None:
        raise no_relation(dotted(parts), known)
    return found


def resolve_index(reader: CatalogReader, parts: Parts, context: SessionContext) -> Index:
    """Of `index`, `schema.index` or `database.schema.index`: an index is named within its view's schema.

    Raises INDEX_NOT_FOUND, SCHEMA_NOT_FOUND, DATABASE_NOT_FOUND, INVALID_NAME.
    """
    folded = _folded(parts, context, "index", ("database", "schema", "index"))
    database, schema, name = _qualified(folded, (context.database, context.schema))
    home = _schema(reader, database, schema)
    known = [i for r in reader.relations(home.database, home.name) for i in reader.indexes(r.id)]
    exact = next((i for i in known if i.name == name), None)
    found = exact or _caseless(name, known, lambda i: i.name)
    if found is None:
        raise no_index(name, known)
    return found


def resolve_query(reader: CatalogReader, parts: Parts, context: SessionContext) -> PersistentQuery:
    """Of an id, a name, `name:version`, or the relation that one query writes; quoted or not.

    Raises QUERY_NOT_FOUND, AMBIGUOUS_QUERY, INVALID_NAME.
    """
    if len(parts) == 1:
        (written,) = fold_parts(parts, context)
        text = parts[0][0]
        found = reader.query(text.lower()) or _query_named(reader, written) or _query_named(reader, text)
        if found is not None:
            return found
    try:
        sink = resolve_relation(reader, parts, context)
    except MillpondError as error:
        if error.name == "INVALID_NAME":
            raise
        raise no_query(reader, dotted(parts)) from None
    return _query_into(reader, sink, dotted(parts))


def _query_into(reader: CatalogReader, sink: Relation, written: str) -> PersistentQuery:
    """The query that writes `sink`: the one that is not terminated, else the only one that ever did."""
    writing = reader.queries_writing(sink.id)
    found = live(writing) or writing
    if not found:
        raise no_query(reader, written)
    if len(found) > 1:
        queries = ", ".join(f"'{q.id}'" + (f" ({q.name})" if q.name else "") for q in found)
        raise MillpondError("AMBIGUOUS_QUERY", name=written, queries=queries)
    return found[0]


def new_relation_name(parts: Parts, context: SessionContext) -> tuple[str, str, str]:
    """(database, schema, name) of a relation to be made; whether its schema exists is seen when it is made.

    Raises INVALID_NAME.
    """
    folded = _folded(parts, context, "relation", ("database", "schema", "relation"))
    database, schema, name = _qualified(folded, (context.database, context.schema))
    return database, schema, name


def new_schema_name(parts: Parts, context: SessionContext, database: Parts = ()) -> tuple[str, str]:
    """(database, name) of a schema to be made; `database` is that of IN DATABASE. Raises INVALID_NAME."""
    folded = _folded((*database, *parts), context, "schema", ("database", "schema"))
    home, name = _qualified(folded, (context.database,))
    return home, name


def new_name(parts: Parts, context: SessionContext, what: str) -> str:
    """The name of something to be made that has no path: a database, a store, an index. Raises
    INVALID_NAME."""
    (name,) = _folded(parts, context, what, (what,))
    return name


def dotted(parts: Parts) -> str:
    """A name as it is shown in messages."""
    return ".".join(text for text, _ in parts)


def _folded(parts: Parts, context: SessionContext, what: str, levels: Sequence[str]) -> tuple[str, ...]:
    if not 1 <= len(parts) <= len(levels):
        form = ".".join(levels)
        raise MillpondError(
            "INVALID_NAME", name=dotted(parts), count=len(parts), what=what, limit=len(levels), form=form
        )
    return fold_parts(parts, context)


def _qualified(folded: tuple[str, ...], session: tuple[str, ...]) -> tuple[str, ...]:
    """`folded` with the missing outer levels taken from the session's."""
    missing = len(session) + 1 - len(folded)
    return (*session[:missing], *folded)


def _caseless(name: str, known: Iterable[T], name_of: Callable[[T], str]) -> T | None:
    """The one thing whose name is `name` but for its case; None if there are none or several."""
    found = [k for k in known if name_of(k).lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def _database(reader: CatalogReader, name: str) -> Database:
    found = reader.database(name) or _caseless(name, reader.databases(), lambda d: d.name)
    if found is None:
        raise no_database(reader, name)
    return found


def _schema(reader: CatalogReader, database: str, name: str) -> Schema:
    home = _database(reader, database).name
    found = reader.schema(home, name) or _caseless(name, reader.schemas(home), lambda s: s.name)
    if found is None:
        raise no_schema(reader, home, name)
    return found


def _query_named(reader: CatalogReader, written: str) -> PersistentQuery | None:
    name, colon, version = written.rpartition(":")
    if colon and version.isdecimal():
        return reader.query_named(name, int(version)) or reader.query_named(written)
    return reader.query_named(written)
