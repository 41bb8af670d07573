"""The catalog: what exists, kept in a database, read from memory.

Every write is a transaction of its own, or part of the `transaction` around it. Names given here are
exact ones: what a name in a statement means is found by `millpond.catalog.names`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Table, delete, insert, update

from millpond.catalog import rows, tables
from millpond.catalog.database import MEMORY, open_engine, sqlite_url
from millpond.catalog.dependents import live, refuse_used_by_relations, refuse_used_relation
from millpond.catalog.lookup import (
    existing_database,
    existing_query,
    existing_relation,
    existing_schema,
    existing_store,
    no_index,
)
from millpond.catalog.model import Database, Index, PersistentQuery, QueryState, Relation, Schema
from millpond.catalog.secret_box import SecretBox
from millpond.catalog.stores import StoreCatalog
from millpond.clock import now_ms
from millpond.errors import MillpondError

FILE = "catalog.db"
VIRTUAL_DATABASES = frozenset({"deltastream"})
"""Databases that are always there without being stored; nobody else may have their names."""


def new_id() -> str:
    """An id for a relation or a query."""
    return str(uuid.uuid4())


class Catalog(StoreCatalog):
    """A `CatalogReader` that can be written. Any thread may use it; writes wait for one another.

    Values to be created may leave `id` empty and times 0: they are filled in, and the stored value is
    returned.
    """

    def __init__(self, engine: Engine, box: SecretBox, clock: Callable[[], int] = now_ms) -> None:
        super().__init__(engine, box, clock)

    @classmethod
    def open(cls, data_dir: Path, url: str | None = None, clock: Callable[[], int] = now_ms) -> Catalog:
        """The catalog of a data folder, made on first use; `url` puts it into another database than its
        `catalog.db`.

        Raises CATALOG_UNREADABLE, CATALOG_TOO_NEW, SECRET_KEY_UNREADABLE.
        """
        data_dir.mkdir(parents=True, exist_ok=True)
        box = SecretBox.in_folder(data_dir)
        return cls(open_engine(url or sqlite_url(data_dir / FILE)), box, clock)

    @classmethod
    def in_memory(cls, clock: Callable[[], int] = now_ms) -> Catalog:
        """A new catalog that ends with the process."""
        return cls(open_engine(MEMORY), SecretBox.ephemeral(), clock)

    # --- databases and schemas ---

    def create_database(self, name: str, owner: str = "sysadmin") -> Database:
        """With a schema `public` in it. Raises DUPLICATE_DATABASE."""
        with self._writing("databases") as connection:
            if self.database(name) is not None or name in VIRTUAL_DATABASES:
                raise MillpondError("DUPLICATE_DATABASE", name=name)
            made = Database(name, owner, self._clock())
            connection.execute(insert(tables.databases).values(rows.plain_row(made)))
            self._insert_schema(Schema(name, "public", owner, made.created_at))
        return made

    def drop_database(self, name: str) -> None:
        """With its schemas. Raises DATABASE_NOT_FOUND, DEPENDENTS_EXIST if it has relations."""
        with self._writing("databases") as connection:
            existing_database(self, name)
            refuse_used_by_relations(self, "database", name, self.relations(name))
            with self._writing("schemas"):
                connection.execute(delete(tables.schemas).where(tables.schemas.c.database == name))
            connection.execute(delete(tables.databases).where(tables.databases.c.name == name))

    def create_schema(self, database: str, name: str, owner: str = "sysadmin") -> Schema:
        """Raises DATABASE_NOT_FOUND, DUPLICATE_SCHEMA."""
        with self.transaction():
            existing_database(self, database)
            if self.schema(database, name) is not None:
                raise MillpondError("DUPLICATE_SCHEMA", name=name, database=database)
            return self._insert_schema(Schema(database, name, owner, self._clock()))

    def drop_schema(self, database: str, name: str) -> None:
        """Raises SCHEMA_NOT_FOUND, DATABASE_NOT_FOUND, DEPENDENTS_EXIST if it has relations."""
        with self._writing("schemas") as connection:
            existing_schema(self, database, name)
            refuse_used_by_relations(self, "schema", name, self.relations(database, name))
            table = tables.schemas
            connection.execute(delete(table).where(table.c.database == database, table.c.name == name))

    def _insert_schema(self, schema: Schema) -> Schema:
        with self._writing("schemas") as connection:
            connection.execute(insert(tables.schemas).values(rows.plain_row(schema)))
        return schema

    # --- relations ---

    def create_relation(self, relation: Relation) -> Relation:
        """Raises DUPLICATE_RELATION, SCHEMA_NOT_FOUND, DATABASE_NOT_FOUND, STORE_NOT_FOUND."""
        with self._writing("relations") as connection:
            existing_schema(self, relation.database, relation.schema)
            existing_store(self, relation.store)
            there = self.relation(relation.database, relation.schema, relation.name)
            if there is not None:
                raise MillpondError("DUPLICATE_RELATION", kind=there.kind.value, name=there.name)
            made = self._dated(replace(relation, id=relation.id or new_id()))
            connection.execute(insert(tables.relations).values(rows.relation_row(made)))
        return made

    def update_relation(self, relation: Relation) -> Relation:
        """Replace the relation of that id. Raises RELATION_NOT_FOUND."""
        with self._writing("relations") as connection:
            existing_relation(self, relation.id)
            changed = replace(relation, updated_at=self._clock())
            where = tables.relations.c.id == relation.id
            connection.execute(update(tables.relations).where(where).values(rows.relation_row(changed)))
        return changed

    def drop_relation(self, relation_id: str) -> None:
        """With its indexes. Raises RELATION_NOT_FOUND, DEPENDENTS_EXIST if a query that is not terminated
        uses it."""
        with self._writing("relations") as connection:
            relation = existing_relation(self, relation_id)
            refuse_used_relation(self, relation)
            with self._writing("indexes"):
                connection.execute(delete(tables.indexes).where(tables.indexes.c.relation == relation_id))
            connection.execute(delete(tables.relations).where(tables.relations.c.id == relation_id))

    # --- queries ---

    def create_query(self, query: PersistentQuery) -> PersistentQuery:
        """Raises DUPLICATE_QUERY if one of the same name and version is not terminated."""
        with self._writing("queries") as connection:
            there = self.query_named(query.name, query.version) if query.name else None
            if there is not None and live([there]):
                raise MillpondError("DUPLICATE_QUERY", name=query.name, version=query.version, id=there.id)
            made = self._dated(replace(query, id=query.id or new_id()))
            connection.execute(insert(tables.queries).values(rows.query_row(made)))
        return made

    def update_query(
        self,
        query_id: str,
        *,
        state: QueryState | None = None,
        intended_state: QueryState | None = None,
        error: str | None = None,
        mode: str | None = None,
        mode_reason: str | None = None,
    ) -> PersistentQuery:
        """Change what is not None; nothing is written if that changes nothing. Raises QUERY_NOT_FOUND."""
        given: dict[str, Any] = {
            "state": state,
            "intended_state": intended_state,
            "error": error,
            "mode": mode,
            "mode_reason": mode_reason,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        with self.transaction():
            found = existing_query(self, query_id)
            if all(getattr(found, name) == value for name, value in changes.items()):
                return found
            return self._replace_query(replace(found, updated_at=self._clock(), **changes))

    def _replace_query(self, query: PersistentQuery) -> PersistentQuery:
        with self._writing("queries") as connection:
            where = tables.queries.c.id == query.id
            connection.execute(update(tables.queries).where(where).values(rows.query_row(query)))
        return query

    def drop_query(self, query_id: str) -> None:
        """Forget a query. Raises QUERY_NOT_FOUND."""
        with self._writing("queries") as connection:
            existing_query(self, query_id)
            connection.execute(delete(tables.queries).where(tables.queries.c.id == query_id))

    # --- indexes ---

    def create_index(self, index: Index) -> Index:
        """Raises RELATION_NOT_FOUND, DUPLICATE_INDEX if its name is taken in the relation's schema."""
        with self._writing("indexes") as connection:
            home = existing_relation(self, index.relation)
            for relation in self.relations(home.database, home.schema):
                if any(i.name == index.name for i in self.indexes(relation.id)):
                    raise MillpondError("DUPLICATE_INDEX", name=index.name, relation=relation.name)
            made = replace(index, created_at=index.created_at or self._clock())
            connection.execute(insert(tables.indexes).values(rows.index_row(made)))
        return made

    def drop_index(self, relation_id: str, name: str) -> None:
        """Raises INDEX_NOT_FOUND."""
        table = tables.indexes
        with self._writing("indexes") as connection:
            known = self.indexes(relation_id)
            if all(i.name != name for i in known):
                raise no_index(name, known)
            connection.execute(delete(table).where(table.c.relation == relation_id, table.c.name == name))

    # --- sessions ---

    def set_session_setting(self, session: str, key: str, value: str | None) -> None:
        """Set `key` in the session with this id; None unsets it."""
        self._put("session_settings", {"session": session, "key": key}, "value", value)

    def set_default(self, kind: str, name: str | None) -> None:
        """What a new session begins with; `kind` is database, schema, store, ...; None forgets it."""
        self._put("defaults", {"kind": kind}, "name", name)

    def _put(self, table_name: str, key: Mapping[str, str], column: str, value: str | None) -> None:
        table: Table = tables.metadata.tables[table_name]
        with self._writing(table_name) as connection:
            connection.execute(delete(table).where(*(table.c[c] == v for c, v in key.items())))
            if value is not None:
                connection.execute(insert(table).values({**key, column: value}))
