"""What the names of a statement mean to the planner: each not-found error points at the name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millpond.catalog.lookup import existing_store
from millpond.catalog.model import Relation, RelationKind, SessionContext, Store
from millpond.catalog.names import Parts, new_relation_name, resolve_relation, resolve_schema, resolve_store
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.relations import Home
from millpond.plan.stages import Planned
from millpond.plan.topics import refuse_view_topic
from millpond.sql import statements as st
from millpond.types import Column


def parts(name: st.Name) -> Parts:
    """A statement's name as the catalog takes it."""
    return tuple((p.text, p.quoted) for p in name.parts)


def path_of(relation: Relation) -> tuple[str, ...]:
    return (relation.database, relation.schema, relation.name)


@dataclass(frozen=True, slots=True)
class Names:
    """The catalog as one session sees it."""

    reader: CatalogReader
    context: SessionContext

    def relation(self, name: st.Name) -> Relation:
        """Raises RELATION_NOT_FOUND, SCHEMA_NOT_FOUND, DATABASE_NOT_FOUND, INVALID_NAME."""
        try:
            return resolve_relation(self.reader, parts(name), self.context)
        except MillpondError as error:
            error.position = error.position or name.position
            raise

    def target(self, name: st.Name) -> Relation:
        """A relation to insert into. Raises UNSUPPORTED for a view, and for what lies on a view's topic."""
        relation = self.relation(name)
        if relation.kind is RelationKind.VIEW:
            raise MillpondError(
                "UNSUPPORTED",
                position=name.position,
                feature=f"INSERT INTO the materialized view '{relation.name}'",
                instead="Insert into the stream that it reads.",
            )
        refuse_view_topic(self.reader, existing_store(self.reader, relation.store), relation.topic, name.position)
        return relation

    def home(self, name: st.Name) -> Home:
        """Where a new relation goes. Raises SCHEMA_NOT_FOUND, DATABASE_NOT_FOUND, INVALID_NAME."""
        try:
            database, schema, relation = new_relation_name(parts(name), self.context)
            found = resolve_schema(self.reader, ((database, True), (schema, True)), self.context)
        except MillpondError as error:
            error.position = error.position or name.position
            raise
        return Home(found.database, found.name, relation, self.context)

    def taken(self, home: Home, statement: st.CreateRelation | st.CreateRelationAs) -> Planned | None:
        """The answer for a name that is taken, if the statement allows that. Raises DUPLICATE_RELATION."""
        found = self.reader.relation(home.database, home.schema, home.name)
        if found is None:
            return None
        if not statement.if_not_exists:
            position = statement.name.position
            raise MillpondError("DUPLICATE_RELATION", position=position, name=home.name, kind=found.kind.value)
        summary = f"'{home.name}' exists already, nothing was done"
        return Planned((), found.kind.value, home.name, "CREATE", summary, path_of(found))

    def store(self, name: st.Name | None) -> Store:
        """The store that a statement names, or the session's. Raises STORE_NOT_FOUND."""
        try:
            return resolve_store(self.reader, parts(name) if name else self._own_store, self.context)
        except MillpondError as error:
            error.position = error.position or (name.position if name else None)
            raise

    def with_store(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The properties `given` with the store's own name, or the session's store. Raises STORE_NOT_FOUND."""
        name = given.get("store")
        wanted: Parts = ((name, True),) if name else self._own_store
        return {**given, "store": resolve_store(self.reader, wanted, self.context).name}

    @property
    def _own_store(self) -> Parts:
        return ((self.context.store, True),)


def column_named(columns: Sequence[Column], name: st.Identifier, where: str) -> str:
    """The column that `name` means: exactly first, then without case. Raises COLUMN_NOT_FOUND."""
    text = name.text if name.quoted else name.text.lower()
    found = [c.name for c in columns if c.name == text] or [c.name for c in columns if c.name.lower() == text.lower()]
    if len(found) != 1:
        known = f"It has: {', '.join(c.name for c in columns)}."
        raise MillpondError(
            "COLUMN_NOT_FOUND", position=name.position, name=name.text, where=f"'{where}'", suggestion=known
        )
    return found[0]


def refuse_twice(names: Sequence[st.Identifier], columns: Sequence[str]) -> None:
    """Raises DUPLICATE_COLUMN at the second of two `names` that mean one of `columns`, which are parallel to them."""
    for n, column in enumerate(columns):
        if column in columns[:n]:
            raise MillpondError("DUPLICATE_COLUMN", position=names[n].position, name=column)
