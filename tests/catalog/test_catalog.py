"""Writing the catalog, and reading back what was written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from millpond.catalog.catalog import Catalog
from millpond.catalog.dependents import drop_order
from millpond.catalog.model import Index, QueryState
from millpond.errors import MillpondError
from tests.catalog.examples import CLICKS, KAFKA, QUERY, VISITS, furnish


def test_a_new_catalog_has_the_database_default_with_the_schema_public(catalog: Catalog) -> None:
    assert [d.name for d in catalog.databases()] == ["default"]
    assert [(s.database, s.name) for s in catalog.schemas()] == [("default", "public")]
    assert not catalog.stores() and not catalog.relations() and not catalog.queries()


def test_a_new_database_has_a_schema_public(catalog: Catalog) -> None:
    made = catalog.create_database("shop", "jane")
    assert catalog.database("shop") == made
    assert (made.owner, made.created_at) == ("jane", catalog.schemas("shop")[0].created_at)
    assert [s.name for s in catalog.schemas("shop")] == ["public"]


def test_relations_come_back_as_they_were_created(catalog: Catalog) -> None:
    clicks, visits, _ = furnish(catalog)
    assert replace(clicks, id="", created_at=0, updated_at=0) == CLICKS
    assert replace(visits, id="", created_at=0, updated_at=0) == VISITS
    for made in (clicks, visits):
        assert catalog.relation_by_id(made.id) == made
        assert catalog.relation("default", "public", made.name) == made
        assert list(catalog.relations_on_topic("kafka", made.topic)) == [made]
    assert list(catalog.relations()) == [clicks, visits]
    assert list(catalog.relations("default", "public")) == [clicks, visits]
    assert not catalog.relations("other") and not catalog.relations("default", "other")


def test_a_query_is_found_by_id_name_and_the_relations_that_it_uses(catalog: Catalog) -> None:
    clicks, visits, query = furnish(catalog)
    assert catalog.query(query.id) == catalog.query_named("count_visits") == query
    assert catalog.query_named("count_visits", 1) == query
    assert catalog.query_named("count_visits", 2) is None
    assert list(catalog.queries_reading(clicks.id)) == list(catalog.queries_writing(visits.id)) == [query]
    assert not catalog.queries_reading(visits.id) and not catalog.queries_writing(clicks.id)


def test_a_query_that_reads_a_relation_twice_is_listed_once(catalog: Catalog) -> None:
    clicks, visits, _ = furnish(catalog)
    twice = catalog.create_query(replace(QUERY, name=None, sources=(clicks.id, clicks.id), sink=visits.id))
    assert list(catalog.queries_reading(clicks.id)).count(twice) == 1


def test_of_queries_of_one_name_a_live_one_is_meant_then_the_newest_version(catalog: Catalog) -> None:
    _, _, first = furnish(catalog)
    second = catalog.create_query(replace(QUERY, version=2))
    assert catalog.query_named("count_visits") == second
    catalog.update_query(second.id, state=QueryState.TERMINATED)
    assert catalog.query_named("count_visits") == first


def test_an_update_of_a_query_changes_just_what_is_given(catalog: Catalog) -> None:
    _, _, query = furnish(catalog)
    changed = catalog.update_query(query.id, state=QueryState.RUNNING, mode="real-time", mode_reason="")
    assert changed == replace(query, state=QueryState.RUNNING, mode="real-time", updated_at=changed.updated_at)
    assert changed.updated_at > query.updated_at
    assert catalog.query(query.id) == changed


def test_an_update_that_changes_nothing_is_not_written(catalog: Catalog) -> None:
    _, _, query = furnish(catalog)
    before = catalog.version
    assert catalog.update_query(query.id, state=query.state, error="") == query
    assert catalog.version == before


def test_relations_and_stores_are_replaced_by_updates(catalog: Catalog) -> None:
    clicks, _, _ = furnish(catalog)
    changed = catalog.update_relation(replace(clicks, description="Every click"))
    assert catalog.relation_by_id(clicks.id) == changed
    assert changed.description == "Every click" and changed.updated_at > clicks.updated_at
    catalog.update_store(replace(catalog.stores()[0], properties={"uris": "elsewhere:9092"}))
    found = catalog.store("kafka")
    assert found is not None and found.properties == {"uris": "elsewhere:9092"}


def test_secrets_are_read_apart_from_their_store(catalog: Catalog) -> None:
    furnish(catalog)
    assert catalog.store_secrets("kafka") == {"kafka.sasl.password": "hush"}
    store = catalog.stores()[0]
    catalog.update_store(store)
    assert catalog.store_secrets("kafka") == {"kafka.sasl.password": "hush"}
    catalog.update_store(store, {"kafka.sasl.password": "louder"})
    assert catalog.store_secrets("kafka") == {"kafka.sasl.password": "louder"}
    catalog.update_store(store, {})
    assert catalog.store_secrets("kafka") == {}


def test_indexes_go_with_their_relation(catalog: Catalog) -> None:
    _, visits, query = furnish(catalog)
    made = catalog.create_index(Index("by_at", visits.id, ("at", "url"), 0))
    assert list(catalog.indexes()) == list(catalog.indexes(visits.id)) == [made]
    catalog.drop_index(visits.id, "by_at")
    assert not catalog.indexes()
    catalog.create_index(made)
    catalog.drop_query(query.id)
    catalog.drop_relation(visits.id)
    assert not catalog.indexes() and catalog.relation_by_id(visits.id) is None


def test_session_settings_and_defaults_are_kept_until_unset(catalog: Catalog) -> None:
    catalog.set_session_setting("s1", "timezone", "UTC")
    catalog.set_session_setting("s1", "timezone", "Europe/Oslo")
    catalog.set_default("database", "shop")
    assert catalog.session_settings("s1") == {"timezone": "Europe/Oslo"}
    assert catalog.session_settings("s2") == {}
    assert catalog.defaults() == {"database": "shop"}
    catalog.set_session_setting("s1", "timezone", None)
    catalog.set_default("database", None)
    assert catalog.session_settings("s1") == catalog.defaults() == {}


def test_a_terminated_query_keeps_nothing_from_being_dropped(catalog: Catalog) -> None:
    clicks, visits, query = furnish(catalog)
    catalog.update_query(query.id, state=QueryState.TERMINATED)
    for relation in (clicks, visits):
        catalog.drop_relation(relation.id)
    catalog.drop_store("kafka")
    catalog.drop_schema("default", "public")
    catalog.drop_database("default")
    assert not (catalog.databases() or catalog.schemas() or catalog.stores() or catalog.relations())
    assert [q.id for q in catalog.queries()] == [query.id]


Write = Callable[[Catalog], object]
REFUSED: list[tuple[str, Write]] = [
    ("DUPLICATE_DATABASE", lambda c: c.create_database("default")),
    ("DUPLICATE_DATABASE", lambda c: c.create_database("deltastream")),
    ("DUPLICATE_SCHEMA", lambda c: c.create_schema("default", "public")),
    ("DUPLICATE_STORE", lambda c: c.create_store(KAFKA)),
    ("DUPLICATE_RELATION", lambda c: c.create_relation(CLICKS)),
    ("DUPLICATE_QUERY", lambda c: c.create_query(QUERY)),
    ("DUPLICATE_INDEX", lambda c: c.create_index(Index("i", c.relations()[0].id, ("url",), 0))),
    ("DATABASE_NOT_FOUND", lambda c: c.drop_database("defualt")),
    ("DATABASE_NOT_FOUND", lambda c: c.create_schema("shop", "public")),
    ("DATABASE_NOT_FOUND", lambda c: c.create_relation(replace(CLICKS, database="shop"))),
    ("SCHEMA_NOT_FOUND", lambda c: c.drop_schema("default", "publik")),
    ("SCHEMA_NOT_FOUND", lambda c: c.create_relation(replace(CLICKS, schema="other"))),
    ("STORE_NOT_FOUND", lambda c: c.drop_store("kafak")),
    ("STORE_NOT_FOUND", lambda c: c.update_store(replace(KAFKA, name="s"))),
    ("STORE_NOT_FOUND", lambda c: c.store_secrets("s")),
    ("STORE_NOT_FOUND", lambda c: c.create_relation(replace(CLICKS, name="c", store="s"))),
    ("RELATION_NOT_FOUND", lambda c: c.drop_relation("no-such-id")),
    ("RELATION_NOT_FOUND", lambda c: c.update_relation(CLICKS)),
    ("RELATION_NOT_FOUND", lambda c: c.create_index(Index("j", "no-such-id", ("url",), 0))),
    ("QUERY_NOT_FOUND", lambda c: c.update_query("no-such-id", error="x")),
    ("QUERY_NOT_FOUND", lambda c: c.drop_query("no-such-id")),
    ("INDEX_NOT_FOUND", lambda c: c.drop_index(c.relations()[0].id, "i")),
    ("DEPENDENTS_EXIST", lambda c: c.drop_database("default")),
    ("DEPENDENTS_EXIST", lambda c: c.drop_schema("default", "public")),
    ("DEPENDENTS_EXIST", lambda c: c.drop_store("kafka")),
    ("DEPENDENTS_EXIST", lambda c: c.drop_relation(c.relations()[0].id)),
    ("DEPENDENTS_EXIST", lambda c: c.drop_relation(c.relations()[1].id)),
]


@pytest.mark.parametrize(("name", "write"), REFUSED)
def test_a_write_that_makes_no_sense_is_refused_and_changes_nothing(catalog: Catalog, name: str, write: Write) -> None:
    _, visits, _ = furnish(catalog)
    catalog.create_index(Index("i", visits.id, ("url",), 0))
    before = catalog.snapshot.contents
    with pytest.raises(MillpondError) as refusal:
        write(catalog)
    assert refusal.value.name == name
    assert catalog.snapshot.contents == before
    assert str(refusal.value)


def test_the_refusal_of_a_drop_names_the_dependents_and_the_next_step(catalog: Catalog) -> None:
    clicks, visits, query = furnish(catalog)
    with pytest.raises(MillpondError, match=r"query 'count_visits' -> 'url_visits' \(reads it\)") as refusal:
        catalog.drop_relation(clicks.id)
    assert refusal.value.hint == f"In this order: TERMINATE QUERY {query.id}; DROP RELATION {clicks.fqn};"
    with pytest.raises(MillpondError, match=r"query 'count_visits' -> 'url_visits' \(writes it\)"):
        catalog.drop_relation(visits.id)
    with pytest.raises(MillpondError, match="stream 'clicks', view 'url_visits'") as refusal:
        catalog.drop_store("kafka")
    assert 'DROP RELATION "default"."public"."clicks";' in refusal.value.hint


def test_the_refusal_of_a_drop_names_only_the_first_of_many_dependents(catalog: Catalog) -> None:
    catalog.create_store(KAFKA)
    for n in range(9):
        catalog.create_relation(replace(CLICKS, name=f"clicks{n}"))
    with pytest.raises(MillpondError, match="stream 'clicks4', 4 more"):
        catalog.drop_store("kafka")


def test_things_are_dropped_in_an_order_in_which_none_is_refused(catalog: Catalog) -> None:
    clicks, visits, _ = furnish(catalog)
    copy = catalog.create_relation(replace(CLICKS, name="a_copy"))
    copying = catalog.create_query(replace(QUERY, name=None, sink=copy.id, sources=(clicks.id,)))
    assert drop_order(catalog, catalog.relations()) == [
        f"TERMINATE QUERY {copying.id};",
        f"DROP RELATION {copy.fqn};",
        f"DROP RELATION {visits.fqn};",
        f"DROP RELATION {clicks.fqn};",
    ]
