"""Following changelogs on the memory log: loading, folding, and what happens to file and topic."""

from __future__ import annotations

import os
import random
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.catalog.model import Relation
from millpond.errors import MillpondError
from millpond.stores.memory import MemoryLog
from millpond.views import folding
from millpond.views.folding import Folder
from millpond.views.followed import StoreAddress
from millpond.views.progress import ViewProgress
from millpond.views.reader import ViewReader
from millpond.views.schema import ViewIndex, table_name
from tests.views.relations import VISITS, another, upsert
from tests.waiting import eventually

ADDRESS = StoreAddress("MEMORY", ())
OTHER = StoreAddress("MEMORY", (("uris", "elsewhere"),))


class World:
    """A log, a folder on it, and a reader of what it makes."""

    def __init__(self, path: Path, partitions: int = 1) -> None:
        self.log = MemoryLog()
        self.log.create("visits", partitions)
        self.path = path
        self.reader = ViewReader(path)
        self.folder = self.open()

    def open(self) -> Folder:
        folder = Folder(self.path, lambda address: self.log)
        folder._looked = -1e9
        return folder

    def restart(self, *, cleanly: bool = True, relation: Relation = VISITS) -> None:
        """Another folder on the same file; not cleanly: what the first had in memory is simply gone."""
        if cleanly:
            self.folder.close()
        elif self.folder._store is not None:
            self.folder._store._connection.close()
        self.folder = self.open()
        self.folder.add(relation, ADDRESS)

    def settle(self) -> None:
        """Step until nothing is left to do."""
        self.folder._looked = -1e9
        while self.folder.step(0) or any(p.loading for p in self.folder.progress()):
            pass

    def rows(self, relation: Relation = VISITS) -> dict[str, int]:
        return dict(self.reader.query(f"SELECT url, visits FROM {table_name(relation.id)}"))

    def progress(self, relation: Relation = VISITS) -> ViewProgress:
        return next(p for p in self.folder.progress() if p.relation == relation.id)

    def close(self) -> None:
        self.folder.close()
        self.reader.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "views.db")
    yield made
    made.close()


def write(world: World, *rows: tuple[str, int | None]) -> None:
    world.log.produce("visits", [upsert(url, visits) for url, visits in rows])


def test_a_view_of_an_empty_topic_is_ready_at_once(world: World) -> None:
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    assert not world.progress().loading
    assert world.rows() == {}


def test_what_is_there_is_loaded_and_what_comes_is_folded(world: World) -> None:
    write(world, ("a", 1), ("b", 1), ("a", 2), ("b", None))
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    assert world.rows() == {"a": 2}
    write(world, ("a", 3), ("c", 1))
    world.settle()
    assert world.rows() == {"a": 3, "c": 1}
    assert world.reader.offsets(VISITS.id) == {0: 6}


def test_progress_says_how_far_a_view_is(world: World) -> None:
    write(world, ("a", 1), ("b", 1))
    world.folder.add(VISITS, ADDRESS)
    before = world.progress()
    assert before.loading
    assert before.lag == 2
    world.settle()
    write(world, ("a", 2))
    world.settle()
    after = world.progress()
    assert (after.loading, after.lag, after.offsets, after.ends) == (False, 0, {0: 3}, {0: 3})
    assert after.offsets_read == 3
    assert after.freshness_ms is not None
    assert 0 <= after.freshness_ms < 5_000
    assert ViewProgress.from_json(after.to_json()) == after
    counted = eventually(lambda: world.progress(), lambda p: p.rows == 2, deadline=10)
    assert counted.bytes >= 4096


@pytest.mark.parametrize("away", [False, True])
def test_after_a_restart_a_view_is_measured_though_nothing_comes(world: World, away: bool) -> None:
    write(world, *((f"u{n}", n) for n in range(100)))
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    world.log.away = away
    world.restart()
    measured = eventually(lambda: world.progress(), lambda p: p.rows == 100, deadline=10)
    assert measured.bytes >= 4096
    assert measured.offsets_read == 0


def test_a_restart_reads_only_what_is_new(world: World) -> None:
    write(world, *((f"u{n}", n) for n in range(100)))
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    write(world, ("u1", 1000))
    world.restart()
    world.settle()
    assert world.progress().offsets_read == 1
    assert world.rows()["u1"] == 1000


def test_a_lost_file_is_loaded_again(world: World) -> None:
    write(world, ("a", 1), ("b", 2))
    world.folder.add(VISITS, ADDRESS, [ViewIndex("by_visits", ("visits",))])
    world.settle()
    world.path.unlink()
    world.settle()
    world.settle()
    assert world.rows() == {"a": 1, "b": 2}
    names = [n for (n,) in world.reader.query("SELECT name FROM sqlite_schema WHERE type = 'index'")]
    assert any(n.endswith("by_visits") for n in names)
    assert world.progress().fault is None


def test_a_damaged_file_is_loaded_again_when_the_folder_starts(world: World) -> None:
    write(world, ("a", 1))
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    world.folder.close()
    world.path.write_bytes(b"rubbish" * 5_000)
    world.folder = world.open()
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    assert world.rows() == {"a": 1}


def test_a_file_that_breaks_while_it_is_open_is_loaded_again(world: World, monkeypatch: Any) -> None:
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    write(world, ("a", 1))
    store = world.folder._opened()
    broken = MillpondError("VIEW_STORE_CORRUPT", path=world.path, reason="malformed")
    monkeypatch.setattr(store, "fold_all", lambda batches: (_ for _ in ()).throw(broken))
    assert world.folder.step(0) == 0
    assert world.progress().fault is not None
    world.settle()
    assert world.rows() == {"a": 1}


def test_a_topic_that_was_made_anew_is_loaded_again(world: World) -> None:
    write(world, ("a", 1), ("b", 2), ("c", 3))
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    world.log.delete("visits")
    world.log.create("visits")
    write(world, ("z", 9))
    world.settle()
    world.settle()
    assert world.rows() == {"z": 9}


def test_a_topic_made_anew_while_nobody_looked_is_loaded_again(world: World) -> None:
    write(world, ("a", 1))
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    world.log.delete("visits")
    world.log.create("visits")
    write(world, ("z", 9), ("y", 8))
    world.restart()
    world.settle()
    assert world.rows() == {"y": 8, "z": 9}


def test_a_compacted_topic_is_no_reason_to_load_again(world: World) -> None:
    write(world, ("a", 1), ("b", 2))
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    write(world, ("a", 2), ("a", 3), ("b", 3))
    world.log.compact("visits")
    world.log.truncate("visits", 0, 3)
    world.restart()
    world.settle()
    assert world.progress().offsets_read == 2
    assert world.rows() == {"a": 3, "b": 3}


def test_a_load_ends_even_if_the_last_offsets_were_compacted_away(world: World) -> None:
    write(world, ("a", 1), ("b", None))
    world.log.compact("visits", tombstones=True, keep_last=0)
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    assert world.rows() == {"a": 1}
    assert world.reader.offsets(VISITS.id) == {0: 2}


def test_a_store_that_is_away_is_waited_for(world: World) -> None:
    world.log.away = True
    write_later = [("a", 1)]
    world.folder.add(VISITS, ADDRESS)
    fault = world.progress().fault
    assert fault is not None
    assert fault.name == "STORE_UNREACHABLE"
    assert world.rows() == {}, "the table is there: a query does not fail"
    world.log.away = False
    write(world, *write_later)
    world.settle()
    assert world.rows() == {"a": 1}
    assert world.progress().fault is None


def test_a_topic_that_is_not_there_yet_is_waited_for(world: World) -> None:
    late = another("late")
    world.folder.add(late, ADDRESS)
    fault = world.progress(late).fault
    assert fault is not None
    assert fault.name == "TOPIC_NOT_FOUND"
    world.log.create("late")
    world.settle()
    assert not world.progress(late).loading


def test_partitions_that_are_added_later_are_followed_after_a_restart(world: World) -> None:
    write(world, ("a", 1))
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    from millpond.stores.memory import MemoryPartition

    world.log.topics_by_name["visits"].partitions.append(MemoryPartition())
    new = upsert("b", 2)
    world.log.produce("visits", [type(new)(new.key, new.value, new.headers, partition=1)])
    world.restart()
    world.settle()
    assert world.rows() == {"a": 1, "b": 2}


def test_a_full_disk_is_reported_and_ridden_out(world: World) -> None:
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    connection = world.folder._opened()._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    write(world, *((f"u{n}" * 50, n) for n in range(1_000)))
    assert world.folder.step(0) == 0
    assert world.folder.step(0) == 0
    fault = world.progress().fault
    assert fault is not None
    assert fault.name == "VIEW_STORE_FULL"
    assert world.progress().offsets == {0: 0}
    connection.execute("PRAGMA max_page_count = 1000000")
    world.settle()
    assert len(world.rows()) == 1_000
    assert world.progress().fault is None


def test_a_lock_is_reported_and_ridden_out(world: World) -> None:
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    world.folder._opened()._connection.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(world.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    write(world, ("a", 1))
    assert world.folder.step(0) == 0
    fault = world.progress().fault
    assert fault is not None
    assert fault.name == "VIEW_STORE_LOCKED"
    other.execute("ROLLBACK")
    other.close()
    world.settle()
    assert world.rows() == {"a": 1}


def test_views_are_dropped_and_kept(world: World) -> None:
    world.log.create("other")
    other = another("other")
    for relation in (VISITS, other):
        world.folder.add(relation, ADDRESS)
    world.settle()
    world.folder.drop(VISITS.id)
    with pytest.raises(MillpondError):
        world.rows()
    write(world, ("a", 1))
    world.log.produce("other", [upsert("b", 2)])
    world.settle()
    assert world.rows(other) == {"b": 2}
    world.folder.keep_only([])
    with pytest.raises(MillpondError):
        world.rows(other)


def test_indexes_come_and_go(world: World) -> None:
    world.folder.add(VISITS, ADDRESS)
    world.folder.create_index(VISITS.id, ViewIndex("one", ("visits",)))
    query = "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%.one'"
    assert world.reader.query(query) == [(1,)]
    world.folder.drop_index(VISITS.id, "one")
    assert world.reader.query(query) == [(0,)]


class TwoStores(World):
    """The view of `visits` lies in the first, that of `late` in the second."""

    def __init__(self, path: Path) -> None:
        self.second = MemoryLog()
        self.second.create("late")
        self.late = another("late")
        super().__init__(path)
        self.folder.add(VISITS, ADDRESS)
        self.folder.add(self.late, OTHER)
        self.settle()

    def open(self) -> Folder:
        folder = Folder(self.path, lambda address: self.log if address == ADDRESS else self.second)
        folder._looked = -1e9
        return folder


@pytest.fixture
def two(tmp_path: Path) -> Iterator[TwoStores]:
    made = TwoStores(tmp_path / "views.db")
    yield made
    made.close()


def test_a_busy_store_starves_no_other(two: TwoStores) -> None:
    two.second.produce("late", [upsert("b", 2)])
    for n in range(3):
        write(two, ("a", n))
        two.folder.step(0)
    assert two.rows(two.late) == {"b": 2}
    assert two.rows() == {"a": 2}


@pytest.mark.parametrize("busy", ["visits", "late"])
def test_an_idle_store_delays_no_other(two: TwoStores, busy: str) -> None:
    log = two.log if busy == "visits" else two.second
    for n in range(3):
        log.produce(busy, [upsert("a", n)])
        began = time.monotonic()
        assert two.folder.step(30) == 1
        assert time.monotonic() - began < 10


def test_what_comes_while_several_stores_are_waited_on_is_folded_at_once(two: TwoStores) -> None:
    writing = threading.Timer(0.1, lambda: two.second.produce("late", [upsert("b", 2)]))
    writing.start()
    began = time.monotonic()
    assert two.folder.step(30) == 1
    assert time.monotonic() - began < 10
    writing.join()


def test_a_view_that_is_added_again_is_followed_in_its_new_store(two: TwoStores) -> None:
    write(two, ("old", 1))
    two.settle()
    two.second.create("visits")
    two.second.produce("visits", [upsert("new", 2)])
    two.folder.add(VISITS, OTHER)
    write(two, ("unheard", 1))
    two.settle()
    two.settle()
    assert two.rows() == {"new": 2}
    assert [s.log for s in two.folder._sources.values()] == [two.second], "nothing else is in the first"
    assert two.rows(two.late) == {}


def test_a_view_that_is_added_again_in_the_same_store_goes_on(world: World) -> None:
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    write(world, ("a", 1))
    world.settle()
    world.folder.add(VISITS, ADDRESS)
    write(world, ("b", 2))
    world.settle()
    assert world.rows() == {"a": 1, "b": 2}
    assert world.progress().offsets_read == 1


def test_records_that_could_not_be_written_yet_are_read_again_when_their_view_is_added_again(world: World) -> None:
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    write(world, ("a", 1))
    world.folder._take(0)
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    assert world.rows() == {"a": 1}
    assert world.progress().offsets_read == 1


def test_views_of_one_topic_can_be_dropped_one_after_the_other(world: World) -> None:
    twin = replace(VISITS, id="0f7a6c0e-0000-4000-8000-000000000001", name="twin")
    world.folder.add(VISITS, ADDRESS)
    world.folder.add(twin, ADDRESS)
    world.folder.drop(VISITS.id)
    world.folder.drop(twin.id)
    assert world.folder.progress() == []


ACTIONS = st.one_of(
    st.tuples(st.just("write"), st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | st.integers(0, 99)))),
    st.tuples(st.just("step"), st.integers(1, 7)),
    st.sampled_from(["restart", "kill", "lose", "compact", "compact all", "damage"]).map(lambda a: (a, None)),
)


def test_a_store_that_was_away_for_longer_than_deletes_are_kept_is_loaded_anew(world: World) -> None:
    write(world, ("a", 1), ("b", 2))
    world.folder.add(VISITS, ADDRESS)
    world.settle()
    world.folder.close()
    write(world, ("a", None), ("c", 3))
    world.log.compact("visits", tombstones=True, keep_last=0)
    two_days_ago = time.time() - 2 * 86_400
    for file in world.path.parent.glob(f"{world.path.name}*"):
        os.utime(file, (two_days_ago, two_days_ago))
    world.restart()
    world.settle()
    assert world.rows() == {"b": 2, "c": 3}


@settings(max_examples=40, deadline=None)
@given(st.lists(ACTIONS, max_size=25), st.integers(1, 3))
def test_whatever_happens_the_view_is_what_a_dictionary_would_be(
    actions: list[tuple[str, Any]], partitions: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "views.db", partitions)
        world.folder.add(VISITS, ADDRESS)
        expected: dict[str, int] = {}
        for action, detail in actions:
            act(world, action, detail, expected)
        world.settle()
        world.settle()
        assert world.rows() == expected
        assert world.reader.offsets(VISITS.id) == world.log.end_offsets("visits")
        world.close()


def act(world: World, action: str, detail: Any, expected: dict[str, int]) -> None:
    match action:
        case "write":
            write(world, *detail)
            for url, visits in detail:
                expected.pop(url, None)
                if visits is not None:
                    expected[url] = visits
        case "step":
            steps(world, detail)
        case "restart":
            world.restart()
        case "kill":
            world.restart(cleanly=False)
        case "lose":
            for suffix in ("", "-wal", "-shm"):
                world.path.with_name(world.path.name + suffix).unlink(missing_ok=True)
        case "damage":
            world.folder.close()
            world.path.write_bytes(random.Random(0).randbytes(9_000))
            world.restart(cleanly=False)
        case "compact all":
            world.settle()  # Kafka keeps deletes for a day, within which they are read
            world.log.compact("visits", tombstones=True, keep_last=0)
        case _:
            world.log.compact("visits", keep_last=0)


def steps(world: World, records: int) -> None:
    """Fold a few records, poll a few more, and lose those as a crash would."""
    world.folder._looked = -1e9
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folding, "POLL_RECORDS", records)
        world.folder.step(0)
        world.folder._look_after()
        world.folder._take(0)
    world.restart(cleanly=False)
