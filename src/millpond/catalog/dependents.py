"""What still uses a thing that is to be dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millpond.catalog.model import PersistentQuery, QueryState, Relation
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError


def refuse_used_relation(reader: CatalogReader, relation: Relation) -> None:
    """Raises DEPENDENTS_EXIST if a query that is not terminated reads or writes the relation."""
    reading, writing = live(reader.queries_reading(relation.id)), live(reader.queries_writing(relation.id))
    used = [f"query '{query_label(q)}' (reads it)" for q in reading]
    used += [f"query '{query_label(q)}' (writes it)" for q in writing]
    commands = dict.fromkeys(f"TERMINATE QUERY {q.id};" for q in (*reading, *writing))
    _refuse(relation.kind.value, relation.name, used, commands)


def refuse_used_by_relations(what: str, name: str, relations: Sequence[Relation]) -> None:
    """Raises DEPENDENTS_EXIST if there are any relations in the schema or database, or on the store."""
    used = [f"{r.kind.value} '{r.name}'" for r in relations]
    _refuse(what, name, used, [f"DROP RELATION {r.fqn};" for r in relations])


def refuse_used_store(reader: CatalogReader, store: str) -> None:
    """Raises DEPENDENTS_EXIST if relations are on the store, or a query that is not terminated is planned with it."""
    relations = [r for r in reader.relations() if r.store == store]
    queries = [q for q in live(reader.queries()) if q.store == store]
    used = [f"{r.kind.value} '{r.name}'" for r in relations]
    used += [f"query '{query_label(q)}' (made in a session of it)" for q in queries]
    commands = [f"DROP RELATION {r.fqn};" for r in relations] + [f"TERMINATE QUERY {q.id};" for q in queries]
    _refuse("store", store, used, commands)


def refuse_used_registry(reader: CatalogReader, registry: str) -> None:
    """Raises DEPENDENTS_EXIST while stores are attached to the schema registry."""
    stores = [s.name for s in reader.stores() if s.properties.get("schema_registry.name") == registry]
    _refuse("schema registry", registry, [f"store '{s}'" for s in stores], [f'DROP STORE "{s}";' for s in stores])


def live(queries: Iterable[PersistentQuery]) -> list[PersistentQuery]:
    """Those that run or may run again without being created anew."""
    return [q for q in queries if q.state is not QueryState.TERMINATED]


def query_label(query: PersistentQuery) -> str:
    return query.name or query.id


SHOWN = 5
"""Dependents named in one message; with more of them it would hide its next step."""


def _refuse(what: str, name: str, used: Sequence[str], commands: Iterable[str]) -> None:
    if not used:
        return
    more = [f"{len(used) - SHOWN} more"] if len(used) > SHOWN else []
    shown = ", ".join([*used[:SHOWN], *more])
    first = " ".join(list(commands)[:SHOWN])
    raise MillpondError("DEPENDENTS_EXIST", what=what, name=name, dependents=shown, next_step=f"First: {first}")
