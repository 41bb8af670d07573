"""The engine as `api` sees it: batches, sessions, queries over views that are still filling, figures."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from millpond.catalog.model import QueryState, SessionContext
from millpond.errors import MillpondError
from millpond.plan.stages import Planned
from millpond.queries import life
from millpond.serve import pulling
from millpond.serve.answers import Answer
from millpond.serve.engine import _summary
from millpond.views.progress import ViewProgress
from tests.queries.fake_engine import ends_at_once, rows
from tests.serve.engine_world import VISITS, EngineWorld
from tests.waiting import eventually

CONTEXT = SessionContext()


async def error_of(world: EngineWorld, sql: str) -> MillpondError:
    with pytest.raises(MillpondError) as caught:
        await world.ask(sql)
    return caught.value


# --- batches and sessions ---


async def test_the_context_flows_from_statement_to_statement(world: EngineWorld) -> None:
    await world.ask("CREATE DATABASE shop")
    answer = await world.ask(
        "USE DATABASE shop; CREATE SCHEMA s; USE SCHEMA s; USE STORE kafka; SET 'starting.position' = 'latest'"
    )
    found = answer.context
    assert (found.database, found.schema, found.store) == ("shop", "s", "kafka")
    assert answer.rows == [("starting.position", "latest")]
    assert (await world.ask("UNSET 'starting.position'", found)).rows == []


async def test_the_database_that_is_left_takes_its_schema_along(world: EngineWorld) -> None:
    await world.ask("CREATE DATABASE shop; CREATE SCHEMA shop.s")
    answer = await world.ask("USE DATABASE default", replace(CONTEXT, database="shop", schema="s"))
    assert (answer.context.database, answer.context.schema) == ("default", "public")


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("USE DATABASE nothing", "DATABASE_NOT_FOUND"),
        ("USE SCHEMA nothing", "SCHEMA_NOT_FOUND"),
        ("USE STORE nothing", "STORE_NOT_FOUND"),
        ("USE ORGANIZATION nothing", "ORGANIZATION_NOT_FOUND"),
        ("USE COMPUTE_POOL nothing", "COMPUTE_POOL_NOT_FOUND"),
        ("SET 'nothing' = 1", "UNKNOWN_PROPERTY"),
    ],
)
async def test_what_is_not_there_cannot_be_used(sql: str, name: str, world: EngineWorld) -> None:
    error = await error_of(world, sql)
    assert error.name == name
    assert error.position is not None or sql.startswith("SET")


LOOKED_FOR = [
    "DESCRIBE nothing",
    "DESCRIBE QUERY nothing",
    "DESCRIBE ENTITY nothing",
    "DESCRIBE ENTITY clicks IN STORE nothing",
    "LIST ENTITIES IN STORE nothing",
    "LIST RELATIONS IN SCHEMA nothing",
    "LIST COLUMNS FROM nothing",
    "PRINT ENTITY nothing",
    "PRINT ENTITY clicks IN STORE nothing",
    "INSERT INTO ENTITY clicks IN STORE nothing VALUE('{}')",
    "EXPLAIN DROP STREAM nothing",
    "CREATE SCHEMA s IN DATABASE nothing",
    "CREATE INDEX i ON nothing (n)",
]


@pytest.mark.parametrize("sql", LOOKED_FOR)
async def test_a_name_that_is_not_there_is_underlined(sql: str, world: EngineWorld) -> None:
    error = await error_of(world, sql)
    assert error.name.endswith("_NOT_FOUND")
    assert error.position is not None
    assert sql[error.position.column - 1 :].startswith("nothing")


@pytest.mark.parametrize("name", ["millpond", '"00000000-0000-0000-0000-000000000001"'])
async def test_the_one_organization_can_be_used(name: str, world: EngineWorld) -> None:
    assert (await world.ask(f"USE ORGANIZATION {name}")).context == CONTEXT


async def test_a_statement_that_does_not_parse_keeps_the_whole_batch_from_running(world: EngineWorld) -> None:
    before = world.picture()
    error = await error_of(world, "CREATE DATABASE a;\nSELEC 1")
    assert error.name == "SYNTAX"
    assert error.position is not None and error.position.line == 2
    assert world.picture() == before


async def test_a_statement_that_is_nested_beyond_pythons_stack_is_refused(world: EngineWorld) -> None:
    query = "SELECT 1"
    for _ in range(5):
        query = f"({query} LIMIT 9)" + " UNION ALL SELECT 1" * 190
    error = await error_of(world, query)
    assert (error.name, error.sentence) == ("UNSUPPORTED", "A statement this deeply nested is not supported.")


async def test_an_error_points_into_its_own_statement(world: EngineWorld) -> None:
    error = await error_of(world, "CREATE DATABASE a;\n SELECT nothing\nFROM deltastream.sys.relations")
    assert error.sql == "SELECT nothing\nFROM deltastream.sys.relations"
    assert "  SELECT nothing\n         ^^^^^^^" in str(error)
    assert "a" in world.picture()["databases"]
    error = await error_of(world, "CREATE MATERIALIZED VIEW v AS\nSELECT nothing FROM clicks")
    assert "  SELECT nothing FROM clicks\n         ^^^^^^^" in str(error)


async def test_a_batch_that_fails_closes_its_subscriptions(world: EngineWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    original = world.engine.following.query

    async def noted(*args: Any) -> Any:
        opened.append(await original(*args))
        return opened[-1]

    monkeypatch.setattr(world.engine.following, "query", noted)
    with pytest.raises(MillpondError):
        await world.engine.execute("SELECT * FROM clicks; USE DATABASE nothing", CONTEXT)
    (subscription,) = opened
    assert [change async for change in subscription.changes()] == []


async def test_a_select_on_a_stream_is_followed(world: EngineWorld) -> None:
    (found,) = await world.engine.execute("SELECT url FROM clicks", CONTEXT)
    assert not isinstance(found, Answer)
    await found.aclose()


# --- looking at things ---


async def followed(world: EngineWorld, sql: str) -> list[Any]:
    """All changes of a subscription, until it ends."""
    subscription: Any = (await world.engine.execute(sql, CONTEXT))[-1]
    async with asyncio.timeout(10):
        return [change async for change in subscription.changes()]


async def test_a_followed_select_of_no_rows_ends_at_once(world: EngineWorld) -> None:
    assert await followed(world, "SELECT * FROM clicks LIMIT 0") == []
    assert world.engine.following.hub.tails == 0


@pytest.mark.parametrize(
    ("sql", "drop"),
    [
        ("SELECT * FROM clicks", "DROP STREAM clicks"),
        ("SELECT * FROM visits EMIT CHANGES", "DROP MATERIALIZED VIEW visits"),
    ],
)
async def test_subscribers_of_what_is_dropped_are_told(world: EngineWorld, sql: str, drop: str) -> None:
    if "visits" in sql:
        await world.ask(VISITS)
        world.fill("visits", [])
    following = asyncio.create_task(followed(world, sql))
    while not world.engine.following.hub.tails:
        await asyncio.sleep(0.01)
    await world.ask(drop)
    with pytest.raises(MillpondError) as caught:
        await following
    assert caught.value.name == "RELATION_NOT_FOUND"
    assert world.engine.following.hub.tails == 0


@pytest.mark.parametrize(
    "sql", ["LIST STORES", "DESCRIBE RELATION clicks", "EXPLAIN DROP STREAM clicks", "USE SCHEMA public", "SET"]
)
async def test_what_changes_nothing_waits_for_no_other_statement(world: EngineWorld, sql: str) -> None:
    slow = threading.Event()
    world.engine.effects.submit(slow.wait, 30)
    try:
        await asyncio.wait_for(world.ask(sql), 10)
    finally:
        slow.set()


async def test_a_server_that_stops_lets_a_statement_end_and_takes_no_other(world: EngineWorld) -> None:
    started, slow = threading.Event(), threading.Event()
    run = world.engine.runner.run

    def slowly(stages: Any) -> None:
        started.set()
        slow.wait(10)
        run(stages)

    world.engine.runner.run = slowly  # type: ignore[method-assign]
    creating = asyncio.ensure_future(world.ask("CREATE SCHEMA first"))
    waiting = asyncio.ensure_future(world.ask("CREATE SCHEMA second"))
    await asyncio.to_thread(started.wait, 10)
    world.engine.refuse()
    draining = asyncio.ensure_future(asyncio.to_thread(world.engine.drain))
    assert (await error_of(world, "CREATE SCHEMA third")).name == "SERVER_STOPPING"
    assert not draining.done()
    slow.set()
    await draining
    await creating
    with pytest.raises(MillpondError) as caught:
        await waiting
    assert caught.value.name == "SERVER_STOPPING"
    assert [s.name for s in world.catalog.schemas("default")] == ["first", "public"]


def test_the_path_of_a_summary_is_json() -> None:
    path = ("db", 'back\\slash "quoted" ü')
    assert json.loads(_summary(Planned((), "stream", path[-1], "CREATE", "", path))[-1]) == list(path)


async def test_list_and_describe(world: EngineWorld) -> None:
    assert [row[0] for row in await world.rows("LIST DATABASES")] == ["default"]
    described = {row[0]: row[1] for row in await world.rows("DESCRIBE RELATION clicks")}
    assert described
    assert (await world.ask("CAN I CREATE_STORE")).rows[0][3] == "yes"


async def test_explain_says_what_would_be_done_and_does_nothing(world: EngineWorld) -> None:
    before = world.picture()
    lines = [line for (line,) in await world.rows(f"EXPLAIN {VISITS}")]
    assert any("StartQuery" in line for line in lines)
    assert any("mode: real-time" in line for line in lines)
    assert world.picture() == before


async def test_explain_of_a_query_over_views_shows_how_it_is_looked_up(world: EngineWorld) -> None:
    await world.ask(VISITS)
    lines = [line for (line,) in await world.rows("EXPLAIN SELECT n FROM visits WHERE url = 'a' LIMIT 3")]
    assert lines[0] == "pull query over the view store"
    assert "SEARCH" in lines[1] and "_primary_key" in lines[1]
    lines = [line for (line,) in await world.rows("EXPLAIN SELECT name FROM deltastream.sys.relations")]
    assert lines == ["pull query over the view store"]
    assert (await world.rows("EXPLAIN SELECT url FROM clicks"))[0][0].startswith("push query")


async def test_describe_of_a_statement_is_one_row_of_json(world: EngineWorld) -> None:
    ((kind, text),) = await world.rows(f"DESCRIBE {VISITS}")
    assert kind == "CREATE_MATERIALIZED_VIEW"
    assert '"name": "visits"' in text and '"name": "clicks"' in text


# --- views that are not ready, are filling, or are empty ---


async def filling(world: EngineWorld, backlog: int) -> None:
    """A view whose query has a backlog and is catching up."""
    world.log.produce("clicks", rows(backlog))
    world.engine.settings.realtime_backlog_rows = 0
    await world.ask(VISITS)
    eventually(lambda: len(world.spark.runs) > 0, True)


async def filled(world: EngineWorld, *rows: tuple[Any, ...]) -> None:
    """A view with rows, whose query has caught up and runs in real time."""
    world.spark.on_start = ends_at_once(world.log)
    await filling(world, 1)
    world.fill("visits", rows)
    eventually(lambda: world.catalog.queries()[0].mode, "real-time")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions to a new view do not wait for its first row."""
    monkeypatch.setattr(pulling, "FIRST_ROW_SECONDS", 0.0)


async def test_the_first_question_waits_for_the_rows_that_are_there_already(world: EngineWorld) -> None:
    await filling(world, 1)
    asked = asyncio.create_task(world.ask("SELECT * FROM visits"))
    await asyncio.sleep(0)
    world.fill("visits", [("a", 1)])
    assert (await asyncio.wait_for(asked, 10)).rows == [("a", 1)]


async def test_a_large_backlog_is_not_waited_for(world: EngineWorld) -> None:
    await filling(world, pulling.AWAITED_ROWS + 1)
    began = time.monotonic()
    assert (await error_of(world, "SELECT * FROM visits")).name == "VIEW_NOT_READY"
    assert time.monotonic() - began < pulling.FIRST_ROW_SECONDS / 2


@pytest.mark.usefixtures("impatient")
async def test_a_view_without_rows_that_is_filled_is_not_ready(world: EngineWorld) -> None:
    await filling(world, 200)
    world.spark.last.commit_to({0: 50})
    eventually(lambda: world.queries.lives and next(iter(world.queries.lives.values())).status.backfill_done, 50)
    error = await error_of(world, "SELECT * FROM visits")
    assert error.name == "VIEW_NOT_READY"
    assert "25 % (50 of 200 rows)" in str(error)
    assert world.engine.pull("SELECT * FROM visits WHERE url = 'a'", CONTEXT) is None


async def test_a_view_with_rows_that_is_filled_says_so_beside_them(world: EngineWorld) -> None:
    await filling(world, 200)
    world.fill("visits", [("a", 1)])
    answer = await world.ask("SELECT * FROM visits")
    assert answer.rows == [("a", 1)]
    assert answer.message == "View 'visits' is still filling: 0 % (0 of 200 rows)."
    assert (await world.ask("SELECT * FROM visits WHERE url = 'b'")).message == answer.message


async def test_a_view_that_has_seen_everything_and_kept_nothing_says_so(world: EngineWorld) -> None:
    await world.ask(VISITS)
    eventually(lambda: next(iter(world.queries.lives.values())).status.caught_up, True)
    eventually(lambda: world.catalog.queries()[0].mode, "real-time")
    answer = await world.ask("SELECT * FROM visits")
    assert (answer.rows, answer.message) == (
        [],
        "View 'visits' has seen nothing yet: no rows were waiting.",
    )


async def test_a_view_that_has_had_rows_needs_no_message(world: EngineWorld) -> None:
    await filled(world, ("a", 1))
    sql = "SELECT n FROM visits WHERE url = 'a'"
    assert (await world.ask(sql)).message == ""
    fast = world.engine.pull(f"{sql};", CONTEXT)
    assert fast is not None and fast.rows == [(1,)]
    world.fill("visits", [])
    assert (await world.ask("SELECT * FROM visits")).message == ""


async def test_a_view_that_is_rebuilt_is_not_ready(world: EngineWorld) -> None:
    await filled(world, ("a", 1))
    sql = "SELECT n FROM visits WHERE url = 'a'"
    await world.ask(sql)
    view = world.relation("visits").id
    world.views.reports[view] = ViewProgress(view, loading=True, offsets={0: 3}, ends={0: 10})
    assert world.engine.pull(sql, CONTEXT) is None
    error = await error_of(world, sql)
    assert error.name == "VIEW_NOT_READY"
    assert "3 of 10 changelog records read" in str(error)
    world.views.reports[view] = ViewProgress(view, loading=False)
    assert world.engine.pull(sql, CONTEXT) is not None


async def test_a_view_whose_table_is_not_there_yet_is_not_ready(world: EngineWorld) -> None:
    await world.ask(VISITS)
    world.views.store.drop_view(world.relation("visits").id)
    assert (await error_of(world, "SELECT * FROM visits")).name == "VIEW_NOT_READY"


async def test_dbt_tests_a_view_with_a_sub_query(world: EngineWorld) -> None:
    await filled(world, ("a", 1), ("b", 2))
    answer = await world.ask(
        "select\n      count(*) as failures,\n      count(*) != 0 as should_warn,\n"
        "      count(*) != 0 as should_error\n"
        "    from (\n      \n    \n  \n    \n    \n\nselect n\nfrom default.public.visits\nwhere n is null\n\n\n\n"
        "      \n    ) dbt_internal_test"
    )
    assert [c.name for c in answer.columns] == ["failures", "should_warn", "should_error"]
    assert answer.rows == [(0, False, False)]


async def test_a_cached_query_of_a_view_that_was_dropped_is_gone(world: EngineWorld) -> None:
    await filled(world, ("a", 1))
    sql = "SELECT n FROM visits WHERE url = 'a'"
    await world.ask(sql)
    await world.ask("DROP MATERIALIZED VIEW visits")
    assert world.engine.pull(sql, CONTEXT) is None
    assert (await error_of(world, sql)).name == "RELATION_NOT_FOUND"
    await world.ask(VISITS)
    world.fill("visits", [("a", 7)])
    assert (await world.ask(sql)).rows == [(7,)]


# --- health and figures ---


async def test_health(world: EngineWorld) -> None:
    assert set(world.engine.healthy().values()) == {"ok"}
    world.engine.broker_alive = lambda: False
    assert world.engine.healthy()["broker"] == "the embedded broker is down"


async def test_the_samples_of_queries_and_views(world: EngineWorld) -> None:
    await filling(world, 200)
    (query,) = world.catalog.queries()
    view = world.relation("visits")
    world.spark.counts[query.id] = {"rows_in": 40, "late_rows": 2, "dead_letters": 1, "dead_letters_lost": 0}
    world.spark.counts[query.id] |= {"state_rows": 7, "state_bytes": 700}
    world.spark.read[query.id] = {0: {0: 40}}
    world.log.produce(view.topic, rows(3))
    world.views.reports[view.id] = ViewProgress(view.id, False, {0: 1}, {0: 3}, rows=2, bytes=99, freshness_ms=7)
    found = {m.name: m.value for m in world.engine.metrics()}
    assert found == {
        "millpond_query_running": 1,
        "millpond_query_rows_in_total": 40,
        "millpond_query_rows_out_total": 3,
        "millpond_query_dead_letters_total": 1,
        "millpond_query_dead_letters_lost_total": 0,
        "millpond_query_lag_rows": 160,
        "millpond_query_late_rows_total": 2,
        "millpond_query_state_rows": 7,
        "millpond_query_state_bytes": 700,
        "millpond_view_rows": 2,
        "millpond_view_bytes": 99,
        "millpond_view_lag_records": 2,
        "millpond_view_freshness_milliseconds": 7,
        "millpond_view_offsets_read_total": 0,
    }
    labels = next(m.labels for m in world.engine.metrics() if m.name == "millpond_query_running")
    assert labels == {"query": query.id, "sink": "visits", "state": "running", "mode": "micro-batch"}
    assert ["lag", "160"] in [list(row[:2]) for row in await world.rows(f"DESCRIBE QUERY {query.id}")]
    world.log.away = True
    with contextlib.suppress(MillpondError):
        found = {m.name: m.value for m in world.engine.metrics()}
    assert "millpond_query_lag_rows" not in found


async def test_a_query_that_was_given_up_shows_its_lag_and_is_not_caught_up(
    world: EngineWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "FIRST_PAUSE", 0.001)
    world.spark.on_start = lambda run: run.fail("bad")
    world.log.produce("clicks", rows(3))
    await world.ask(VISITS)
    (query,) = world.catalog.queries()
    eventually(lambda: [q.state for q in world.catalog.queries()], [QueryState.ERRORED])
    world.spark.read[query.id] = {0: {0: 3}}
    eventually(lambda: world.queries.lives[query.id].handle, None)
    shown = dict([tuple(row[:2]) for row in await world.rows(f"DESCRIBE QUERY {query.id}")])
    assert (shown["state"], shown["lag"], shown["caught_up"]) == ("errored", "3", "false")
    world.queries.lives.clear()
    shown = dict([tuple(row[:2]) for row in await world.rows(f"DESCRIBE QUERY {query.id}")])
    assert (shown["lag"], shown["caught_up"]) == ("unknown (it was not started)", "false")


async def test_where_a_terminated_query_would_go_on(world: EngineWorld) -> None:
    await filling(world, 200)
    (query,) = world.catalog.queries()
    world.spark.last.commit_to({0: 50})
    assert world.engine.facts.query_positions(query.id) == {}
    await world.ask(f"TERMINATE QUERY {query.id}")
    assert world.engine.facts.query_positions(query.id) == {world.relation("clicks").id: '{"0": 50}'}


async def test_what_happened_to_a_query_is_told_whether_or_not_somebody_looked(world: EngineWorld) -> None:
    await filling(world, 200)
    (query,) = world.catalog.queries()
    world.spark.last.fail("hiccup")
    eventually(lambda: len(world.spark.runs), 2)
    await world.ask(f"TERMINATE QUERY {query.id}")
    told = [(e.state, e.messages) for e in world.engine.facts.query_history(query.id)]
    assert told[0] == ("starting", "") and told[-1] == ("terminated", "")
    assert ("running", "hiccup") in told
