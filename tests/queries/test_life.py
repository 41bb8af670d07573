"""How a persistent query goes from its backlog to real time, through crashes, failures and restarts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from millpond.catalog.model import QueryState
from millpond.errors import MillpondError
from millpond.plan import capabilities
from millpond.plan.capabilities import Capability, Mode
from millpond.plan.nodes import Aggregate, Kind, Node
from millpond.queries import life
from millpond.queries.checkpoint import Marker
from tests.queries.conftest import COPY, VIEW, World
from tests.queries.fake_engine import FakeEngine, FakeRun, ends_at_once, written_by
from tests.waiting import eventually


def runs(world: World) -> list[str]:
    """What was started so far: `catch-up`, `real-time`, `micro-batch`."""
    names = {"availableNow": "catch-up", "realTime": "real-time", "processingTime": "micro-batch"}
    return [names[next(iter(run.trigger))] for run in world.engine.runs]


def started(world: World, *expected: str) -> FakeRun:
    """Wait until these and no more were started; the last of them."""
    eventually(lambda: runs(world), list(expected))
    return world.engine.last


def shown(world: World, query_id: str) -> tuple[str, str, str]:
    query = world.query(query_id)
    return query.state.value, query.mode, query.error


def test_a_new_query_with_a_small_backlog_is_in_real_time_at_once(world: World) -> None:
    world.produce(3)
    query = world.run(VIEW)
    run = started(world, "real-time")
    assert run.run.real_time and run.run.max_rows is None and run.run.starting_offsets == {0: "earliest"}
    eventually(lambda: shown(world, query), ("running", "real-time", ""))


def test_it_has_caught_up_when_the_rows_that_were_there_are_read(world: World) -> None:
    world.produce(3)
    query = world.run(VIEW)
    started(world, "real-time")
    world.produce(5)
    status = world.life(query).status
    assert (status.caught_up, status.backfill_total) == (False, 3)
    world.engine.read[query] = {0: {0: 2}}
    eventually(lambda: world.life(query).status.backfill_done, 2)
    assert world.queries.lag(query) == (6, None)
    world.engine.read[query] = {0: {0: 3}}
    eventually(lambda: world.life(query).status.caught_up, True)
    marker = world.checkpoint(query).marker()
    assert marker is not None and marker.caught_up


def test_a_query_over_an_empty_topic_has_caught_up_at_once(world: World) -> None:
    query = world.run(VIEW)
    started(world, "real-time")
    assert world.life(query).status.caught_up


def test_a_large_backlog_is_caught_up_with_throttled_and_then_followed(world: World) -> None:
    world.produce(250)
    query = world.run(VIEW)
    run = started(world, "catch-up")
    assert run.run.max_rows == 100
    eventually(lambda: shown(world, query), ("running", "micro-batch", ""))
    assert world.query(query).mode_reason == "it is catching up"
    run.commit_to({0: 100})
    eventually(lambda: world.life(query).status.backfill_done, 100)
    assert not world.life(query).status.caught_up
    run.end({0: 250})
    follow = started(world, "catch-up", "real-time")
    assert follow.run.real_time
    eventually(lambda: shown(world, query), ("running", "real-time", ""))
    assert world.life(query).status.caught_up
    assert world.life(query).status.backfill_done == world.life(query).status.backfill_total == 250


def test_a_query_begins_where_it_was_told_to(world: World) -> None:
    world.produce(40)
    query = world.run(VIEW.replace(" AS SELECT", " WITH ('starting.position' = 'earliest') AS SELECT", 1))
    started(world, "catch-up")
    world.queries.stop_all()
    stored = world.query(query)
    given = replace(stored, properties={"starting.offsets": '{"0": 35}'})
    world.catalog.drop_query(query)
    world.catalog.create_query(given)
    world.queries.forget(query)
    world.queries.restart(given)
    run = started(world, "catch-up", "real-time")
    assert run.run.starting_offsets == {0: '{"clicks": {"0": 35}}'}
    assert world.life(query).status.backfill_total == 5


# --- crashes and failures ---


def test_after_a_failure_in_real_time_the_catch_up_is_one_batch(world: World) -> None:
    world.produce(3)
    query = world.run(VIEW)
    run = started(world, "real-time")
    run.commit_to({0: 3})
    world.produce(500)
    run.fail("a worker died")
    catch_up = started(world, "real-time", "catch-up")
    assert catch_up.run.max_rows is None
    assert world.query(query).state is QueryState.RUNNING
    catch_up.end({0: 503})
    started(world, "real-time", "catch-up", "real-time")
    eventually(lambda: shown(world, query), ("running", "real-time", ""))


def test_after_a_failure_in_real_time_a_stream_stays_throttled_and_its_marker_as_it_was(world: World) -> None:
    """A crash in the replay, too, finds all that the run in real time had written."""
    world.produce(3)
    query = world.run(COPY)
    run = started(world, "real-time")

    def last_position() -> Any:
        marker = world.checkpoint(query).marker()
        return marker and marker.positions[-1]

    world.log.produce("copy", written_by(query, list(range(300))))
    run.commit_to({0: 1})
    eventually(last_position, (0, {0: 300}))
    run.fail("gone")
    catch_up = started(world, "real-time", "catch-up")
    assert catch_up.run.max_rows == 100
    for batch in range(1, 4):
        catch_up.commit_to({0: 100 * batch})
    catch_up.fail("gone again")
    started(world, "real-time", "catch-up", "catch-up")
    assert last_position() == (-1, {0: 0})
    assert world.engine.written[query] == {0: list(range(300))}
    world.engine.last.end({0: 303})
    started(world, "real-time", "catch-up", "catch-up", "real-time").commit_to({0: 303})
    eventually(last_position, (5, {0: 300}))


def test_after_a_restart_of_the_server_a_query_catches_up_first(world: World) -> None:
    world.produce(3)
    query = world.run(VIEW)
    started(world, "real-time").commit_to({0: 3})
    world.engine.on_start = ends_at_once(world.log)
    world.restart()
    started(world, "real-time", "catch-up", "real-time")
    assert [run.run.max_rows for run in world.engine.runs] == [None, None, None]
    eventually(lambda: shown(world, query), ("running", "real-time", ""))


def test_a_crash_in_the_first_catch_up_goes_on_throttled(world: World) -> None:
    world.produce(250)
    query = world.run(VIEW)
    started(world, "catch-up").commit_to({0: 100})
    world.restart()
    run = started(world, "catch-up", "catch-up")
    assert run.run.max_rows == 100
    assert not world.life(query).status.caught_up
    assert world.life(query).status.backfill_total == 150


def test_what_was_not_committed_is_discarded_before_a_new_start(world: World) -> None:
    world.produce(1)
    query = world.run(VIEW)
    run = started(world, "real-time")
    for folder in ("offsets", "state/0"):
        (run.checkpoint / folder).mkdir(parents=True)
    (run.checkpoint / "offsets" / "0").write_text("half")
    (run.checkpoint / "metadata").write_text("{}")
    run.fail("gone")
    again = started(world, "real-time", "catch-up")
    assert sorted(p.name for p in again.checkpoint.iterdir()) == ["millpond-topics.json", "millpond.json"]
    assert world.queries.status(query) is not None


def test_a_stream_skips_what_its_sink_holds_already(world: World) -> None:
    world.log.create("copy")
    world.produce(2, "copy")
    world.produce(6)
    query = world.run(COPY)
    run = started(world, "real-time")
    assert not run.run.skip_written
    world.log.produce("copy", written_by(query, [0, 1, 2]))
    world.log.produce("copy", written_by("another-query", [3]))
    run.fail("gone")
    again = started(world, "real-time", "catch-up")
    assert again.run.skip_written
    assert world.engine.written[query] == {0: [0, 1, 2]}


def test_a_changelog_may_be_written_again(world: World) -> None:
    world.produce(1)
    query = world.run(VIEW)
    started(world, "real-time").fail("gone")
    assert not started(world, "real-time", "catch-up").run.skip_written
    assert query not in world.engine.written


def test_a_permanent_failure_ends_in_errored_with_its_reason(world: World) -> None:
    world.produce(1)
    world.engine.on_start = lambda run: run.fail("undecodable record at offset 0")
    query = world.run(VIEW)
    eventually(lambda: shown(world, query), ("errored", "", "undecodable record at offset 0"))
    assert len(world.engine.runs) == life.GIVE_UP_AFTER
    eventually(lambda: world.life(query).thread.is_alive(), False)


def test_what_fails_in_real_time_only_is_given_up_as_well(world: World) -> None:
    world.produce(1)

    def on_start(run: FakeRun) -> None:
        run.end({0: 1}) if run.catches_up else run.fail("not in real time")

    world.engine.on_start = on_start
    query = world.run(VIEW)
    eventually(lambda: shown(world, query), ("errored", "", "not in real time"))


def test_a_failure_after_steady_running_is_counted_anew(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life, "STEADY_SECONDS", -1)
    world.produce(1)
    world.engine.on_start = lambda run: run.fail("now and then")
    query = world.run(VIEW)
    eventually(lambda: len(world.engine.runs), lambda n: n > 2 * life.GIVE_UP_AFTER)
    assert world.query(query).state is not QueryState.ERRORED


def test_restart_goes_on_from_errored(world: World) -> None:
    world.produce(1)
    world.engine.on_start = lambda run: run.fail("bad")
    query = world.run(VIEW)
    eventually(lambda: world.query(query).state, QueryState.ERRORED)
    world.engine.on_start = ends_at_once(world.log)
    world.queries.restart(world.query(query))
    eventually(lambda: shown(world, query), ("running", "real-time", ""))


def test_a_store_that_is_away_is_waited_for(world: World) -> None:
    world.produce(1)
    query = world.run(VIEW)
    run = started(world, "real-time")
    run.commit_to({0: 1})
    eventually(lambda: shown(world, query), ("running", "real-time", ""))
    world.engine.on_start = lambda run: run.fail("no broker")
    world.log.away = True
    run.fail("no broker")
    eventually(lambda: world.query(query).error, lambda e: "STORE_UNREACHABLE" in e or e == "no broker")
    eventually(lambda: world.life(query).attempts, lambda n: n > 2 * life.GIVE_UP_AFTER)
    assert world.query(query).state is QueryState.RUNNING
    world.engine.on_start = ends_at_once(world.log)
    world.log.away = False
    eventually(lambda: shown(world, query), ("running", "real-time", ""))


@pytest.mark.parametrize(
    "reason",
    [
        "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Python worker failed to connect back.",
        "java.net.SocketTimeoutException: Timed out while waiting for the Python worker to connect back after 10 s.",
        "[STORE_UNREACHABLE] The store 'kinesis' cannot be reached: timed out.",
        "io.millpond.SchemaRegistry$Away: The schema registry cannot be asked for schema 7: it answers 503",
    ],
)
def test_a_failure_that_passes_by_itself_is_shown_and_tried_again_for_ever(world: World, reason: str) -> None:
    world.produce(1)
    world.engine.on_start = lambda run: run.fail(reason)
    query = world.run(VIEW)
    eventually(lambda: world.life(query).attempts, lambda n: n > 2 * life.GIVE_UP_AFTER)
    assert (world.query(query).state, world.query(query).error) == (QueryState.RUNNING, reason)
    world.engine.on_start = ends_at_once(world.log)
    eventually(lambda: shown(world, query), ("running", "real-time", ""))


def test_a_store_that_is_away_at_the_start_is_waited_for(world: World) -> None:
    query = world.run(COPY)
    started(world, "real-time")
    world.queries.stop_all()
    world.log.away = True
    world.queries = world.server()
    world.queries.resume_all()
    eventually(lambda: world.query(query).error, lambda e: "STORE_UNREACHABLE" in e)
    world.engine.on_start = ends_at_once(world.log)
    world.log.away = False
    eventually(lambda: shown(world, query), ("running", "real-time", ""))


def test_a_bug_shows_as_the_reason(world: World, caplog: pytest.LogCaptureFixture) -> None:
    def on_start(run: FakeRun) -> None:
        raise KeyError("no such thing")

    world.engine.on_start = on_start
    query = world.run(VIEW)
    eventually(lambda: shown(world, query), ("errored", "", "KeyError: 'no such thing'"))


def test_a_failure_while_watching_stops_the_run_on_spark(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    query = world.run(VIEW)
    run = started(world, "real-time")

    def broken(self: Any, changes: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(life.QueryLife, "_note", broken)
    eventually(lambda: run.stopped, True)
    eventually(lambda: world.query(query).error, "RuntimeError: a bug")


def test_a_run_that_ends_by_itself_is_a_failure(world: World) -> None:
    query = world.run(VIEW)
    world.engine.on_start = ends_at_once(world.log)
    started(world, "real-time").end()
    started(world, "real-time", "catch-up", "real-time")
    events = [e.message for e in world.queries.history.of(query)]
    assert "it ended by itself" in events


# --- modes ---


def test_without_slots_a_query_runs_in_micro_batch_and_says_why(world: World) -> None:
    world.engine = FakeEngine(slots=7)
    world.queries = world.server()
    first = world.run(VIEW)
    started(world, "real-time")
    second = world.run(VIEW.replace("visits", "others"))
    run = started(world, "real-time", "micro-batch")
    assert not run.run.real_time
    eventually(lambda: world.query(second).mode_reason, lambda r: "needs 3 task slots, 2 of 7 are free" in r)
    assert world.life(second).status.caught_up
    world.engine.on_start = ends_at_once(world.log)
    world.queries.terminate(world.query(first))
    eventually(lambda: shown(world, second), ("running", "real-time", ""))
    assert run.stopped


def test_a_plan_that_real_time_does_not_take_runs_in_micro_batch(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Capability("slow", frozenset({Mode.MICRO_BATCH}), "it sorts.", "Do not sort.")
    changed: dict[tuple[type[Node], Kind], Capability] = {**capabilities.CAPABILITIES, (Aggregate, Kind.UPSERT): slow}
    monkeypatch.setattr(capabilities, "CAPABILITIES", changed)
    world.produce(1)
    world.engine.on_start = ends_at_once(world.log)
    query = world.run(VIEW)
    started(world, "catch-up", "micro-batch")
    eventually(lambda: shown(world, query), ("running", "micro-batch", ""))
    assert world.query(query).mode_reason == "it sorts. Do not sort."


# --- stopping ---


def test_terminate_stops_and_restart_goes_on(world: World) -> None:
    world.produce(2)
    query = world.run(VIEW)
    run = started(world, "real-time")
    run.commit_to({0: 2})
    world.queries.terminate(world.query(query))
    assert run.stopped
    assert shown(world, query) == ("terminated", "", "")
    assert world.queries.status(query) is None and world.queries.lag(query) is None
    assert world.queries.metrics(query) == {}
    world.restart()
    assert world.queries.status(query) is None
    world.engine.on_start = ends_at_once(world.log)
    world.queries.restart(world.query(query))
    started(world, "real-time", "catch-up", "real-time")
    assert world.query(query).intended_state is QueryState.RUNNING


def test_a_query_whose_end_was_cut_short_has_ended_after_a_restart_of_the_server(world: World) -> None:
    query = world.run(VIEW)
    started(world, "real-time")
    world.catalog.update_query(query, state=QueryState.TERMINATE_REQUESTED, intended_state=QueryState.TERMINATED)
    world.restart()
    assert world.query(query).state is QueryState.TERMINATED


def test_a_query_whose_store_cannot_be_opened_is_not_restarted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    query = world.run(VIEW)
    run = started(world, "real-time")

    def locked(store: str) -> Any:
        raise MillpondError("SECRETS_UNREADABLE", what="the store", name=store, path="secret.key")

    monkeypatch.setattr(world.queries, "log", locked)
    with pytest.raises(MillpondError) as caught:
        world.queries.restart(world.query(query))
    assert caught.value.name == "SECRETS_UNREADABLE"
    assert not run.stopped
    assert world.query(query).state is not QueryState.STARTING


def test_a_query_that_cannot_be_planned_again_is_not_restarted(world: World) -> None:
    query = world.run(VIEW)
    run = started(world, "real-time")
    clicks = world.catalog.relation("default", "public", "clicks")
    assert clicks is not None
    world.catalog.update_query(query, state=QueryState.TERMINATED)
    world.catalog.drop_relation(clicks.id)
    with pytest.raises(MillpondError) as caught:
        world.queries.restart(world.query(query))
    assert caught.value.name == "RELATION_NOT_FOUND"
    assert not run.stopped


def test_at_the_servers_start_a_query_that_cannot_be_planned_is_errored(world: World) -> None:
    query = world.run(VIEW)
    other = world.run(VIEW.replace("visits", "others"))
    started(world, "real-time", "real-time")
    world.queries.stop_all()
    world.catalog.update_query(query, state=QueryState.TERMINATED, intended_state=QueryState.TERMINATED)
    world.catalog.drop_query(query)
    broken = replace(world.query(other), id="broken", sql="CREATE MATERIALIZED VIEW x AS SELECT nothing FROM clicks")
    world.catalog.create_query(broken)
    nonsense = replace(world.query(other), id="nonsense", sql="SELECT 1; SELECT 2")
    world.catalog.create_query(nonsense)
    world.engine.on_start = ends_at_once(world.log)
    world.restart()
    assert world.query("broken").state is QueryState.ERRORED
    assert "COLUMN_NOT_FOUND" in world.query("broken").error
    assert world.query("nonsense").state is QueryState.ERRORED
    eventually(lambda: shown(world, other), ("running", "real-time", ""))


def test_a_forgotten_query_leaves_nothing(world: World) -> None:
    query = world.run(VIEW)
    run = started(world, "real-time")
    assert world.queries.checkpoint(query).exists()
    world.queries.forget(query)
    assert run.stopped
    assert not world.queries.checkpoint(query).exists()
    assert world.engine.forgotten == [query]
    assert world.queries.history.of(query) == ()


@pytest.fixture
def stuck(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Runs do not stop before the event is set."""
    released = threading.Event()
    monkeypatch.setattr(life, "STOP_SECONDS", 0.05)
    monkeypatch.setattr(FakeRun, "wait", lambda self, seconds: released.wait())
    yield released
    released.set()


def test_a_query_that_does_not_stop_is_not_started_beside_itself(world: World, stuck: threading.Event) -> None:
    query = world.run(VIEW)
    started(world, "real-time")
    with pytest.raises(MillpondError) as caught:
        world.queries.terminate(world.query(query))
    assert caught.value.name == "QUERY_NOT_STOPPED"
    with pytest.raises(MillpondError):
        world.queries.restart(world.query(query))
    assert len(world.engine.runs) == 1
    stuck.set()
    eventually(lambda: world.query(query).state, QueryState.TERMINATED)
    assert query not in world.queries.lives
    assert world.queries.checkpoint(query).exists()


def test_a_query_that_does_not_stop_may_be_dropped_meanwhile(world: World, stuck: threading.Event) -> None:
    query = world.run(VIEW)
    started(world, "real-time")
    with pytest.raises(MillpondError):
        world.queries.terminate(world.query(query))
    world.queries.forget(query)
    stuck.set()
    eventually(lambda: world.queries.checkpoint(query).exists(), False)


def test_the_checkpoint_of_a_query_that_does_not_stop_goes_when_it_has_ended(
    world: World, stuck: threading.Event
) -> None:
    query = world.run(VIEW)
    started(world, "real-time")
    world.queries.forget(query)
    assert world.queries.checkpoint(query).exists() and query in world.queries.lives
    stuck.set()
    eventually(lambda: world.queries.checkpoint(query).exists(), False)
    eventually(lambda: world.engine.forgotten, [query])
    assert query not in world.queries.lives


def test_checkpoints_of_queries_that_are_gone_are_swept_at_the_start(world: World) -> None:
    query = world.run(VIEW)
    started(world, "real-time")
    world.queries.checkpoint("gone").mkdir(parents=True)
    world.engine.on_start = ends_at_once(world.log)
    world.restart()
    assert not world.queries.checkpoint("gone").exists()
    assert world.queries.checkpoint(query).exists()


def test_a_catalog_that_cannot_be_written_does_not_end_a_query(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    query = world.run(VIEW)
    run = started(world, "real-time")
    eventually(lambda: world.query(query).mode, "real-time")

    def full(*args: Any, **changes: Any) -> None:
        raise MillpondError("CATALOG_NOT_WRITTEN", reason="disk full")

    world.engine.on_start = ends_at_once(world.log)
    with monkeypatch.context() as patched:
        patched.setattr(world.catalog, "update_query", full)
        run.fail("something")
        started(world, "real-time", "catch-up", "real-time")
    assert world.life(query).thread.is_alive()


def test_what_happened_is_remembered(world: World) -> None:
    world.produce(30)
    query = world.run(VIEW)
    started(world, "catch-up").fail("hiccup")
    eventually(lambda: runs(world), ["catch-up", "catch-up"])
    world.engine.last.end({0: 30})
    eventually(lambda: world.query(query).mode, "real-time")
    world.queries.terminate(world.query(query))
    events = [(e.state, e.message) for e in world.queries.history.of(query)]
    assert events[0] == ("starting", "")
    assert ("running", "it is catching up") in events
    assert ("running", "hiccup") in events
    assert events[-2:] == [("terminate_requested", ""), ("terminated", "")]


# --- figures ---


def test_figures_of_a_running_query(world: World) -> None:
    world.log.create("copy")
    world.produce(7, "copy")
    world.produce(4)
    query = world.run(COPY)
    started(world, "real-time")
    world.log.produce("copy", written_by(query, [0, 1]))
    world.engine.counts[query] = {"rows_in": 3, "late_rows": 0}
    world.engine.read[query] = {0: {0: 3}}
    assert world.queries.metrics(query) == {"rows_in": 3, "late_rows": 0, "rows_out": 2, "lag": 1}
    world.log.away = True
    assert world.queries.metrics(query) == {"rows_in": 3, "late_rows": 0}


def test_lag_counts_from_the_last_commit_before_anything_is_read(world: World) -> None:
    world.produce(4)
    query = world.run(VIEW)
    run = started(world, "real-time")
    assert world.queries.lag(query) == (4, None)
    run.commit_to({0: 3})
    assert world.queries.lag(query) == (1, None)


def test_a_query_that_was_given_up_has_not_read_what_it_did_not_commit(world: World) -> None:
    world.produce(4)
    world.engine.on_start = lambda run: run.fail("bad")
    query = world.run(VIEW)
    world.engine.read[query] = {0: {0: 4}}
    eventually(lambda: world.query(query).state, QueryState.ERRORED)
    eventually(lambda: world.life(query).handle, None)
    assert world.queries.lag(query) == (4, None)
    assert world.queries.metrics(query)["lag"] == 4
    assert world.queries.unread(world.query(query).sink) == 0


def test_a_marker_notes_where_the_sink_was(world: World) -> None:
    query = world.run(COPY)
    run = started(world, "real-time")
    world.log.produce("copy", written_by(query, [0]))
    run.commit_to({0: 1})
    run.commit_to({0: 2})

    def positions() -> Any:
        marker = world.checkpoint(query).marker()
        return marker and [batch for batch, _ in marker.positions]

    eventually(positions, lambda found: found and found[-1] == 1)
    marker = world.checkpoint(query).marker()
    assert isinstance(marker, Marker) and marker.positions[-1][1] == {0: 1}


# --- several sources ---

USERS = """CREATE CHANGELOG users (url VARCHAR, n BIGINT, PRIMARY KEY (url))
  WITH ('topic' = 'users', 'value.format' = 'json')"""
JOIN = "CREATE STREAM joined AS SELECT clicks.url, n FROM clicks JOIN users ON clicks.url = users.url"


def commit_both(run: FakeRun, clicks: int, users: int) -> None:
    """As Spark notes it: a line for each source, in the order of the scans."""
    number = run.commit_to({0: clicks})
    offsets = run.checkpoint / "offsets" / str(number)
    offsets.write_text(offsets.read_text() + f'\n{{"users": {{"0": {users}}}}}')


def test_a_join_begins_with_a_batch_over_all_its_sources(world: World) -> None:
    world.run(USERS)
    world.produce(3)
    world.produce(4, "users")
    query = world.run(JOIN)
    run = started(world, "catch-up")
    assert run.run.starting_offsets == {0: "earliest", 1: "earliest"}
    assert [letters.topic for letters in run.run.dead_letters.values()] == ["dead-letters.default.public.joined"] * 2
    assert run.run.stores["kafka"].options == {"bootstrap.servers": "b:9092"}
    assert world.life(query).status.backfill_total == 7
    commit_both(run, 3, 2)
    eventually(lambda: world.life(query).status.backfill_done, 5)
    assert world.queries.lag(query) == (2, None)
    assert not world.life(query).status.caught_up
    commit_both(run, 3, 4)
    run.end()
    started(world, "catch-up", "real-time")
    assert world.life(query).status.caught_up
    assert world.life(query).slots.held[query] == 2 + 2


def test_positions_of_two_scans_of_one_topic_are_their_own(world: World) -> None:
    world.produce(10)
    query = world.run("CREATE STREAM p AS SELECT a.url FROM clicks AS a JOIN clicks AS b WITHIN 1 DAY ON a.url = b.url")
    started(world, "catch-up")
    world.engine.read[query] = {0: {0: 4}, 1: {0: 9}}
    assert world.queries.lag(query) == (6 + 1, None)
