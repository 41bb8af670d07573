"""What only the memory twin can do, so that tests can play compaction, retention and outages."""

from __future__ import annotations

import pytest

from millpond.errors import MillpondError
from millpond.stores.memory import MemoryLog
from millpond.stores.protocol import NewRecord


def filled(*pairs: tuple[bytes, bytes | None]) -> MemoryLog:
    log = MemoryLog()
    log.create("t")
    log.produce("t", [NewRecord(k, v) for k, v in pairs])
    return log


def test_compaction_keeps_the_last_record_of_a_key_and_the_offsets() -> None:
    log = filled((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"))
    log.compact("t")
    reader = log.read("t", {0: 0})
    assert [(r.offset, r.key) for r in reader.poll(10, 0)] == [(1, b"b"), (2, b"a"), (3, b"c")]
    assert log.first_offsets("t") == {0: 0}


def test_compaction_drops_deletes_when_told_but_never_the_last_offset() -> None:
    log = filled((b"a", b"1"), (b"a", None), (b"b", None))
    log.compact("t", tombstones=True)
    assert [r.key for r in log.read("t", {0: 0}).poll(10, 0)] == [b"b"]
    log.compact("t", tombstones=True, keep_last=0)
    reader = log.read("t", {0: 0})
    assert reader.poll(10, 0) == []
    assert reader.positions("t") == {0: 3}, "the position passes the gap"


def test_truncation_moves_a_reader_to_what_is_left() -> None:
    log = filled((b"a", b"1"), (b"b", b"2"))
    log.truncate("t", 0, 1)
    assert log.first_offsets("t") == {0: 1}
    assert [r.offset for r in log.read("t", {0: 0}).poll(10, 0)] == [1]


def test_a_store_that_is_away_raises_but_readers_wait() -> None:
    log = filled((b"a", b"1"))
    reader = log.read("t", {0: 0})
    log.away = True
    with pytest.raises(MillpondError) as caught:
        log.end_offsets("t")
    assert caught.value.name == "STORE_UNREACHABLE"
    assert reader.poll(1, 0) == []
    log.away = False
    assert len(reader.poll(1, 0)) == 1
