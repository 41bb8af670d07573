"""What names mean in a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from millpond.catalog import names
from millpond.catalog.catalog import Catalog
from millpond.catalog.model import Index, QueryState, SessionContext
from millpond.errors import MillpondError
from tests.catalog.examples import CLICKS, CONTEXT, QUERY, furnish

KSQL = replace(CONTEXT, dialect="ksql")


def parts(text: str) -> names.Parts:
    """`a."B"` as parts; no dots inside."""
    return [(p.strip('"'), p.startswith('"')) for p in text.split(".")]


@pytest.fixture
def furnished(catalog: Catalog) -> Catalog:
    _, visits, _ = furnish(catalog)
    catalog.create_index(Index("by_at", visits.id, ("at",), 0))
    catalog.create_database("Shop")
    catalog.create_schema("Shop", "EU")
    for name in ("Orders", "orders", "ORDERS", "Items"):
        catalog.create_relation(replace(CLICKS, database="Shop", schema="EU", name=name))
    return catalog


RELATIONS = [
    ("clicks", CONTEXT, "clicks"),
    ("CLICKS", CONTEXT, "clicks"),
    ('"clicks"', CONTEXT, "clicks"),
    ('"CLICKS"', CONTEXT, "clicks"),
    ("clicks", KSQL, "clicks"),
    ("Public.Clicks", CONTEXT, "clicks"),
    ("default.public.url_visits", CONTEXT, "url_visits"),
    ("Shop.EU.Orders", CONTEXT, "orders"),
    ("shop.eu.orders", KSQL, "ORDERS"),
    ('shop.eu."Orders"', KSQL, "Orders"),
    ("shop.eu.items", CONTEXT, "Items"),
    ("items", replace(CONTEXT, database="Shop", schema="EU"), "Items"),
    ("eu.items", replace(CONTEXT, database="Shop"), "Items"),
]


@pytest.mark.parametrize(("text", "context", "expected"), RELATIONS)
def test_a_relation_is_found_exactly_then_without_case(
    furnished: Catalog, text: str, context: SessionContext, expected: str
) -> None:
    assert names.resolve_relation(furnished, parts(text), context).name == expected


Resolver = Callable[[Catalog, names.Parts, SessionContext], object]
MISSING: list[tuple[Resolver, str, str, str]] = [
    (names.resolve_relation, "click", "RELATION_NOT_FOUND", "Did you mean 'clicks'?"),
    (
        names.resolve_relation,
        "public.zzz",
        "RELATION_NOT_FOUND",
        "LIST RELATIONS; shows those that there are.",
    ),
    (names.resolve_relation, 'Shop.EU."oRDERS"', "RELATION_NOT_FOUND", "Did you mean"),
    (names.resolve_relation, "publik.clicks", "SCHEMA_NOT_FOUND", "Did you mean 'public'?"),
    (names.resolve_relation, "shoop.eu.items", "DATABASE_NOT_FOUND", "Did you mean 'Shop'?"),
    (names.resolve_relation, "a.b.c.d", "INVALID_NAME", "Write it as database.schema.relation;"),
    (names.resolve_schema, "publc", "SCHEMA_NOT_FOUND", "Did you mean 'public'?"),
    (names.resolve_database, "a.b", "INVALID_NAME", "Write it as database;"),
    (names.resolve_store, "kafca", "STORE_NOT_FOUND", "Did you mean 'kafka'?"),
    (names.resolve_index, "by_a", "INDEX_NOT_FOUND", "Did you mean 'by_at'?"),
    (names.resolve_query, "count_visit", "QUERY_NOT_FOUND", "Did you mean 'count_visits'?"),
    (names.resolve_query, "count_visits:2", "QUERY_NOT_FOUND", "Did you mean 'count_visits'?"),
    (names.resolve_query, "a.b", "QUERY_NOT_FOUND", "LIST QUERIES; shows"),
    (names.resolve_query, "url_visit", "QUERY_NOT_FOUND", "Did you mean 'url_visits'?"),
    (names.resolve_query, "clicks", "QUERY_NOT_FOUND", ""),
]


@pytest.mark.parametrize(("resolve", "text", "name", "hint"), MISSING)
def test_a_missing_name_is_refused_with_the_nearest_known_one(
    furnished: Catalog, resolve: Resolver, text: str, name: str, hint: str
) -> None:
    with pytest.raises(MillpondError) as refusal:
        resolve(furnished, parts(text), CONTEXT)
    assert refusal.value.name == name
    assert refusal.value.hint.startswith(hint)


def test_databases_schemas_stores_and_indexes_are_found_without_case_too(furnished: Catalog) -> None:
    assert names.resolve_database(furnished, parts("shop"), CONTEXT).name == "Shop"
    assert names.resolve_schema(furnished, parts("shop.eu"), CONTEXT).name == "EU"
    assert names.resolve_schema(furnished, parts("public"), CONTEXT).database == "default"
    assert names.resolve_store(furnished, parts("KAFKA"), KSQL).name == "kafka"
    assert names.resolve_index(furnished, parts("public.BY_AT"), CONTEXT).name == "by_at"


def test_a_query_is_found_by_id_name_and_version(furnished: Catalog) -> None:
    (first,) = furnished.queries()
    second = furnished.create_query(replace(QUERY, version=2))
    odd = furnished.create_query(replace(QUERY, name="Odd:7"))
    for text, expected in (
        (first.id, first),
        (first.id.upper(), first),
        ("COUNT_VISITS", second),
        ("count_visits:1", first),
        ('"count_visits:2"', second),
        ('"Odd:7"', odd),
        ("Odd:7", odd),
    ):
        assert names.resolve_query(furnished, parts(text), CONTEXT) == expected


def test_a_relation_stands_for_the_one_query_that_writes_it(furnished: Catalog) -> None:
    (first,) = furnished.queries()
    for text in ("url_visits", "public.URL_VISITS", "default.public.url_visits"):
        assert names.resolve_query(furnished, parts(text), CONTEXT) == first
    second = furnished.create_query(replace(QUERY, name="again", sink=first.sink))
    with pytest.raises(MillpondError) as refusal:
        names.resolve_query(furnished, parts("url_visits"), CONTEXT)
    assert refusal.value.name == "AMBIGUOUS_QUERY"
    assert first.id in refusal.value.sentence and "(again)" in refusal.value.sentence
    furnished.update_query(first.id, state=QueryState.TERMINATED)
    assert names.resolve_query(furnished, parts("url_visits"), CONTEXT) == second


def test_new_names_take_the_missing_levels_from_the_session() -> None:
    assert names.new_relation_name(parts("Clicks"), CONTEXT) == ("default", "public", "clicks")
    assert names.new_relation_name(parts('S."Clicks"'), CONTEXT) == ("default", "s", "Clicks")
    assert names.new_relation_name(parts("d.s.c"), KSQL) == ("D", "S", "C")
    assert names.new_schema_name(parts("s"), CONTEXT) == ("default", "s")
    assert names.new_schema_name(parts("s"), CONTEXT, parts('"D"')) == ("D", "s")
    assert names.new_name(parts("Shop"), CONTEXT, "database") == "shop"
    assert names.fold_parts(parts('A."B".c.D.e'), CONTEXT) == ("a", "B", "c", "d", "e")
