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
