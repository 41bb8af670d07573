"""DESCRIBE: what is said of each thing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import QueryState
from millpond.errors import MillpondError
from millpond.serve.answers import Answer
from millpond.serve.describe import DESCRIPTIONS, describe
from millpond.serve.facts import NoFacts
from millpond.sql import things
from millpond.sql.statements import Identifier, Name
from tests.catalog.examples import CONTEXT
from tests.serve.known import KnownFacts

EXAMPLES = {
    "relation": "clicks",
    "stream": "clicks",
    "changelog": "clicks",
    "materialized view": "url_visits",
    "table": "clicks",
    "relation columns": "url_visits",
    "database": "shop",
    "schema": "shop.public",
    "store": "kafka",
    "entity": "clicks",
    "schema_registry": "sr",
    "descriptor_source": "shop",
}


def described(catalog: Catalog, kind: str, name: str, facts: NoFacts | None = None) -> Answer:
    parts = Name(tuple(Identifier(part) for part in name.split(".")))
    return describe(kind, parts, catalog, CONTEXT, facts or KnownFacts())


def properties(answer: Answer) -> dict[str, Any]:
    return {row[0]: row[1] for row in answer.rows}


@pytest.mark.parametrize("kind", DESCRIPTIONS)
def test_every_row_has_a_value_for_each_column(furnished: Catalog, kind: str) -> None:
    answer = described(furnished, kind, EXAMPLES.get(kind, "count_visits"))
    assert all(len(row) == len(answer.columns) for row in answer.rows)
    assert answer.rows or kind == "query state"


@pytest.mark.parametrize("kind", DESCRIPTIONS)
def test_what_is_not_there_is_refused_by_name(furnished: Catalog, kind: str) -> None:
    with pytest.raises(MillpondError) as refusal:
        described(furnished, kind, "nowhere")
    assert refusal.value.name.endswith("_NOT_FOUND")


def test_whatever_the_language_describes_has_a_description() -> None:
    kinds = {kind for kind, _ in things._DESCRIBED.values()}
    kinds |= {f"query {view.lower()}" for view in things._QUERY_VIEWS}
    assert kinds | {"query"} == DESCRIPTIONS.keys()


def test_a_kind_that_nobody_knows_is_refused(furnished: Catalog) -> None:
    with pytest.raises(MillpondError, match="Did you mean 'relation'") as refusal:
        described(furnished, "relatoin", "clicks")
    assert refusal.value.name == "UNSUPPORTED"


def test_a_relation_tells_its_topic_and_the_queries_that_use_it(furnished: Catalog) -> None:
    (query,) = furnished.queries()
    clicks = properties(described(furnished, "relation", "clicks"))
    assert clicks["fqn"] == '"default"."public"."clicks"'
    assert (clicks["type"], clicks["topic"], clicks["timestamp"]) == ("stream", "clicks", "event_time")
    assert (clicks["column event_time"], clicks["column url"]) == ("BIGINT", "VARCHAR NOT NULL")
    assert clicks["read_by"] == query.id and "written_by" not in clicks
    visits = properties(described(furnished, "relation", "url_visits"))
    assert (visits["type"], visits["primary_key"], visits["rows"]) == ("materialized_view", "url", "3")
    assert visits["written_by"] == query.id
    furnished.update_query(query.id, state=QueryState.TERMINATED)
    assert "written_by" not in properties(described(furnished, "relation", "url_visits"))


def test_relation_columns_are_name_type_and_nullable(furnished: Catalog) -> None:
    assert described(furnished, "relation columns", "clicks").rows == [
        ("event_time", "BIGINT", True),
        ("url", "VARCHAR", False),
    ]


def test_a_store_has_seven_columns_and_shows_no_secret(furnished: Catalog) -> None:
    answer = described(furnished, "store", "kafka")
    assert len(answer.columns) == 7
    assert answer.rows[0][1] == "localhost:9092"
    assert "hush" not in str(answer.rows)


@pytest.mark.parametrize(
    ("written", "topic"), [("clicks", "clicks"), ("CLICKS", "clicks"), ("Mixed.Case", "Mixed.Case")]
)
def test_an_entity_has_seven_columns(furnished: Catalog, written: str, topic: str) -> None:
    (row,) = described(furnished, "entity", written).rows
    assert row == (topic, "kafka", 3, 1, None, None, json.dumps({"retention.ms": "-1"}))


def test_a_query_tells_its_state_sources_sink_and_progress(furnished: Catalog) -> None:
    (query,) = furnished.queries()
    furnished.update_query(query.id, mode="micro-batch", mode_reason="no slots", error="it broke")
    answer = described(furnished, "query", query.id)
    found = properties(answer)
    assert [c.name for c in answer.columns][:2] == ["Property", "Value"]
    assert (found["id"], found["name"], found["state"]) == (query.id, "count_visits", "starting")
    assert (found["mode"], found["mode_reason"], found["error"]) == ("micro-batch", "no slots", "it broke")
    assert found["lag"] == "12" and found["sql"] == query.sql
    assert ("source", "default.public.clicks", '["default", "public", "clicks"]') in answer.rows
    assert ("sink", "default.public.url_visits", '["default", "public", "url_visits"]') in answer.rows


def test_a_query_shows_a_dropped_relation_by_its_id(furnished: Catalog) -> None:
    (query,) = furnished.queries()
    furnished.update_query(query.id, state=QueryState.TERMINATED)
    furnished.drop_relation(query.sink)
    assert ("sink", query.sink, None) in described(furnished, "query", query.id).rows


def test_metrics_history_and_events_of_a_query_come_from_what_runs(furnished: Catalog) -> None:
    assert described(furnished, "query metrics", "count_visits").rows == [
        ("dead_letters", 0.0),
        ("rows_in", 10.0),
    ]
    history = described(furnished, "query history", "count_visits")
    assert [c.name for c in history.columns] == ["state", "messages"]
    assert history.rows == [("starting", ""), ("errored", "no broker")]
    events = described(furnished, "query events", "count_visits")
    assert [row[1] for row in events.rows] == ["starting", "errored"]


def test_a_query_without_a_history_tells_its_state_of_now(furnished: Catalog) -> None:
    (query,) = furnished.queries()
    furnished.update_query(query.id, state=QueryState.ERRORED, error="it broke")
    assert described(furnished, "query history", query.id, NoFacts()).rows == [("errored", "it broke")]


def test_the_state_of_a_query_is_shown_once_it_is_terminated(furnished: Catalog) -> None:
    (query,) = furnished.queries()

    class Positions(KnownFacts):
        def query_positions(self, query_id: str) -> dict[str, str]:
            return {query.sources[0]: '{"0": 17}', "dropped": "{}"}

    assert described(furnished, "query state", query.id, Positions()).rows == []
    furnished.update_query(query.id, state=QueryState.TERMINATED)
    assert described(furnished, "query state", query.id, Positions()).rows == [
        ('"default"."public"."clicks"', "KAFKA", '{"0": 17}'),
        ("dropped", None, "{}"),
    ]
