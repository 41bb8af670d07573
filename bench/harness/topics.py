"""Topics of the benchmarks: made, filled, and how far they have grown."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from harness.events import Event
from harness.progress import progress

PARTITIONS = 2

FILL_REPORT = 500_000

LEADER_SECONDS = 10


def create_topic(uris: str, name: str, partitions: int = PARTITIONS) -> None:
    """Create a topic and wait until it is there."""
    admin = AdminClient({"bootstrap.servers": uris, "log_level": 3})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)


def topic_like(uris: str, prefix: str) -> str:
    """The only topic whose name starts with `prefix`. Raises LookupError."""
    names = [
        n
        for n in AdminClient({"bootstrap.servers": uris, "log_level": 3}).list_topics(timeout=10).topics
        if n.startswith(prefix)
    ]
    if len(names) != 1:
        raise LookupError(f"topics that start with '{prefix}': {names}")
    return str(names[0])


def fill(uris: str, topic: str, events: Iterable[Event]) -> Counter[str]:
    """Write all events; how many of each group there were. KafkaException if one is lost."""
    producer = Producer(
        {
            "bootstrap.servers": uris,
            "log_level": 3,
            "linger.ms": 20,
            "batch.num.messages": 10_000,
            "queue.buffering.max.messages": 400_000,
            "partitioner": "murmur2_random",
        }
    )
    counts: Counter[str] = Counter()
    for number, event in enumerate(events, 1):
        counts[event.group] += 1
        _produce(producer, topic, *event.record)
        if number % FILL_REPORT == 0:
            progress(f"{number:,} events in '{topic}'")
    if producer.flush(60):
        raise KafkaException(f"not all events reached '{topic}'")
    with Ends(uris, topic) as ends:
        held = sum(ends.now())
    if held != counts.total():
        raise KafkaException(f"'{topic}' holds {held} records, not {counts.total()}")
    return counts


def _produce(producer: Producer, topic: str, key: bytes, value: bytes) -> None:
    while True:
        try:
            producer.produce(topic, value, key)
            return
        except BufferError:
            producer.poll(0.05)


class Ends:
    """Watches the ends of a topic's partitions."""

    def __init__(self, uris: str, topic: str, partitions: int = PARTITIONS) -> None:
        self._consumer = Consumer({"bootstrap.servers": uris, "group.id": "bench-ends"})
        self._places = [TopicPartition(topic, p) for p in range(partitions)]

    def now(self) -> list[int]:
        """The offset after the last record of each partition."""
        return [self._end(place) for place in self._places]

    def _end(self, place: TopicPartition) -> int:
        """Asked again for a while: a broker that gets no processor may lose its leadership for a moment."""
        deadline = time.monotonic() + LEADER_SECONDS
        while True:
            try:
                return int(self._consumer.get_watermark_offsets(place, timeout=10)[1])
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def __enter__(self) -> Ends:
        return self

    def __exit__(self, *error: object) -> None:
        self._consumer.close()
