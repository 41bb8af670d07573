"""Reading and writing through a proxy that throttles, expires, fails, cuts and delays; recounted in plain Python."""

from __future__ import annotations

import random
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.stores.kinesis import KinesisLog
from millpond.stores.kinesis_batches import Batch, BatchReader, BatchRecord, Position
from millpond.stores.kinesis_delivery import Delivery
from millpond.stores.protocol import NewRecord
from tests.fault_proxy import FaultProxy, fault_proxy
from tests.kinesis_emulators import merge, open_kinesis, split, store_properties
from tests.log_records import records_in
from tests.waiting import eventually

pytestmark = [pytest.mark.kinesis, pytest.mark.filterwarnings("ignore::ResourceWarning")]

READING = {
    "GetRecords": {"throttle": 0.1, "expire": 0.1, "fail": 0.05, "cut": 0.05, "lose": 0.05, "slow": 0.03},
    "GetShardIterator": {"throttle": 0.1, "cut": 0.1},
    "ListShards": {"limit": 0.2, "cut": 0.1},
}
WRITING = {
    "PutRecords": {"throttle": 0.1, "partial": 0.3, "fail": 0.05, "cut": 0.03, "lose": 0.06, "slow": 0.03},
    "GetRecords": {"throttle": 0.1},
}
KEYS = [f"k{n}".encode() for n in range(40)]


@pytest.fixture
def log(kinesis_url: str) -> Iterator[KinesisLog]:
    made = open_kinesis(kinesis_url)
    yield made
    made.close()


@pytest.fixture
def stream(log: KinesisLog) -> str:
    name = f"f-{uuid.uuid4().hex[:8]}"
    log.create(name, 2)
    return name


def by_key(pairs: list[tuple[bytes, bytes]]) -> dict[bytes, list[bytes]]:
    found: dict[bytes, list[bytes]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return found


def test_batches_lose_nothing_keep_order_and_come_out_the_same_again(
    log: KinesisLog, stream: str, kinesis_url: str
) -> None:
    """While the stream is split, merged and split, through every fault."""
    sent: list[tuple[bytes, bytes]] = []
    chance = random.Random(11)
    read: list[BatchRecord] = []
    batches: list[tuple[Position, Batch]] = []
    with fault_proxy(kinesis_url, READING) as proxy:
        reader = BatchReader(store_properties(proxy.url), stream, max_rows=150)

        def read_on() -> int:
            start = batches[-1][1].end if batches else {}
            batches.append((start, reader.next(start)))
            read.extend(batches[-1][1].records)
            return len(read)

        for step in range(12):
            more = [NewRecord(chance.choice(KEYS), b"%d" % (step * 100 + n)) for n in range(100)]
            log.produce(stream, more)
            sent += [(r.key or b"", r.value or b"") for r in more]
            if step in (2, 4, 7):
                (merge if step == 4 else split)(log, stream)
            read_on()
        eventually(read_on, len(sent))
        assert by_key([(r.record.partition_key.encode(), r.record.data) for r in read]) == by_key(sent)
        again = BatchReader(store_properties(proxy.url), stream)
        for start, batch in batches[:: max(1, len(batches) // 6)]:
            assert sorted(again.between(start, batch.end)) == sorted(batch.records)
        assert all(proxy.happened[kind] for kind in [("GetRecords", "throttle"), ("GetRecords", "expire")])
    for shard in {r.shard for r in read}:
        offsets = [r.offset for r in read if r.shard == shard]
        assert offsets == list(range(len(offsets)))
    reader.close()
    again.close()


def test_a_reader_that_waits_for_what_is_there_ends_at_its_end(log: KinesisLog, stream: str, kinesis_url: str) -> None:
    log.produce(stream, [NewRecord(key, b"1") for key in KEYS])
    with fault_proxy(kinesis_url, READING) as proxy:
        reader = BatchReader(store_properties(proxy.url), stream, max_rows=15)
        reader.until_ms = int(time.time() * 1000)
        found: list[BatchRecord] = []
        position: Position = {}
        while (batch := reader.next(position)).records:
            found, position = found + batch.records, batch.end
    assert sorted(r.record.partition_key.encode() for r in found) == sorted(KEYS)
    reader.close()


@pytest.mark.parametrize("ending", [False, True], ids=["that goes on", "that ends"])
def test_what_others_are_joined_with_is_read_to_its_tip_in_one_batch(
    log: KinesisLog, stream: str, kinesis_url: str, ending: bool
) -> None:
    """Through every fault, and whatever the limit of rows: who is missing in it has no match."""
    log.produce(stream, [NewRecord(key, b"%d" % n) for n in range(10) for key in KEYS])
    with fault_proxy(kinesis_url, READING) as proxy:
        reader = BatchReader(store_properties(proxy.url), stream, max_rows=15, to_tip=True)
        reader.until_ms = int(time.time() * 1000) if ending else None
        batch = reader.next({})
        assert len(batch.records) == 10 * len(KEYS)
        assert reader.next(batch.end).records == []
    reader.close()


def rows_of(batch: int) -> list[tuple[bytes | None, bytes | None]]:
    """What a deterministic query gives for a batch: some keys often, some rows twice."""
    chance = random.Random(batch)
    return [(chance.choice(KEYS), b"%d" % (batch * 1000 + chance.randrange(200))) for _ in range(200)]


def deliver(delivery: Delivery, batch: int, rows: list[tuple[bytes | None, bytes | None]]) -> bool:
    """Whether there was anything to be done."""
    if not delivery.begin(batch):
        return False
    for start in range(0, len(rows), 70):
        delivery.put(rows[start : start + 70])
    delivery.finish()
    return True


def die_in_the_middle(delivery: Delivery, batch: int, rows: list[tuple[bytes | None, bytes | None]]) -> None:
    assert delivery.begin(batch)
    delivery.put(rows)


def test_a_sink_writes_each_row_once_however_often_it_dies(
    log: KinesisLog, stream: str, kinesis_url: str, tmp_path: Path
) -> None:
    """Each batch is begun by runs that die in the middle, before a run gets through."""
    log.produce(stream, [NewRecord(key or b"", value) for key, value in rows_of(0)[:50]])
    chance = random.Random(3)
    file = tmp_path / "sink.json"
    with fault_proxy(kinesis_url, WRITING) as proxy:
        for batch in range(3):
            for attempt in range(3):
                delivery = Delivery(store_properties(proxy.url), stream, file, f"{batch}-{attempt}", once=True)
                rows = rows_of(batch)
                if attempt < 2:
                    die_in_the_middle(delivery, batch, rows[: chance.randrange(len(rows))])
            assert deliver(delivery, batch, rows)
            assert not deliver(delivery, batch, rows)
        assert proxy.happened["PutRecords", "lose"] and proxy.happened["PutRecords", "partial"]
    wanted = [row for batch in range(3) for row in rows_of(batch)]
    found = [(r.key or b"", r.value or b"") for r in records_in(log, stream)]
    assert Counter(found) == Counter(wanted) + Counter(rows_of(0)[:50])
    mine = by_key([(key or b"", value or b"") for key, value in rows_of(0)[:50] + wanted])
    assert by_key(found) == mine


def test_the_proxy_itself_does_what_it_says(log: KinesisLog, stream: str, kinesis_url: str) -> None:
    with fault_proxy(kinesis_url, {"DescribeStreamSummary": {"cut": 1.0}}) as proxy:
        assert isinstance(proxy, FaultProxy)
        with pytest.raises(Exception, match="cannot be reached"):
            open_kinesis(proxy.url, timeout=0.5).describe(stream)
        assert proxy.happened["DescribeStreamSummary", "cut"] >= 1
