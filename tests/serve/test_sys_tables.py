"""The tables of deltastream.sys."""

from __future__ import annotations

import pytest

from millpond.catalog.catalog import Catalog
from millpond.serve.sys_tables import SysTable, sys_tables
from tests.serve.known import KnownFacts

KNOWN_COLUMNS = {
    "databases": "name owner created_at",
    "schemas": "database_name name owner created_at",
    "stores": "name type status status_message owner created_at updated_at",
    "relations": "database_name schema_name name fqn relation_type primary_key state owner created_at",
    "relation_columns": "database_name schema_name relation_name name type",
    "queries": "id name version intended_state current_state owner created_at updated_at sql",
    "schema_registries": "name type status owner created_at updated_at",
    "secrets": "name type description status owner created_at updated_at",
    "query_events": "query_id timestamp type actor messages",
}


def cells(table: SysTable, *names: str) -> list[tuple[object, ...]]:
    at = [[c.name for c in table.columns].index(name) for name in names]
    return [tuple(row[i] for i in at) for row in table.rows]


@pytest.mark.parametrize(("table", "columns"), KNOWN_COLUMNS.items())
def test_clients_find_the_columns_that_they_select(furnished: Catalog, table: str, columns: str) -> None:
    found = [c.name for c in sys_tables(furnished)[table].columns]
    assert found[: len(columns.split())] == columns.split()


def test_every_row_has_a_value_for_each_column(furnished: Catalog) -> None:
    for table in sys_tables(furnished, KnownFacts()).values():
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_the_catalog_shows_in_the_tables(furnished: Catalog) -> None:
    tables = sys_tables(furnished, KnownFacts())
    assert cells(tables["databases"], "name", "owner") == [("default", "sysadmin"), ("shop", "jane")]
    assert cells(tables["schemas"], "database_name", "name") == [("default", "public"), ("shop", "public")]
    assert cells(tables["stores"], "name", "type", "status") == [("kafka", "Kafka", "ready")]
    assert cells(tables["relations"], "fqn", "relation_type", "primary_key", "state") == [
        ('"default"."public"."clicks"', "stream", None, "created"),
        ('"default"."public"."url_visits"', "materialized_view", "url", "created"),
    ]
    assert cells(tables["relation_columns"], "relation_name", "name", "type", "ordinal_position")[:2] == [
        ("clicks", "event_time", "BIGINT", 1),
        ("clicks", "url", "VARCHAR", 2),
    ]
    assert cells(tables["queries"], "name", "current_state") == [("count_visits", "starting")]
    assert cells(tables["query_events"], "type", "messages") == [("starting", ""), ("errored", "no broker")]
    assert not tables["secrets"].rows
