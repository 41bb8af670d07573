"""What every log promises, on the memory twin and on a real broker."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millpond.errors import MillpondError
from millpond.stores.connect import open_log
from millpond.stores.memory import MemoryLog
from millpond.stores.protocol import Log, NewRecord, Reader, Record
from tests.stores.missing_topic import error_of, on_a_missing_topic


@pytest.fixture(params=["memory", pytest.param("kafka", marks=pytest.mark.broker)])
def log(request: pytest.FixtureRequest) -> Iterator[Log]:
    if request.param == "memory":
        yield MemoryLog()
        return
    made = open_log("KAFKA", {"uris": request.getfixturevalue("broker").uris})
    yield made
    made.close()


@pytest.fixture
def name() -> str:
    return f"t-{uuid.uuid4().hex[:8]}"


def read_until(reader: Reader, enough: Callable[[list[Record]], bool], seconds: float = 15) -> list[Record]:
    found: list[Record] = []
    deadline = time.monotonic() + seconds
    while not enough(found):
        assert time.monotonic() < deadline, f"after {seconds} s only {found}"
        found += reader.poll(1000, 0.2)
    return found


def take(reader: Reader, count: int) -> list[Record]:
    return read_until(reader, lambda found: len(found) >= count)


def numbered(*numbers: int, **kwargs: Any) -> list[NewRecord]:
    return [NewRecord(b"k", b"%d" % n, **kwargs) for n in numbers]


def test_a_topic_is_made_listed_described_and_deleted(log: Log, name: str) -> None:
    assert log.create(name, 3, 1, {"cleanup.policy": "compact"}) is True
    assert name in log.topics()
    described = log.describe(name)
    assert (described.name, described.partitions, described.replicas) == (name, 3, 1)
    assert described.config["cleanup.policy"] == "compact"
    log.delete(name)
    assert name not in log.topics()


def test_making_it_again_is_no_error_if_it_is_the_same(log: Log, name: str) -> None:
    log.create(name, 2)
    assert log.create(name, 2) is False
    with pytest.raises(MillpondError) as caught:
        log.create(name, 3)
    assert caught.value.name == "TOPIC_EXISTS_DIFFERENTLY"
    assert caught.value.params["there"] == 2


def test_a_topic_made_anew_has_another_id(log: Log, name: str) -> None:
    log.create(name)
    before = log.describe(name).id
    log.delete(name)
    log.create(name)
    assert before and log.describe(name).id != before


@on_a_missing_topic
def test_a_topic_that_is_not_there_is_named(log: Log, call: Callable[[Log], object]) -> None:
    error = error_of(log, call)
    assert error.name == "TOPIC_NOT_FOUND"
    assert "'missing'" in error.sentence


def test_a_bad_topic_name_is_refused(log: Log) -> None:
    with pytest.raises(MillpondError) as caught:
        log.create("")
    assert caught.value.name == "TOPIC_REFUSED"


def test_records_come_back_as_they_were_written(log: Log, name: str) -> None:
    log.create(name)
    records = [
        NewRecord(b"a", b"1", [("mp.src", b"0:7"), ("empty", None)], timestamp=1_000),
        NewRecord(None, None),
    ]
    assert log.produce(name, records) == [(0, 0), (0, 1)]
    reader = log.read(name, {0: 0})
    first, second = take(reader, 2)
    assert first == Record(name, 0, 0, 1_000, b"a", b"1", first.headers)
    assert list(first.headers) == [("mp.src", b"0:7"), ("empty", None)]
    assert (second.key, second.value, tuple(second.headers)) == (None, None, ())
    assert abs(second.timestamp - time.time() * 1000) < 60_000
    reader.close()


def test_a_key_stays_in_its_partition_and_a_partition_may_be_named(log: Log, name: str) -> None:
    log.create(name, 4)
    placed = log.produce(name, numbered(*range(5)))
    assert len({partition for partition, _ in placed}) == 1
    assert log.produce(name, numbered(1, partition=3))[0][0] == 3


def test_offsets_are_first_end_and_by_time(log: Log, name: str) -> None:
    log.create(name, 2)
    for stamp in (1_000, 2_000, 3_000):
        log.produce(name, numbered(1, partition=0, timestamp=stamp))
    assert log.first_offsets(name) == {0: 0, 1: 0}
    assert log.end_offsets(name) == {0: 3, 1: 0}
    assert log.offsets_at(name, 1_500) == {0: 1, 1: 0}
    assert log.offsets_at(name, 9_000) == {0: 3, 1: 0}


def test_a_reader_starts_at_its_offset_and_waits_for_more(log: Log, name: str) -> None:
    log.create(name)
    log.produce(name, numbered(0, 1, 2))
    reader = log.read(name, {0: 1})
    assert [r.offset for r in take(reader, 2)] == [1, 2]
    assert reader.poll(10, 0.05) == []
    log.produce(name, numbered(3))
    assert [r.value for r in take(reader, 1)] == [b"3"]
    assert reader.positions(name) == {0: 4}
    assert reader.ends(name) == {0: 4}
    reader.close()


def test_a_poll_returns_at_most_what_was_asked(log: Log, name: str) -> None:
    log.create(name, 2)
    log.produce(name, numbered(*range(10), partition=0) + numbered(*range(10), partition=1))
    reader = log.read(name, {0: 0, 1: 0})
    found: list[Record] = []
    while len(found) < 20:
        some = reader.poll(3, 5)
        assert 0 < len(some) <= 3 or not some
        found += some
    for partition in (0, 1):
        assert [r.offset for r in found if r.partition == partition] == list(range(10))
    reader.close()


def test_topics_join_and_leave_a_reader(log: Log, name: str) -> None:
    first, second = name, name + "-b"
    for topic in (first, second):
        log.create(topic)
        log.produce(topic, numbered(1))
    reader = log.reader()
    reader.add(first, {0: 0})
    assert {r.topic for r in take(reader, 1)} == {first}
    reader.add(second, {0: 0})
    assert {r.topic for r in take(reader, 1)} == {second}
    reader.remove(first)
    assert reader.positions(first) == {}
    log.produce(first, numbered(2))
    log.produce(second, numbered(2))
    assert {r.topic for r in take(reader, 1)} == {second}
    reader.add(first, {0: 1})
    assert [(r.topic, r.offset) for r in take(reader, 1)] == [(first, 1)]
    reader.add(first, {0: 0})
    assert [r.offset for r in take(reader, 2)] == [0, 1]
    reader.close()


def test_an_offset_that_is_not_there_begins_at_the_first(log: Log, name: str) -> None:
    log.create(name)
    log.produce(name, numbered(0, 1))
    reader = log.read(name, {0: 50})
    assert [r.offset for r in take(reader, 2)] == [0, 1]
    reader.close()


def test_a_closed_reader_reads_no_more(log: Log, name: str) -> None:
    log.create(name)
    reader = log.read(name, {0: 0})
    reader.close()
    reader.close()
    assert reader.poll(1, 0.05) == []


@pytest.mark.broker
def test_a_record_that_is_too_large_is_refused(broker: Any, name: str) -> None:
    log = open_log("KAFKA", {"uris": broker.uris})
    log.create(name, config={"max.message.bytes": "1000"})
    with pytest.raises(MillpondError) as caught:
        log.produce(name, [NewRecord(None, b"x" * 5_000)])
    assert caught.value.name == "RECORD_REFUSED"
    assert "it is larger than its store takes" in caught.value.sentence
    log.close()


@pytest.mark.broker
@pytest.mark.parametrize("config", [{"no.such.setting": "1"}, {"cleanup.policy": "sometimes"}], ids=str)
def test_a_setting_that_kafka_does_not_know_is_refused(broker: Any, name: str, config: dict[str, str]) -> None:
    log = open_log("KAFKA", {"uris": broker.uris})
    with pytest.raises(MillpondError) as caught:
        log.create(name, config=config)
    assert caught.value.name == "TOPIC_REFUSED"
    log.close()


def test_a_kafka_that_is_not_there_is_unreachable() -> None:
    log = open_log("KAFKA", {"uris": "127.0.0.1:1"}, timeout=0.5)
    with pytest.raises(MillpondError) as caught:
        log.topics()
    assert caught.value.name == "STORE_UNREACHABLE"
    assert "127.0.0.1:1" in caught.value.sentence
    log.close()


def test_a_store_that_answers_passes_its_check(log: Log) -> None:
    log.check()


def test_a_topic_gets_more_partitions_and_other_settings_and_keeps_the_rest(log: Log, name: str) -> None:
    log.create(name, 1, -1, {"cleanup.policy": "compact", "max.message.bytes": "70000"})
    log.alter(name, 3, {"max.message.bytes": "80000"})
    described = log.describe(name)
    assert described.partitions == 3
    assert (described.config["cleanup.policy"], described.config["max.message.bytes"]) == ("compact", "80000")
    log.alter(name, 3)
    with pytest.raises(MillpondError) as caught:
        log.alter(name, 2)
    assert caught.value.name == "TOPIC_REFUSED"
    with pytest.raises(MillpondError) as caught:
        log.alter("missing", 2)
    assert caught.value.name == "TOPIC_NOT_FOUND"
