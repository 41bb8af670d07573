"""Writing to a stream: batches, repeating what failed, the order of each key."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError

from millpond.errors import MillpondError
from millpond.stores import kinesis_shards, kinesis_writer
from millpond.stores.kinesis_writer import BATCH_RECORDS, RECORD_BYTES, StreamWriter
from tests.stores.fake_kinesis import FakeStream


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinesis_shards, "LONGEST_BACKOFF_SECONDS", 0.002)
    monkeypatch.setattr(kinesis_writer, "SETTLE_SECONDS", 0.0)


def write(stream: FakeStream, records: list[tuple[str, bytes]], timeout: float = 5) -> list[int]:
    def landed() -> Counter[tuple[str, bytes]]:
        return Counter(stream.records)

    return [n for n, _ in StreamWriter(stream, "s", "here", timeout, landed).write(records)]


def values(stream: FakeStream, key: str) -> list[bytes]:
    return [data for k, data in stream.records if k == key]


def test_records_go_in_batches_and_each_key_keeps_its_order() -> None:
    chance = random.Random(5)
    records = [(f"k{chance.randrange(700)}", b"%d" % n) for n in range(5_000)]
    refusals = [{chance.randrange(500) for _ in range(chance.randrange(200))} for _ in range(12)]
    stream = FakeStream(*refusals)
    assert sorted(write(stream, records)) == list(range(5_000))
    assert max(stream.calls) == BATCH_RECORDS
    for key in {key for key, _ in records}:
        assert values(stream, key) == [data for k, data in records if k == key]


def test_a_key_whose_record_failed_holds_back_its_later_ones() -> None:
    stream = FakeStream({0})
    write(stream, [("a", b"1"), ("a", b"2"), ("b", b"3")])
    assert stream.records == [("b", b"3"), ("a", b"1"), ("a", b"2")]


def test_a_batch_is_bounded_by_its_bytes() -> None:
    stream = FakeStream()
    write(stream, [(f"k{n}", b"x" * 900_000) for n in range(12)])
    assert stream.calls == [5, 5, 2]


def test_a_record_that_is_too_large_is_refused() -> None:
    with pytest.raises(MillpondError) as caught:
        write(FakeStream(), [("k", b"x" * RECORD_BYTES)])
    assert caught.value.name == "RECORD_REFUSED"


@pytest.mark.parametrize("lands", [True, False])
def test_after_a_lost_connection_only_what_did_not_arrive_is_written_again(lands: bool) -> None:
    stream = FakeStream(ConnectionClosedError(endpoint_url="x"), lands=lands)
    records = [(f"k{n % 7}", b"%d" % (n % 3)) for n in range(100)]
    write(stream, records)
    assert Counter(stream.records) >= Counter(records)
    assert len(stream.records) == 100


def test_a_connection_that_was_never_made_is_tried_again() -> None:
    stream = FakeStream(EndpointConnectionError(endpoint_url="x"), {0, 1})
    write(stream, [("a", b"1"), ("b", b"2")])
    assert sorted(stream.records) == [("a", b"1"), ("b", b"2")]


def test_who_cannot_ask_what_arrived_says_so() -> None:
    writer = StreamWriter(FakeStream(ConnectionClosedError(endpoint_url="x")), "s", "here", 5)
    with pytest.raises(MillpondError) as caught:
        list(writer.write([("a", b"1")]))
    assert caught.value.name == "STORE_UNREACHABLE"


def test_a_stream_that_takes_nothing_is_given_up_after_a_while() -> None:
    throttled = ClientError({"Error": {"Code": "LimitExceededException"}}, "PutRecords")
    with pytest.raises(MillpondError) as caught:
        write(FakeStream(*[throttled] * 10_000), [("a", b"1")], timeout=0.05)
    assert caught.value.name == "STORE_UNREACHABLE"
