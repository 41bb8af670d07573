"""What Kinesis promises as a log, on both emulators: the contract of logs, as far as Kinesis can keep it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from millpond.errors import MillpondError
from millpond.stores.kinesis import KinesisLog
from millpond.stores.protocol import Log, NewRecord, Reader, Record
from tests.kinesis_emulators import open_kinesis
from tests.stores.missing_topic import error_of, on_a_missing_topic
from tests.waiting import eventually

pytestmark = pytest.mark.kinesis


@pytest.fixture(params=["kinesis_url", "moto_url"])
def log(request: pytest.FixtureRequest) -> Iterator[KinesisLog]:
    made = open_kinesis(request.getfixturevalue(request.param))
    yield made
    made.close()


@pytest.fixture
def name() -> str:
    return f"s-{uuid.uuid4().hex[:8]}"


def take(reader: Reader, count: int, seconds: float = 20) -> list[Record]:
    found: list[Record] = []
    deadline = time.monotonic() + seconds
    while len(found) < count:
        assert time.monotonic() < deadline, f"after {seconds} s only {found}"
        found += reader.poll(1000, 0.2)
    return found


def numbered(*numbers: int, key: bytes = b"k") -> list[NewRecord]:
    return [NewRecord(key, b"%d" % n) for n in numbers]


def test_a_stream_is_made_listed_described_and_deleted(log: KinesisLog, name: str) -> None:
    assert log.create(name, 3) is True
    assert name in log.topics()
    described = log.describe(name)
    assert (described.name, described.partitions) == (name, 3)
    assert described.config["retention.hours"] == "24"
    assert log.create(name, 3) is False
    with pytest.raises(MillpondError) as caught:
        log.create(name, 2)
    assert (caught.value.name, caught.value.params["there"]) == ("STREAM_EXISTS_DIFFERENTLY", 3)
    log.delete(name)
    assert name not in log.topics()


def test_a_stream_gets_other_shards_and_another_retention(log: KinesisLog, name: str) -> None:
    log.create(name, 1, config={"retention.hours": "48"})
    log.alter(name, 2, {"retention.hours": "72"})
    assert (log.describe(name).partitions, log.describe(name).config["retention.hours"]) == (2, "72")


def test_a_store_is_checked(log: KinesisLog) -> None:
    log.check()
    for url, error in (("http://127.0.0.1:1", "STORE_CONNECTION_REFUSED"), ("http://no.invalid", "STORE_HOST_UNKNOWN")):
        with pytest.raises(MillpondError) as caught:
            open_kinesis(url).check()
        assert caught.value.name == error


@on_a_missing_topic
def test_a_stream_that_is_not_there_is_named(log: KinesisLog, call: Callable[[Log], object]) -> None:
    error = error_of(log, call)
    assert error.name == "TOPIC_NOT_FOUND"
    assert "'missing'" in error.sentence


def test_a_bad_stream_name_and_a_setting_of_kafka_are_refused(log: KinesisLog) -> None:
    for name, config in (("no spaces!", {}), ("", {}), ("x", {"cleanup.policy": "compact"})):
        with pytest.raises(MillpondError) as caught:
            log.create(name, config=config)
        assert caught.value.name == "TOPIC_REFUSED"


def test_records_come_back_with_their_keys_and_an_empty_one_is_a_null(log: KinesisLog, name: str) -> None:
    log.create(name)
    placed = log.produce(name, [NewRecord(b"a", b"1"), NewRecord(b"b", None), NewRecord(None, b"3")])
    found = sorted(take(log.read(name, {0: 0}), 3), key=lambda r: r.offset)
    assert [(r.partition, r.offset) for r in found] == sorted(placed)
    by_value = {r.value: r.key for r in found}
    assert by_value[b"1"] == b"a"
    assert by_value[None] == b"b"
    assert len(by_value[b"3"] or b"") == 32
    assert abs(found[0].timestamp - time.time() * 1000) < 60_000


def test_offsets_are_first_end_and_by_time(log: KinesisLog, name: str) -> None:
    log.create(name, 2)
    assert log.first_offsets(name) == {0: 0, 1: 0}
    assert log.end_offsets(name) == {0: 0, 1: 0}
    placed = log.produce(name, numbered(1, 2, 3))
    shard = placed[0][0]
    written = max(record.timestamp for record in take(log.read(name, {0: 0, 1: 0}), 3))
    middle = eventually(lambda: int(time.time() * 1000), lambda now: now > written + 1_000)  # seconds count for moto
    (later,) = log.produce(name, numbered(4))
    assert log.end_offsets(name) == {shard: later[1] + 1, 1 - shard: 0}
    at = log.offsets_at(name, middle)
    assert [r.value for r in take(log.read(name, at), 1)] == [b"4"]
    assert log.offsets_at(name, middle + 3_600_000) == log.end_offsets(name)


def test_a_reader_starts_at_its_offset_and_waits_for_more(log: KinesisLog, name: str) -> None:
    log.create(name)
    placed = log.produce(name, numbered(0, 1, 2))
    reader = log.read(name, {0: placed[1][1]})
    assert [r.value for r in take(reader, 2)] == [b"1", b"2"]
    assert reader.poll(10, 0.05) == []
    (later,) = log.produce(name, numbered(3))
    assert [r.value for r in take(reader, 1)] == [b"3"]
    assert reader.positions(name) == {0: later[1] + 1}
    reader.close()


def test_a_reader_follows_the_children_of_a_shard_that_is_split_and_merged(log: KinesisLog, name: str) -> None:
    log.create(name)
    keys = [f"k{n}".encode() for n in range(10)]
    reader = log.read(name, {0: 0})

    def write(number: int) -> None:
        log.produce(name, [NewRecord(key, b"%d" % number) for key in keys])

    write(0)
    log.client.split_shard(StreamName=name, ShardToSplit="shardId-000000000000", NewStartingHashKey=str(2**127))
    log._until_active(name)
    write(1)
    children = ("shardId-000000000001", "shardId-000000000002")
    log.client.merge_shards(StreamName=name, ShardToMerge=children[0], AdjacentShardToMerge=children[1])
    log._until_active(name)
    write(2)
    found = take(reader, 30, seconds=60)
    for key in keys:
        assert [r.value for r in found if r.key == key] == [b"0", b"1", b"2"]
    assert log.describe(name).partitions == 1
    reader.close()
