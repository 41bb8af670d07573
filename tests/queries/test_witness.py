"""A query never goes on over topics that lost what it has read but not committed: its state would begin anew."""

from __future__ import annotations

import pytest

from millpond.catalog.model import QueryState
from millpond.queries import life, witness
from tests.queries.conftest import COPY, VIEW, World
from tests.queries.fake_engine import FakeRun
from tests.waiting import eventually


def first_run(world: World, sql: str = VIEW) -> tuple[str, FakeRun]:
    """A query that runs in real time, and has read ten rows."""
    world.produce(10)
    query = world.run(sql)
    eventually(lambda: len(world.engine.runs), 1)
    return query, world.engine.last


def stopped_for(world: World, query: str, error: str) -> None:
    eventually(lambda: world.query(query).state, QueryState.ERRORED)
    assert world.query(query).error.startswith(f"[{error}]")
    assert len(world.engine.runs) == 1


def replace_topic(world: World, topic: str, count: int = 50) -> None:
    world.log.delete(topic)
    world.log.create(topic)
    world.produce(count, topic)


@pytest.mark.parametrize("sql", [VIEW, COPY])
def test_rows_that_are_gone_before_they_were_committed_end_the_query(world: World, sql: str) -> None:
    query, run = first_run(world, sql)
    world.log.truncate("clicks", 0, 5)
    run.fail("gone")
    stopped_for(world, query, "TOPIC_RECORDS_LOST")


def test_rows_that_are_gone_after_they_were_committed_do_no_harm(world: World) -> None:
    query, run = first_run(world)
    run.commit_to({0: 10})
    world.log.truncate("clicks", 0, 10)
    run.fail("gone")
    eventually(lambda: len(world.engine.runs), 2)
    assert world.query(query).state is QueryState.RUNNING


def test_rows_that_came_and_went_while_the_server_was_down_end_the_query(world: World) -> None:
    query, run = first_run(world)
    run.commit_to({0: 10})
    world.queries.stop_all()
    world.produce(20)
    world.log.truncate("clicks", 0, 20)
    world.restart()
    stopped_for(world, query, "TOPIC_RECORDS_LOST")


def test_a_query_that_began_late_does_not_need_what_was_before(world: World) -> None:
    world.produce(20)
    world.log.truncate("clicks", 0, 20)
    _, run = first_run(world)
    run.fail("gone")
    eventually(lambda: len(world.engine.runs), 2)


@pytest.mark.parametrize("topic", ["clicks", "copy"])
def test_a_topic_that_was_made_anew_ends_the_query_when_it_starts_again(world: World, topic: str) -> None:
    query, run = first_run(world, COPY)
    replace_topic(world, topic)
    run.fail("gone")
    stopped_for(world, query, "TOPIC_REPLACED")
    world.restart()
    assert world.query(query).state is QueryState.ERRORED


@pytest.mark.parametrize("topic", ["clicks", "copy"])
def test_a_topic_that_is_made_anew_under_a_running_query_ends_it(
    world: World, monkeypatch: pytest.MonkeyPatch, topic: str
) -> None:
    monkeypatch.setattr(life, "LOOK_SECONDS", 0.0)
    query, run = first_run(world, COPY)
    replace_topic(world, topic)
    stopped_for(world, query, "TOPIC_REPLACED")
    assert run.stopped


def test_a_topic_that_is_gone_under_a_running_query_ends_it_after_a_while(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "LOOK_SECONDS", 0.0)
    query, _ = first_run(world)
    world.log.delete("clicks")
    stopped_for(world, query, "TOPIC_NOT_FOUND")


def test_a_topic_that_is_not_seen_for_a_moment_does_no_harm(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    query, run = first_run(world)
    found = world.life(query).witness
    there = world.log.topics_by_name.pop("clicks")
    for _ in range(witness.MISSING_LOOKS - 1):
        found.look()
    world.log.topics_by_name["clicks"] = there
    found.look()
    assert found.missing == 0 and not run.stopped


def test_a_store_that_is_away_is_no_reason_to_stop(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    query, run = first_run(world)
    world.log.away = True
    for _ in range(3 * witness.MISSING_LOOKS):
        world.life(query).witness.look()
    assert not run.stopped


def test_a_query_of_a_server_that_did_not_note_its_topics_yet_goes_on(world: World) -> None:
    query, run = first_run(world)
    (run.checkpoint / witness.FILE).unlink()
    replace_topic(world, "clicks")
    run.fail("gone")
    eventually(lambda: len(world.engine.runs), 2)
    assert (run.checkpoint / witness.FILE).exists()
    assert world.query(query).state is QueryState.RUNNING


def test_a_broker_that_was_away_has_as_many_looks_to_find_its_topics(world: World) -> None:
    query, _ = first_run(world)
    found = world.life(query).witness
    world.log.away = True
    for _ in range(witness.MISSING_LOOKS):
        found.look()
    world.log.away = False
    there = world.log.topics_by_name.pop("clicks")
    for _ in range(witness.MISSING_LOOKS - 1):
        found.look()
    world.log.topics_by_name["clicks"] = there
    found.look()
    assert found.missing == 0
