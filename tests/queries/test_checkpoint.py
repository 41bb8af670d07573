"""The marker beside a checkpoint, and from where a sink's tail is read after a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.queries.checkpoint import KEPT_POSITIONS, Checkpoint, Marker, replay_start
from millpond.queries.replay import written_positions
from millpond.stores.memory import MemoryLog
from millpond.stores.protocol import NewRecord
from tests.queries.fake_engine import commit, written_by


def test_a_marker_is_read_as_it_was_written(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "c")
    assert checkpoint.marker() is None
    marker = Marker(True, True, ((-1, {0: 5}), (3, {0: 7, 1: 2})))
    checkpoint.write_marker(marker)
    assert checkpoint.marker() == marker


def test_a_marker_keeps_its_first_position_and_the_latest(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write_marker(Marker(positions=tuple((n - 1, {0: n}) for n in range(50))))
    marker = checkpoint.marker()
    assert marker is not None
    assert [batch for batch, _ in marker.positions] == [-1, *range(49 - KEPT_POSITIONS, 49)]


@pytest.mark.parametrize("length", [0, 1, 30])
def test_a_torn_write_leaves_the_marker_before_it(length: int, tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    before = Marker(True, False, ((-1, {0: 0}),))
    checkpoint.write_marker(before)
    whole = checkpoint.marker_path.read_bytes()
    checkpoint.marker_path.with_suffix(".new").write_bytes(whole[:length])
    assert checkpoint.marker() == before
    checkpoint.write_marker(Marker())
    assert checkpoint.marker() == Marker()


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"real_time": true}', '{"positions": 5}', "\0\0\0"])
def test_a_damaged_marker_says_the_worst(damage: str, tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.marker_path.write_text(damage)
    marker = checkpoint.marker()
    assert marker == Marker(real_time=True, caught_up=False)
    assert replay_start(marker, 10) == {}


def test_the_last_committed_batch_and_its_offsets(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert (checkpoint.committed(), checkpoint.source_offsets()) == (-1, {})
    commit(tmp_path, {"clicks": {0: 5}})
    commit(tmp_path, {"clicks": {0: 9, 1: 3}})
    (tmp_path / "offsets" / "2").write_text('v1\n{}\n{"clicks": {"0": 12}}')
    (tmp_path / "commits" / ".3.crc").write_text("")
    assert checkpoint.committed() == 1
    assert checkpoint.source_offsets() == {"clicks": {0: 9, 1: 3}}


def test_what_is_committed_is_not_discarded(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write_marker(Marker())
    commit(tmp_path, {"clicks": {0: 5}})
    checkpoint.discard_uncommitted()
    assert checkpoint.committed() == 0


class Sink:
    """A model of a query that writes: which batch wrote each record of each of two partitions."""

    def __init__(self) -> None:
        self.batches: tuple[list[int], list[int]] = ([], [])
        self.committed = -1
        self.marker = Marker(positions=((-1, {0: 0, 1: 0}),))
        self.seen: dict[int, int] | None = None

    def write(self) -> None:
        self.batches[0].append(self.committed + 1)

    def write_elsewhere(self) -> None:
        self.batches[1].append(self.committed + 1)

    def commit(self) -> None:
        self.committed += 1

    def look_at_sink(self) -> None:
        self.seen = {p: len(records) for p, records in enumerate(self.batches)}

    def look_at_commits(self) -> None:
        """The second half of an observation, any time after the first: as `QueryLife._note` does."""
        if self.seen is None:
            return
        if self.marker.positions[-1][0] != self.committed:
            positions = (*self.marker.positions, (self.committed, self.seen))
            kept = positions[:1] + positions[1:][-KEPT_POSITIONS:]
            self.marker = Marker(positions=kept)
        self.seen = None

    def crash(self) -> None:
        self.seen = None
        start = replay_start(self.marker, self.committed)
        for partition, batches in enumerate(self.batches):
            uncommitted = [offset for offset, batch in enumerate(batches) if batch > self.committed]
            assert all(start.get(partition, 0) <= offset for offset in uncommitted)


steps: st.SearchStrategy[Callable[[Sink], None]] = st.sampled_from(
    [Sink.write, Sink.write, Sink.write_elsewhere, Sink.commit, Sink.look_at_sink, Sink.look_at_commits, Sink.crash]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(steps, max_size=60))
def test_a_replay_never_begins_too_late(taken: list[Callable[[Sink], None]]) -> None:
    sink = Sink()
    for step in taken:
        step(sink)
    sink.crash()


def test_a_replay_begins_near_the_end(tmp_path: Path) -> None:
    marker = Marker(positions=((-1, {0: 0}), *((n, {0: n * 100}) for n in range(20))))
    assert replay_start(marker, 19) == {0: 1800}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1), st.integers(0, 30)), max_size=40), st.integers(0, 40))
def test_exactly_the_positions_that_the_query_wrote_are_found(written: list[tuple[bool, int, int]], start: int) -> None:
    log = MemoryLog()
    log.create("out")
    for mine, partition, position in written:
        log.produce("out", written_by("mine-0001-x" if mine else "other-01-x", [position], partition))
    found = written_positions(log, "out", {0: start}, "mine-0001-x")
    expected: dict[int, list[int]] = {}
    for mine, partition, position in written[start:]:
        if mine:
            expected.setdefault(partition, []).append(position)
    assert found == expected


def test_records_of_others_without_marks_are_passed_over() -> None:
    log = MemoryLog()
    log.create("out")
    log.produce("out", [NewRecord(None, b"x"), NewRecord(None, b"x", (("mp.query", b"mine-000"),))])
    log.produce("out", written_by("mine-0001", [4]))
    assert written_positions(log, "out", {}, "mine-0001") == {0: [4]}
