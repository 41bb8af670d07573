"""Statements with effects: what they do, and that a failure anywhere leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millpond.catalog.model import QueryState
from millpond.errors import MillpondError
from tests.serve.engine_world import VISITS, EngineWorld
from tests.waiting import eventually

COPY = "CREATE STREAM copy AS SELECT url FROM clicks"
BY_N = "CREATE INDEX by_n ON visits (n)"


async def name_of_error(world: EngineWorld, sql: str) -> str:
    with pytest.raises(MillpondError) as caught:
        await world.ask(sql)
    return caught.value.name


def steady(world: EngineWorld) -> dict[str, Any]:
    """The picture, once the queries have done what they do at their start."""
    eventually(lambda: set(world.picture()["checkpoints"]), set(world.queries.lives))
    return world.picture()


# --- what is done ---


async def test_a_view_is_a_topic_a_relation_a_table_and_a_query(world: EngineWorld) -> None:
    await world.ask(VISITS)
    view = world.relation("visits")
    assert view.topic in world.log.topics()
    assert world.log.describe(view.topic).config["cleanup.policy"] == "compact"
    assert world.picture()["tables"] == ["visits"]
    (query,) = world.catalog.queries_writing(view.id)
    eventually(lambda: len(world.spark.runs), 1)
    assert list(world.queries.lives) == [query.id]


async def test_drop_of_a_view_takes_everything_with_it(world: EngineWorld) -> None:
    before = world.picture()
    await world.ask(f"{VISITS}; {BY_N}")
    steady(world)
    letters = {t for t in world.log.topics() if "dead" in t}
    await world.ask("DROP MATERIALIZED VIEW visits")
    after = world.picture()
    assert set(after.pop("topics")) - letters == set(before.pop("topics"))
    assert after == before
    assert world.spark.forgotten


async def test_a_terminated_query_goes_with_the_stream_that_it_wrote(world: EngineWorld) -> None:
    await world.ask(COPY)
    (query,) = world.catalog.queries()
    assert await name_of_error(world, "DROP STREAM copy") == "DEPENDENTS_EXIST"
    await world.ask(f"TERMINATE QUERY {query.id}; DROP STREAM copy")
    assert world.catalog.queries() == ()
    assert "copy" in world.log.topics()


async def test_drop_of_a_stream_that_a_query_reads_is_refused(world: EngineWorld) -> None:
    await world.ask(VISITS)
    before = steady(world)
    assert await name_of_error(world, "DROP STREAM clicks") == "DEPENDENTS_EXIST"
    assert world.picture() == before


async def test_an_index_comes_and_goes(world: EngineWorld) -> None:
    await world.ask(f"{VISITS}; {BY_N}")
    view = world.relation("visits")
    assert world.views.indexes(view.id) == {"by_n"}
    await world.ask("DROP INDEX by_n")
    assert world.views.indexes(view.id) == set()
    assert world.catalog.indexes() == ()


async def test_databases_schemas_and_descriptions(world: EngineWorld) -> None:
    await world.ask("CREATE DATABASE shop; CREATE SCHEMA s IN DATABASE shop")
    assert ("shop", "s") in world.picture()["schemas"]
    await world.ask("ALTER RELATION clicks SET description = 'what is clicked'")
    assert world.relation("clicks").description == "what is clicked"
    await world.ask("DROP SCHEMA shop.s; DROP DATABASE shop")
    assert "shop" not in world.picture()["databases"]


async def test_rows_are_written(world: EngineWorld) -> None:
    await world.ask("INSERT INTO clicks VALUES ('./home', 'd1'), (upper('x'), NULL)")
    records = world.log.read("clicks", {0: 0}).poll(10, 0)
    assert [r.value for r in records] == [b'{"url":"./home","device":"d1"}', b'{"url":"X","device":null}']
    await world.ask('INSERT INTO ENTITY clicks VALUE(\'{"url": "y"}\')')
    assert world.log.read("clicks", {0: 2}).poll(10, 0)[0].value == b'{"url": "y"}'


async def test_where_a_query_begins_is_fixed_when_it_is_made(world: EngineWorld) -> None:
    await world.ask("INSERT INTO clicks VALUES ('a', 'b'), ('c', 'd')")
    await world.ask(VISITS.replace("FROM clicks", "FROM clicks WITH ('starting.position' = 'latest')"))
    (query,) = world.catalog.queries()
    assert query.properties["starting.offsets"] == '{"0": 2}'


async def test_a_topic_that_is_there_differently_is_refused(world: EngineWorld) -> None:
    world.log.create("other", partitions=3)
    before = world.picture()
    sql = "CREATE STREAM s (a VARCHAR) WITH ('topic' = 'other', 'value.format' = 'json', 'topic.partitions' = 2)"
    assert await name_of_error(world, sql) == "TOPIC_DIFFERS"
    assert world.picture() == before


async def test_terminate_and_restart(world: EngineWorld) -> None:
    await world.ask(VISITS)
    (query,) = world.catalog.queries()
    await world.ask(f"TERMINATE QUERY {query.id}")
    assert world.picture()["running"] == []
    await world.ask(f"RESTART QUERY {query.id}")
    assert world.picture()["running"] == [query.id]


# --- a failure at each position ---


def failing(thing: Any, method: str, at: int = 1) -> Callable[[pytest.MonkeyPatch], None]:
    """Make the `at`-th call of a method raise."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        calls = 0
        original = getattr(thing, method)

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == at:
                raise MillpondError("STORE_UNREACHABLE", store="x", reason="a test")
            return original(*args, **kwargs)

        monkeypatch.setattr(thing, method, wrapped)

    return patch


Breaks = dict[str, Callable[[EngineWorld], tuple[Any, str, int]]]

CREATES: Breaks = {
    "the sink's topic": lambda w: (w.log, "create", 1),
    "the dead letters' topic": lambda w: (w.log, "create", 2),
    "the relation": lambda w: (w.catalog, "create_relation", 1),
    "the view's table": lambda w: (w.views, "add", 1),
    "the query": lambda w: (w.catalog, "create_query", 1),
    "where it begins": lambda w: (w.log, "end_offsets", 1),
    "its start": lambda w: (w.queries, "start", 1),
    "its surroundings": lambda w: (w.queries, "log", 1),
}


@pytest.mark.parametrize("broken", CREATES)
async def test_a_create_that_fails_leaves_nothing(
    broken: str, world: EngineWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = world.picture()
    sql = VISITS.replace("FROM clicks", "FROM clicks WITH ('starting.position' = 'latest')")
    failing(*CREATES[broken](world))(monkeypatch)
    assert await name_of_error(world, sql) == "STORE_UNREACHABLE"
    assert world.picture() == before
    monkeypatch.undo()
    await world.ask(sql)
    assert world.picture()["tables"] == ["visits"]


DROPS: Breaks = {
    "the end of the query": lambda w: (w.queries, "terminate", 1),
    "the rows": lambda w: (w.views, "remove", 1),
    "the query's entry": lambda w: (w.catalog, "drop_query", 1),
    "the relation": lambda w: (w.catalog, "drop_relation", 1),
    "the topic": lambda w: (w.log, "delete", 1),
}


@pytest.mark.parametrize("broken", DROPS)
async def test_a_drop_of_a_view_that_fails_brings_everything_back(
    broken: str, world: EngineWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.ask(f"{VISITS}; {BY_N}")
    before = steady(world)
    failing(*DROPS[broken](world))(monkeypatch)
    assert await name_of_error(world, "DROP MATERIALIZED VIEW visits") == "STORE_UNREACHABLE"
    assert steady(world) == before
    monkeypatch.undo()
    (query,) = world.catalog.queries()
    eventually(lambda: world.catalog.queries()[0].state in (QueryState.STARTING, QueryState.RUNNING), True)
    await world.ask("DROP MATERIALIZED VIEW visits")
    assert world.catalog.relation("default", "public", "visits") is None
    assert query.id not in world.queries.lives


async def test_a_drop_of_a_view_whose_query_was_terminated_does_not_start_it(
    world: EngineWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.ask(VISITS)
    (query,) = world.catalog.queries()
    await world.ask(f"TERMINATE QUERY {query.id}")
    before = world.picture()
    failing(world.log, "delete")(monkeypatch)
    await name_of_error(world, "DROP MATERIALIZED VIEW visits")
    assert world.picture() == before


@pytest.mark.parametrize("sql", [BY_N, "DROP INDEX by_n"])
async def test_an_index_that_fails_leaves_things_as_they_were(sql: str, world: EngineWorld) -> None:
    await world.ask(VISITS)
    if sql.startswith("DROP"):
        await world.ask(BY_N)
    before = steady(world)
    world.views.fail = "remove_index" if sql.startswith("DROP") else "add_index"
    assert await name_of_error(world, sql) == "VIEW_WRITER_STOPPED"
    assert world.picture() == before


async def test_what_is_undone_goes_on_when_a_part_of_it_fails(
    world: EngineWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = set(world.log.topics())
    failing(world.queries, "start")(monkeypatch)
    failing(world.views, "remove")(monkeypatch)
    assert await name_of_error(world, VISITS) == "STORE_UNREACHABLE"
    assert world.catalog.relation("default", "public", "visits") is None
    assert set(world.log.topics()) == before
    assert "at the end of a statement" in caplog.text
