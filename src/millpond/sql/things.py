"""DROP, LIST, SHOW and DESCRIBE: statements about one kind of thing."""

from __future__ import annotations

from difflib import get_close_matches

from millpond.sql.cursor import Cursor
from millpond.sql.names import name, query_name
from millpond.sql.statements import Describe, Drop, List, Name, Statement

_DROPPED: dict[tuple[str, ...], tuple[str, int | None]] = {
    ("STREAM",): ("stream", 3),
    ("CHANGELOG",): ("changelog", 3),
    ("MATERIALIZED", "VIEW"): ("view", 3),
    ("TABLE",): ("table", 3),
    ("RELATION",): ("relation", 3),
    ("DATABASE",): ("database", 1),
    ("SCHEMA",): ("schema", 2),
    ("STORE",): ("store", 1),
    ("ENTITY",): ("entity", None),
    ("TOPIC",): ("entity", None),
    ("INDEX",): ("index", 3),
    ("SCHEMA_REGISTRY",): ("schema_registry", 1),
    ("DESCRIPTOR_SOURCE",): ("descriptor_source", 1),
}
"""What DROP takes: its kind and the most parts that its name has."""

_RELATION_LISTS = ("relations", "streams", "changelogs", "materialized views", "tables")
_LISTED = (
    "databases",
    "schemas",
    "stores",
    "regions",
    "entities",
    *_RELATION_LISTS,
    "columns",
    "queries",
    "functions",
    "indexes",
    "properties",
    "compute_pools",
    "function_sources",
    "descriptor_sources",
    "descriptors",
    "schema_registries",
    "roles",
    "users",
    "organizations",
    "api_tokens",
    "secrets",
    "invitations",
    "metrics integrations",
    "security integrations",
)
_LIST_ALIASES = {"topics": "entities", "views": "materialized views"}

_DESCRIBED: dict[tuple[str, ...], tuple[str, int | None]] = {
    ("RELATION", "COLUMNS"): ("relation columns", 3),
    ("RELATION",): ("relation", 3),
    ("STREAM",): ("stream", 3),
    ("CHANGELOG",): ("changelog", 3),
    ("MATERIALIZED", "VIEW"): ("materialized view", 3),
    ("TABLE",): ("table", 3),
    ("DATABASE",): ("database", 1),
    ("SCHEMA",): ("schema", 2),
    ("STORE",): ("store", 1),
    ("ENTITY",): ("entity", None),
    ("TOPIC",): ("entity", None),
    ("SCHEMA_REGISTRY",): ("schema_registry", 1),
    ("DESCRIPTOR_SOURCE",): ("descriptor_source", 1),
}
_QUERY_VIEWS = ("METRICS", "EVENTS", "STATE", "HISTORY")


def scope_words(kind: str) -> str:
    """The words before the scope in `LIST kind ...`; empty if it takes none."""
    if kind == "schemas":
        return "IN DATABASE"
    if kind in _RELATION_LISTS:
        return "IN SCHEMA"
    return {"entities": "IN", "columns": "FROM", "indexes": "FROM"}.get(kind, "")


def drop(cursor: Cursor) -> Statement:
    """What follows DROP."""
    for words, (kind, parts) in _DROPPED.items():
        if cursor.accept(*words):
            if_exists = cursor.accept("IF", "EXISTS")
            thing = name(cursor, f"the {kind}", parts)
            return Drop(kind, thing, _in_store(cursor, kind), if_exists, text=cursor.sql)
    return cursor.fail(*(" ".join(words) for words in _DROPPED))


def _in_store(cursor: Cursor, kind: str) -> Name | None:
    return name(cursor, "a store", 1) if kind in ("entity", "entities") and cursor.accept("IN", "STORE") else None


def list_things(cursor: Cursor) -> Statement:
    """What follows LIST or SHOW."""
    words = f"{cursor.key()} {cursor.key(1)}".lower()
    kind = words if words in _LISTED else words.split(" ")[0]
    kind = _LIST_ALIASES.get(kind, kind)
    if kind not in _LISTED:
        _unknown_list(cursor)
    cursor.advance(kind.count(" ") + 1 if words == kind else 1)
    scope = _scope(cursor, kind)
    return List(kind, scope, _in_store(cursor, kind), text=cursor.sql)


def _unknown_list(cursor: Cursor) -> None:
    if cursor.ended or not cursor.at_name():
        cursor.fail("DATABASES", "SCHEMAS", "STORES", "ENTITIES", "RELATIONS", "QUERIES")
    near = get_close_matches(cursor.key().lower(), _LISTED, n=1)
    hint = f" Did you mean {near[0].upper()}?" if near else ""
    cursor.problem(f"There is nothing called '{cursor.token_text()}' to list.{hint}")


def _scope(cursor: Cursor, kind: str) -> Name | None:
    """IN DATABASE d | IN SCHEMA d.s | IN path | FROM relation, the word DATABASE or SCHEMA optional."""
    words = scope_words(kind)
    if not words or cursor.at("IN", "STORE"):
        return None
    first, *rest = words.split()
    if not cursor.accept("IN") and not (first == "FROM" and (cursor.accept("FROM") or cursor.accept("ON"))):
        return None
    if rest and cursor.at(*rest) and cursor.at_name(ahead=1):
        cursor.advance()
    return name(cursor, "a name", {"schemas": 1, "entities": None, "columns": 3, "indexes": 3}.get(kind, 2))


def describe(cursor: Cursor) -> Statement:
    """What follows DESCRIBE, if it is not a statement. A bare name is a relation's."""
    if cursor.at("QUERY") and not _bare(cursor):
        cursor.advance()
        view = cursor.key() if cursor.at_any(_QUERY_VIEWS) and not _bare(cursor) else ""
        if view:
            cursor.advance()
        return Describe(f"query {view}".strip().lower(), query_name(cursor), text=cursor.sql)
    for words, (kind, parts) in _DESCRIBED.items():
        if cursor.at(*words) and cursor.at_name(ahead=len(words)):
            cursor.advance(len(words))
            thing = name(cursor, f"the {kind}", parts)
            return Describe(kind, thing, _in_store(cursor, kind), text=cursor.sql)
    return Describe("relation", name(cursor, "a relation"), text=cursor.sql)


def _bare(cursor: Cursor) -> bool:
    """Whether the current word is itself the name: nothing or a dot follows."""
    return cursor.last or cursor.key(1) == "."
