"""What still uses a thing that is to be dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millpond.catalog.model import PersistentQuery, QueryState, Relation, RelationKind
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError


def refuse_used_relation(reader: CatalogReader, relation: Relation) -> None:
    """Raises DEPENDENTS_EXIST if a query that is not terminated reads or writes the relation."""
    reading, writing = live(reader.queries_reading(relation.id)), live(reader.queries_writing(relation.id))
    used = [f"{query_label(reader, q)} (reads it)" for q in reading]
    used += [f"{query_label(reader, q)} (writes it)" for q in writing]
    _refuse(relation.kind.value, relation.name, used, drop_order(reader, [relation]))


def refuse_used_by_relations(reader: CatalogReader, what: str, name: str, relations: Sequence[Relation]) -> None:
    """Raises DEPENDENTS_EXIST if there are any relations in the schema or database, or on the store."""
    used = [f"{r.kind.value} '{r.name}'" for r in relations]
    _refuse(what, name, used, drop_order(reader, relations))


def refuse_used_store(reader: CatalogReader, store: str) -> None:
    """Raises DEPENDENTS_EXIST if relations are on the store, or a query that is not terminated is planned with it."""
    relations = [r for r in reader.relations() if r.store == store]
    queries = [q for q in live(reader.queries()) if q.store == store]
    used = [f"{r.kind.value} '{r.name}'" for r in relations]
    used += [f"{query_label(reader, q)} (made in a session of it)" for q in queries]
    _refuse("store", store, used, [*(_terminate(q) for q in queries), *drop_order(reader, relations)])


def drop_order(reader: CatalogReader, relations: Sequence[Relation]) -> list[str]:
    """The statements that drop `relations`, in an order in which none is refused: what reads before what is read."""
    views = {r.id for r in relations if r.kind is RelationKind.VIEW}  # their queries go with them
    commands: dict[str, None] = {}
    for relation in sorted(relations, key=lambda r: _depth(reader, r, ()), reverse=True):
        using = live([*reader.queries_reading(relation.id), *reader.queries_writing(relation.id)])
        commands |= dict.fromkeys(_terminate(q) for q in using if q.sink not in views)
        commands[f"DROP RELATION {relation.fqn};"] = None
    return list(commands)


def _depth(reader: CatalogReader, relation: Relation, above: tuple[str, ...]) -> int:
    """How many queries lie between the relation and what feeds it; a circle is walked once."""
    sources = {s for q in live(reader.queries_writing(relation.id)) for s in q.sources} - {relation.id, *above}
    found = [r for s in sources if (r := reader.relation_by_id(s)) is not None]
    return 1 + max((_depth(reader, r, (*above, relation.id)) for r in found), default=-1)


def _terminate(query: PersistentQuery) -> str:
    return f"TERMINATE QUERY {query.id};"


def refuse_used_registry(reader: CatalogReader, registry: str) -> None:
    """Raises DEPENDENTS_EXIST while stores are attached to the schema registry."""
    stores = [s.name for s in reader.stores() if s.properties.get("schema_registry.name") == registry]
    _refuse("schema registry", registry, [f"store '{s}'" for s in stores], [f'DROP STORE "{s}";' for s in stores])


def refuse_used_descriptors(reader: CatalogReader, source: str) -> None:
    """Raises DEPENDENTS_EXIST while relations or entities are of messages of the descriptor source."""
    parts = ("key.descriptor.source", "value.descriptor.source")
    used = [r for r in reader.relations() if source in (r.properties.get(p) for p in parts)]
    refuse_used_by_relations(reader, "descriptor source", source, used)
    entities = [d for d in reader.entity_descriptors() if d.source == source]
    shown = [f"entity '{d.topic}' of store '{d.store}'" for d in entities]
    forget = "UPDATE ENTITY \"{0.topic}\" IN STORE \"{0.store}\" WITH ('{0.part}.descriptor.name' = '');"
    _refuse("descriptor source", source, shown, [forget.format(d) for d in entities])


def live(queries: Iterable[PersistentQuery]) -> list[PersistentQuery]:
    """Those that run or may run again without being created anew."""
    return [q for q in queries if q.state is not QueryState.TERMINATED]


def query_label(reader: CatalogReader, query: PersistentQuery) -> str:
    """How a message names a query: by its name or its id, and by what it writes."""
    sink = reader.relation_by_id(query.sink)
    return f"query '{query.name or query.id}'" + (f" -> '{sink.name}'" if sink else "")


SHOWN = 5
"""Dependents named in one message; with more of them it would hide its next step."""


def _refuse(what: str, name: str, used: Sequence[str], commands: Iterable[str]) -> None:
    if not used:
        return
    more = [f"{len(used) - SHOWN} more"] if len(used) > SHOWN else []
    shown = ", ".join([*used[:SHOWN], *more])
    listed = list(commands)
    rest = "" if len(listed) <= SHOWN else f" and {len(listed) - SHOWN} more"
    next_step = f"In this order: {' '.join(listed[:SHOWN])}{rest}"
    raise MillpondError("DEPENDENTS_EXIST", what=what, name=name, dependents=shown, next_step=next_step)
