"""Push queries on the memory log: every change once, in order, whatever the subscriber does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millpond.catalog.model import Relation, RelationKind, SessionContext
from millpond.errors import MillpondError
from millpond.plan.expressions import Call, ColumnRef, Expr, Literal
from millpond.serve import push_view, tail
from millpond.serve.answers import Change
from millpond.serve.evaluate import Selection, select
from millpond.serve.push import FollowChangelog, FollowStream, Topic, dropped, follow_topic
from millpond.serve.push_view import follow_view
from millpond.serve.tail import Hub
from millpond.stores.memory import MemoryLog
from millpond.stores.protocol import NewRecord
from millpond.types import BIGINT, BOOLEAN, VARCHAR
from millpond.views.folding import Folder
from millpond.views.followed import StoreAddress
from millpond.views.reader import ViewReader
from tests.views.relations import VISITS, upsert

CONTEXT = SessionContext()
STREAM = replace(VISITS, kind=RelationKind.STREAM, primary_key=(), key_columns=(), key_format=None)
CHANGELOG = replace(VISITS, kind=RelationKind.CHANGELOG)
ALL = tuple(ColumnRef(c.type, c.name) for c in VISITS.columns)
Row = tuple[str, int | None]


def selection(condition: Expr | None = None, *exprs: Expr) -> Selection:
    return select(VISITS.columns, VISITS.columns, exprs or ALL, condition)


def at_least(number: int) -> Expr:
    return Call(BOOLEAN, ">=", (ColumnRef(BIGINT, "visits"), Literal(BIGINT, number)))


def url_is(url: str) -> Expr:
    return Call(BOOLEAN, "=", (ColumnRef(VARCHAR, "url"), Literal(VARCHAR, url)))


class World:
    """A log with the topic of VISITS, its view, and a hub."""

    def __init__(self, path: Path) -> None:
        self.log = MemoryLog()
        self.log.create("visits", 2, config={"cleanup.policy": "compact"})
        self.hub = Hub()
        self.reader = ViewReader(path)
        self.folder = Folder(path, lambda address: self.log)
        self.folder.add(VISITS, StoreAddress("MEMORY", ()))
        self.fold()

    def topic(self, relation: Relation) -> Topic:
        return Topic(self.hub, self.log, relation)

    def write(self, *rows: Row) -> None:
        self.log.produce("visits", [upsert(url, visits) for url, visits in rows])

    def fold(self) -> None:
        self.folder._looked = -1e9
        while self.folder.step(0) or any(p.loading for p in self.folder.progress()):
            pass

    async def close(self) -> None:
        await self.hub.close()
        self.folder.close()
        self.reader.close()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path / "views.db")
    yield made
    await made.close()


async def take(subscription: Any, count: int, seconds: float = 10) -> list[Change]:
    """The next `count` changes, fewer if it ends. The subscription stays open, unless the time runs out."""
    if not hasattr(subscription, "iterator"):
        subscription.iterator = subscription.changes()
    found: list[Change] = []
    async with asyncio.timeout(seconds):
        while len(found) < count:
            change = await anext(subscription.iterator, None)
            if change is None:
                break
            found.append(change)
    return found


async def nothing_more(subscription: Any) -> None:
    with pytest.raises(TimeoutError):
        await take(subscription, 1, seconds=0.3)


def brief(changes: list[Change]) -> list[tuple[Any, ...]]:
    return [(c.op, *(c.row[0::2] if c.row else ())) for c in changes]


async def test_a_stream_begins_at_its_end(world: World) -> None:
    world.write(("before", 0))
    follow = await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT)
    world.write(("a", 1), ("a", 2))
    changes = await take(follow, 2)
    assert brief(changes) == [("insert", "a", 1), ("insert", "a", 2)]
    assert changes[0].ingested is not None
    await follow.aclose()
    assert world.hub.tails == 0


async def test_a_stream_may_begin_at_its_beginning_or_at_a_time(world: World) -> None:
    key = upsert("a", 1)
    world.log.produce("visits", [replace(key, timestamp=t, partition=0) for t in (1_000, 2_000)])
    follow = await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT, start="earliest")
    assert len(await take(follow, 2)) == 2
    await follow.aclose()
    follow = await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT, start="1500")
    assert len(await take(follow, 1)) == 1
    await nothing_more(follow)
    await follow.aclose()


async def test_rows_are_projected_and_filtered(world: World) -> None:
    double = Call(BIGINT, "*", (ALL[2], Literal(BIGINT, 2)))
    chosen = select(VISITS.columns, (VISITS.columns[2],), [double], at_least(10))
    follow = await follow_topic(FollowStream, world.topic(STREAM), chosen, CONTEXT)
    world.write(("a", 1), ("a", 10), ("a", 20))
    assert [c.row for c in await take(follow, 2)] == [(20,), (40,)]
    await follow.aclose()


async def test_a_record_that_does_not_decode_is_passed_over(world: World) -> None:
    follow = await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT)
    world.log.produce("visits", [NewRecord(b"k", b"rubbish", partition=0)])
    world.log.produce("visits", [replace(upsert("a", 1), partition=0)])
    assert brief(await take(follow, 1)) == [("insert", "a", 1)]
    await follow.aclose()


async def test_a_changelog_has_upserts_and_deletes_with_their_keys(world: World) -> None:
    follow = await follow_topic(FollowChangelog, world.topic(CHANGELOG), selection(), CONTEXT)
    world.write(("a", 1), ("a", None))
    first, second = await take(follow, 2)
    assert (first.op, first.row) == ("upsert", ("a", "d", 1))
    assert (second.op, second.row) == ("delete", ("a", "d", None))
    await follow.aclose()


async def test_a_row_that_no_longer_meets_the_condition_is_deleted(world: World) -> None:
    follow = await follow_topic(FollowChangelog, world.topic(CHANGELOG), selection(at_least(10)), CONTEXT)
    world.write(("a", 10), ("a", 9), ("a", 8), ("b", 1), ("b", None), ("a", 11), ("a", None))
    assert brief(await take(follow, 4)) == [
        ("upsert", "a", 10),
        ("delete", "a", None),
        ("upsert", "a", 11),
        ("delete", "a", None),
    ]
    await nothing_more(follow)
    await follow.aclose()


async def test_a_condition_on_the_key_remembers_nothing(world: World) -> None:
    follow = await follow_topic(FollowChangelog, world.topic(CHANGELOG), selection(url_is("a")), CONTEXT)
    world.write(("a", 1), ("b", 1), ("b", None), ("a", None))
    assert brief(await take(follow, 2)) == [("upsert", "a", 1), ("delete", "a", None)]
    await nothing_more(follow)
    assert follow._shown._keys == set()
    await follow.aclose()


async def test_a_view_is_its_rows_then_its_changes(world: World) -> None:
    world.write(("b", 1), ("a", 1), ("a", 2), ("c", 1), ("c", None))
    world.fold()
    follow = await follow_view(world.topic(VISITS), world.reader, selection(), CONTEXT)
    assert brief(await take(follow, 3)) == [("upsert", "a", 2), ("upsert", "b", 1), ("snapshot_end",)]
    world.write(("a", 3), ("b", None))
    assert sorted(brief(await take(follow, 2))) == [("delete", "b", None), ("upsert", "a", 3)]
    await follow.aclose()
    assert world.hub.tails == 0


async def test_a_view_with_a_condition_shows_what_meets_it(world: World) -> None:
    world.write(("a", 1), ("b", 20))
    world.fold()
    follow = await follow_view(world.topic(VISITS), world.reader, selection(at_least(10)), CONTEXT)
    assert brief(await take(follow, 2)) == [("upsert", "b", 20), ("snapshot_end",)]
    world.write(("b", 2), ("a", 2))
    assert brief(await take(follow, 1)) == [("delete", "b", None)]
    await nothing_more(follow)
    await follow.aclose()


async def test_changes_that_the_store_does_not_have_yet_come_after_the_rows(world: World) -> None:
    world.write(("a", 1))
    world.fold()
    world.write(("a", 2))
    follow = await follow_view(world.topic(VISITS), world.reader, selection(), CONTEXT)
    assert brief(await take(follow, 3)) == [("upsert", "a", 1), ("snapshot_end",), ("upsert", "a", 2)]
    await follow.aclose()


async def test_a_view_that_is_being_built_is_waited_for(world: World) -> None:
    world.write(("a", 1))
    world.folder._opened().reset(VISITS.id)
    task = asyncio.create_task(follow_view(world.topic(VISITS), world.reader, selection(), CONTEXT))
    await asyncio.sleep(0)
    store = world.folder._opened()
    store.finish_load(VISITS.id, {0: 0, 1: 0})
    follow = await asyncio.wait_for(task, 10)
    assert brief(await take(follow, 2)) == [("snapshot_end",), ("upsert", "a", 1)]
    await follow.aclose()


async def test_subscribers_of_a_topic_share_one_reader(world: World) -> None:
    follows = [await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT) for _ in range(20)]
    assert world.hub.tails == 1
    world.write(("a", 1))
    for follow in follows:
        assert brief(await take(follow, 1)) == [("insert", "a", 1)]
    for follow in follows:
        await follow.aclose()
    assert world.hub.tails == 0


async def test_closing_ends_the_iteration(world: World) -> None:
    follow = await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT)
    task = asyncio.create_task(take(follow, 1))
    await asyncio.sleep(0)
    await follow.aclose()
    assert await asyncio.wait_for(task, 5) == []
    await follow.aclose()


async def test_cancelling_the_iteration_frees_everything(world: World) -> None:
    follow = await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT)

    heard = asyncio.Event()

    async def listen() -> None:
        async for _ in follow.changes():
            heard.set()

    task = asyncio.create_task(listen())
    world.write(("a", 1))
    await asyncio.wait_for(heard.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.hub.tails == 0


async def test_a_slow_subscriber_reads_the_topic_itself_and_misses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "WAITING_RECORDS", 20)
    monkeypatch.setattr(tail, "KEPT_RECORDS", 20)
    monkeypatch.setattr(tail, "POLL_RECORDS", 7)
    slow = await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT)
    fast = await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT)
    total = 500
    for n in range(total):
        world.write((f"u{n % 5}", n))
        if n % 50 == 0:
            assert brief(await take(fast, 1))
            await take(slow, 1)
    rest = total - 10
    for follow in (slow, fast):
        found = [row[2] for row in brief(await take(follow, rest))]
        assert len(set(found)) == rest
        await nothing_more(follow)
        await follow.aclose()


async def test_a_subscriber_that_lost_records_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "KEPT_RECORDS", 2)
    world.log.create("one")
    one = replace(STREAM, topic="one")
    follow = await follow_topic(FollowStream, world.topic(one), selection(), CONTEXT, start="earliest")
    for n in range(10):
        world.log.produce("one", [upsert("a", n)])
        await asyncio.sleep(0.01)
    world.log.truncate("one", 0, 8)
    follow._follower.next = {0: 0}
    with pytest.raises(MillpondError) as caught:
        await take(follow, 20)
    assert caught.value.name == "SUBSCRIBER_TOO_SLOW"


async def test_a_token_of_another_query_is_refused(world: World) -> None:
    follow = await follow_topic(FollowChangelog, world.topic(CHANGELOG), selection(), CONTEXT)
    world.write(("a", 1))
    (change,) = await take(follow, 1)
    await follow.aclose()
    with pytest.raises(MillpondError) as caught:
        await follow_topic(
            FollowChangelog, world.topic(CHANGELOG), selection(at_least(1)), CONTEXT, resume=change.token
        )
    assert caught.value.name == "INVALID_TOKEN"
    assert world.hub.tails == 0


async def test_a_token_from_before_a_truncation_has_expired(world: World) -> None:
    follow = await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT)
    world.log.produce("visits", [replace(upsert("a", n), partition=0) for n in range(5)])
    first, *_ = await take(follow, 5)
    await follow.aclose()
    world.log.truncate("visits", 0, 3)
    with pytest.raises(MillpondError) as caught:
        await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT, resume=first.token)
    assert caught.value.name == "TOKEN_EXPIRED"


async def test_a_missing_topic_is_named(world: World) -> None:
    with pytest.raises(MillpondError) as caught:
        await follow_topic(FollowStream, world.topic(replace(STREAM, topic="none")), selection(), CONTEXT)
    assert caught.value.name == "TOPIC_NOT_FOUND"
    assert world.hub.tails == 0


@pytest.mark.parametrize("seed", range(4))
async def test_disconnects_lose_and_repeat_nothing(world: World, seed: int) -> None:
    """One subscriber listens throughout, another goes and comes back with its last token, at random."""
    dice = random.Random(seed)
    whole = await follow_topic(FollowChangelog, world.topic(CHANGELOG), selection(), CONTEXT)
    broken = await follow_topic(FollowChangelog, world.topic(CHANGELOG), selection(), CONTEXT)
    found: list[Change] = []
    written = 0
    for _ in range(40):
        rows = [(dice.choice("abcdef"), dice.choice([None, dice.randrange(100)])) for _ in range(dice.randrange(8))]
        world.write(*rows)
        written += len(rows)
        found += await take(broken, dice.randrange(written - len(found) + 1)) if written > len(found) else []
        if found and dice.random() < 0.4:
            await broken.aclose()
            broken = await follow_topic(
                FollowChangelog, world.topic(CHANGELOG), selection(), CONTEXT, resume=found[-1].token
            )
    found += await take(broken, written - len(found)) if written > len(found) else []
    expected = await take(whole, written)
    assert per_key(found) == per_key(expected)
    await nothing_more(broken)
    for follow in (whole, broken):
        await follow.aclose()


def per_key(changes: list[Change]) -> dict[Any, list[Any]]:
    """Changes are in order within a key only: partitions race each other."""
    found: dict[Any, list[Any]] = {}
    for change in changes:
        found.setdefault(change.row[0], []).append((change.op, change.row[2]))
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("condition", [None, at_least(50)], ids=["all", "filtered"])
async def test_a_view_followed_through_disconnects_is_the_view(
    world: World, monkeypatch: pytest.MonkeyPatch, seed: int, condition: Expr | None
) -> None:
    """Rows kept by key from what arrives equal the view, although pieces are tiny and the connection breaks."""
    monkeypatch.setattr(push_view, "PIECE_ROWS", 3)
    monkeypatch.setattr(push_view, "FILTERED_PIECE_ROWS", 3)
    dice = random.Random(seed)
    chosen = selection(condition)
    expected: dict[str, int] = {}

    def change_some() -> None:
        for _ in range(dice.randrange(6)):
            url, visits = f"u{dice.randrange(20):02}", dice.choice([None, dice.randrange(100)])
            world.write((url, visits))
            expected.pop(url, None)
            if visits is not None:
                expected[url] = visits
        if dice.random() < 0.7:
            world.fold()

    for _ in range(8):
        change_some()
    world.fold()
    kept: dict[str, int] = {}
    token: str | None = None
    ends = 0
    for _ in range(12):
        follow = await follow_view(world.topic(VISITS), world.reader, chosen, CONTEXT, resume=token)
        for _ in range(dice.randrange(1, 8)):
            change_some()
            world.fold()
            try:
                (change,) = await take(follow, 1, seconds=0.3)
            except TimeoutError:
                break
            ends += apply(kept, change, strictly=condition is None)
            token = change.token
        await follow.aclose()
    follow = await follow_view(world.topic(VISITS), world.reader, chosen, CONTEXT, resume=token)
    wanted = {u: n for u, n in expected.items() if condition is None or n >= 50}
    try:
        while True:
            there = kept == wanted and ends == 1
            (change,) = await take(follow, 1, seconds=0.4 if there else 10)
            ends += apply(kept, change, strictly=condition is None)
    except TimeoutError:
        pass
    assert kept == wanted
    assert ends == 1
    await follow.aclose()


def apply(kept: dict[str, int], change: Change, *, strictly: bool) -> int:
    """Keep rows by key; 1 for the end of the snapshot."""
    if change.op == "upsert":
        kept[change.row[0]] = change.row[2]
    elif change.op == "delete":
        kept.pop(change.row[0], None)
    return int(change.op == "snapshot_end")


async def test_a_client_that_stops_in_the_rows_goes_on_where_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_view, "PIECE_ROWS", 2)
    world.write(*((f"u{n}", n) for n in range(6)))
    world.fold()
    follow = await follow_view(world.topic(VISITS), world.reader, selection(), CONTEXT)
    changes = await take(follow, 3)
    await follow.aclose()
    world.write(("u1", 100), ("u5", 100), ("u0", None))
    world.fold()
    follow = await follow_view(world.topic(VISITS), world.reader, selection(), CONTEXT, resume=changes[-1].token)
    rest = brief(await take(follow, 6))
    assert sorted(rest[:2]) == [("delete", "u0", None), ("upsert", "u1", 100)]
    assert rest[2:] == [
        ("upsert", "u3", 3),
        ("upsert", "u4", 4),
        ("upsert", "u5", 100),
        ("snapshot_end",),
    ]
    await nothing_more(follow)
    await follow.aclose()


class BrokenLog(MemoryLog):
    """Its readers fail while `fault` is there."""

    fault: Exception | None = None

    def read(self, topic: str, offsets: Any) -> Any:
        reader = super().read(topic, offsets)
        poll = reader.poll

        def failing(max_records: int, timeout: float) -> list[Any]:
            if self.fault is not None:
                raise self.fault
            return poll(max_records, min(timeout, 0.01))

        reader.poll = failing  # type: ignore[method-assign]
        return reader


async def fails(subscription: Any, name: str) -> None:
    with pytest.raises(MillpondError) as caught:
        await take(subscription, 1)
    assert caught.value.name == name


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (MillpondError("STORE_LOGIN_FAILED", store="s", reason="no"), "STORE_LOGIN_FAILED"),
        (RuntimeError("what the client threw"), "INTERNAL"),
        (KeyError(3), "INTERNAL"),
    ],
)
async def test_a_reader_that_fails_ends_its_subscribers_and_the_next_begins_anew(fault: Exception, name: str) -> None:
    log, hub = BrokenLog(), Hub()
    log.create("visits")
    topic = Topic(hub, log, STREAM)
    first, second = [await follow_topic(FollowStream, topic, selection(), CONTEXT) for _ in range(2)]
    log.fault = fault
    await fails(first, name)
    log.fault = None
    late = await follow_topic(FollowStream, topic, selection(), CONTEXT)
    await fails(second, name)
    log.produce("visits", [upsert("a", 1)])
    assert brief(await take(late, 1)) == [("insert", "a", 1)]
    await late.aclose()
    assert hub.tails == 0
    await hub.close()


async def test_who_joins_a_reader_that_has_failed_is_told(world: World) -> None:
    follow = await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT)
    follow._follower._tail._fail(MillpondError("STORE_LOGIN_FAILED", store="s", reason="no"))
    with pytest.raises(MillpondError) as caught:
        await take(follow, 1)
    assert caught.value.name == "STORE_LOGIN_FAILED"


def subscribe(world: World, kind: str) -> Any:
    match kind:
        case "stream":
            return follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT)
        case "changelog":
            return follow_topic(FollowChangelog, world.topic(CHANGELOG), selection(), CONTEXT)
        case _:
            return follow_view(world.topic(VISITS), world.reader, selection(), CONTEXT)


KINDS = pytest.mark.parametrize("kind", ["stream", "changelog", "view"])


@KINDS
async def test_subscribers_of_a_relation_that_is_dropped_are_told(world: World, kind: str) -> None:
    follow = await subscribe(world, kind)
    if kind == "view":
        assert brief(await take(follow, 1)) == [("snapshot_end",)]
    task = asyncio.create_task(take(follow, 1))
    await asyncio.sleep(0)
    world.hub.fail("another", dropped(VISITS))
    world.write(("a", 1))
    assert len(await asyncio.wait_for(task, 10)) == 1
    world.hub.fail(VISITS.id, dropped(VISITS))
    with pytest.raises(MillpondError) as caught:
        await take(follow, 1)
    assert caught.value.name == "RELATION_NOT_FOUND"
    assert world.hub.tails == 0


@pytest.mark.parametrize("end", ["dropped", "closed"])
async def test_a_subscriber_that_waits_for_a_view_s_rows_ends(world: World, end: str) -> None:
    follow = await subscribe(world, "view")
    follow._follower.next = {0: 99, 1: 99}  # the store never comes to that
    task = asyncio.create_task(take(follow, 1))
    await asyncio.sleep(0)
    if end == "closed":
        await follow.aclose()
        assert await asyncio.wait_for(task, 10) == []
        return
    world.hub.fail(VISITS.id, dropped(VISITS))
    with pytest.raises(MillpondError) as caught:
        await task
    assert caught.value.name == "RELATION_NOT_FOUND"


async def test_a_view_that_is_dropped_while_it_is_being_built_is_waited_for_no_longer(world: World) -> None:
    world.folder._opened().reset(VISITS.id)
    there = [True]
    topic = Topic(world.hub, world.log, VISITS, lambda: bool(there))
    task = asyncio.create_task(follow_view(topic, world.reader, selection(), CONTEXT))
    await asyncio.sleep(0)
    there.clear()
    with pytest.raises(MillpondError) as caught:
        await asyncio.wait_for(task, 10)
    assert caught.value.name == "RELATION_NOT_FOUND"


async def test_a_relation_that_is_dropped_while_a_subscription_begins_leaves_nothing(world: World) -> None:
    topic = Topic(world.hub, world.log, STREAM, lambda: False)
    with pytest.raises(MillpondError) as caught:
        await follow_topic(FollowStream, topic, selection(), CONTEXT)
    assert caught.value.name == "RELATION_NOT_FOUND"
    assert world.hub.tails == 0


@KINDS
async def test_closing_the_hub_ends_the_subscribers(world: World, kind: str) -> None:
    follow = await subscribe(world, kind)
    rows = 1 if kind == "view" else 0
    task = asyncio.create_task(take(follow, rows + 1))
    await asyncio.sleep(0.05)
    await world.hub.close()
    assert len(await asyncio.wait_for(task, 10)) == rows
    await follow.aclose()


async def test_closing_the_hub_ends_a_subscriber_that_reads_the_topic_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "POLL_RECORDS", 1)
    world.write(*((f"u{n}", n) for n in range(500)))
    follow = await follow_topic(FollowStream, world.topic(STREAM), selection(), CONTEXT, start="earliest")
    assert len(await take(follow, 1)) == 1
    await world.hub.close()
    assert len(await take(follow, 500)) < 499
    await follow.aclose()
