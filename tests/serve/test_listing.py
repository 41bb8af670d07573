"""LIST and SHOW: the columns that clients look for, and the rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from millpond.catalog.catalog import Catalog
from millpond.errors import MillpondError
from millpond.serve.answers import Answer
from millpond.serve.facts import NoFacts
from millpond.serve.listing import LISTINGS, list_things
from millpond.sql import things
from millpond.sql.statements import Identifier, Name
from tests.catalog.examples import CONTEXT
from tests.serve.known import KnownFacts


def name(text: str) -> Name:
    return Name(tuple(Identifier(part) for part in text.split(".")))


def listed(catalog: Catalog, kind: str, scope: str = "", store: str = "") -> Answer:
    return list_things(
        kind, catalog, CONTEXT, KnownFacts(), name(scope) if scope else None, name(store) if store else None
    )


def firsts(answer: Answer) -> list[object]:
    return [row[0] for row in answer.rows]


COLUMNS = {
    "databases": "Name IsDefault Owner CreatedAt",
    "schemas": "Name IsDefault Owner CreatedAt",
    "stores": "Name Type State Message IsDefault Owner CreatedAt UpdatedAt Path",
    "entities": "Name IsLeaf",
    "queries": "ID Name Version IntendedState ActualState Query Owner CreatedAt UpdatedAt Sink",
    "compute_pools": "Name Size IntendedState ActualState ErrorMessages Timeout",
    "function_sources": "Name State Language Description Url",
    "descriptor_sources": "Name Type Url Tags",
    "functions": "Signature Type SourceName ClassName EgressAllowURIs Properties",
}


@pytest.mark.parametrize(("kind", "columns"), COLUMNS.items())
def test_clients_find_the_columns_that_they_look_for(furnished: Catalog, kind: str, columns: str) -> None:
    shape, _ = LISTINGS[kind]
    assert " ".join(c.name for c in shape) == columns


@pytest.mark.parametrize("kind", sorted(LISTINGS.keys() - {"columns"}))
@pytest.mark.parametrize("facts", [NoFacts(), KnownFacts()], ids=["nothing", "known"])
def test_every_row_has_a_value_for_each_column(furnished: Catalog, kind: str, facts: NoFacts) -> None:
    answer = list_things(kind, furnished, CONTEXT, facts)
    assert all(len(row) == len(answer.columns) for row in answer.rows)
    assert answer.statement == f"LIST_{kind.replace(' ', '_').upper()}"
    assert answer.context is CONTEXT


def test_databases_schemas_and_stores_say_which_is_the_session_s(furnished: Catalog) -> None:
    assert [row[:3] for row in listed(furnished, "databases").rows] == [
        ("default", True, "sysadmin"),
        ("shop", False, "jane"),
    ]
    assert [row[:2] for row in listed(furnished, "schemas").rows] == [("public", True)]
    assert [row[:2] for row in listed(furnished, "schemas", "SHOP").rows] == [("public", False)]
    (store,) = listed(furnished, "stores").rows
    assert store[:6] == ("kafka", "KAFKA", "ready", None, True, "sysadmin")


def test_times_are_instants(furnished: Catalog) -> None:
    created = listed(furnished, "stores").rows[0][6]
    assert created == datetime(2023, 11, 14, 22, 13, 20, 1000, tzinfo=UTC)


def test_relations_are_those_of_the_schema_or_of_the_whole_database(furnished: Catalog) -> None:
    furnished.create_schema("default", "other")
    elsewhere = furnished.relations()[0]
    furnished.create_relation(replace(elsewhere, id="", schema="other", name="elsewhere"))
    assert [row[:2] for row in listed(furnished, "relations").rows] == [
        ("clicks", "stream"),
        ("url_visits", "materialized_view"),
    ]
    assert firsts(listed(furnished, "relations", "default.other")) == ["elsewhere"]
    assert firsts(listed(furnished, "relations", "other")) == ["elsewhere"]
    assert firsts(listed(furnished, "relations", "default")) == ["elsewhere", "clicks", "url_visits"]
    assert firsts(listed(furnished, "relations", "shop")) == []


def test_relations_are_listed_by_kind(furnished: Catalog) -> None:
    assert firsts(listed(furnished, "streams")) == ["clicks"]
    assert firsts(listed(furnished, "changelogs")) == []
    assert firsts(listed(furnished, "materialized views")) == ["url_visits"]


def test_entities_are_the_topics_of_the_store(furnished: Catalog) -> None:
    expected = [("Mixed.Case", True), ("clicks", True), ("url_visits", True)]
    assert listed(furnished, "entities").rows == listed(furnished, "entities", store="kafka").rows == expected


def test_columns_indexes_and_queries_are_listed(furnished: Catalog) -> None:
    assert listed(furnished, "columns", "clicks").rows == [
        ("event_time", "BIGINT", True),
        ("url", "VARCHAR", False),
    ]
    assert [row[:3] for row in listed(furnished, "indexes").rows] == [("by_url", "url_visits", "url, at")]
    assert listed(furnished, "indexes", "clicks").rows == []
    (query,) = listed(furnished, "queries").rows
    assert query[1:5] == ("count_visits", 1, "running", "starting")
    assert query[-1] == "default.public.url_visits"


def test_properties_are_the_session_s_names_and_what_it_has_set(furnished: Catalog) -> None:
    context = replace(CONTEXT, settings={"timezone.display": "local"})
    rows = list_things("properties", furnished, context, NoFacts()).rows
    assert ("database", "default") in rows and ("timezone.display", "local") in rows


def test_whatever_the_language_lists_has_a_listing() -> None:
    assert set(things._LISTED) == LISTINGS.keys()


def test_functions_are_listed_by_what_they_take(furnished: Catalog) -> None:
    rows = {row[0]: row[1] for row in listed(furnished, "functions").rows}
    assert rows["LOWER(VARCHAR)"] == "scalar" and rows["COUNT([ANY])"] == "aggregate"


REFUSED = [
    ("sterams", "", "", "UNSUPPORTED"),
    ("columns", "", "", "UNSUPPORTED"),
    ("columns", "nothing", "", "RELATION_NOT_FOUND"),
    ("entities", "", "kinesis", "STORE_NOT_FOUND"),
    ("entities", "a.path", "", "UNSUPPORTED"),
    ("schemas", "nowhere", "", "DATABASE_NOT_FOUND"),
    ("relations", "nowhere", "", "SCHEMA_NOT_FOUND"),
    ("relations", "shop.nowhere", "", "SCHEMA_NOT_FOUND"),
]


@pytest.mark.parametrize(("kind", "scope", "store", "error"), REFUSED)
def test_what_cannot_be_listed_is_refused_by_name(
    furnished: Catalog, kind: str, scope: str, store: str, error: str
) -> None:
    with pytest.raises(MillpondError) as refusal:
        listed(furnished, kind, scope, store)
    assert refusal.value.name == error and str(refusal.value)
