"""Records written to and read from a topic by tests, with a client that knows nothing of Millpond."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition


@dataclass(frozen=True, slots=True)
class Record:
    """One record; `timestamp` is epoch milliseconds, 0 for now when written."""

    value: bytes | None
    key: bytes | None = None
    timestamp: int = 0
    partition: int = 0
    offset: int = -1
    headers: tuple[tuple[str, bytes], ...] = field(default=())


def write(uris: str, topic: str, records: Iterable[Record]) -> int:
    """Write `records` in order and wait until the broker has them all; how many there were."""
    failures: list[object] = []
    producer = Producer({"bootstrap.servers": uris, "linger.ms": 5, "acks": "all", "enable.idempotence": True})
    count = 0
    for r in records:
        producer.produce(
            topic,
            r.value,
            r.key,
            partition=r.partition,
            timestamp=r.timestamp,
            headers=list(r.headers),
            on_delivery=lambda error, _: failures.append(error) if error else None,
        )
        producer.poll(0)
        count += 1
    left = producer.flush(30)
    assert not failures and not left, f"{len(failures)} records failed, {left} left: {failures[:1]}"
    return count


def read(uris: str, topic: str, partition: int = 0) -> list[Record]:
    """All records that are in one partition of `topic` now."""
    consumer = Consumer(
        {
            "bootstrap.servers": uris,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 20,
        }
    )
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        found: list[Record] = []
        while consumer.position([TopicPartition(topic, partition)])[0].offset < end:
            found.extend(_record(m) for m in consumer.consume(1000, 0.2))
            if end == 0:
                break
        return found
    finally:
        consumer.close()


def _record(message: Message) -> Record:
    assert not message.error(), message.error()
    return Record(
        value=message.value(),
        key=message.key(),
        timestamp=message.timestamp()[1],
        partition=message.partition(),
        offset=message.offset(),
        headers=tuple(message.headers() or ()),
    )
