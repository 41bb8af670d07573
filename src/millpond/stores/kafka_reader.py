"""Following topics of a Kafka broker without a consumer group."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from millpond.stores.protocol import Offsets, Record

log = logging.getLogger(__name__)

LOW_LATENCY: dict[str, Any] = {
    # Assigned by hand, nothing is ever committed: the id is only there because librdkafka wants one.
    "group.id": "millpond-reader",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",
    "enable.partition.eof": True,
    # The broker answers as soon as one byte is there; the wait only bounds how late a partition that is added
    # while a fetch is out joins the next one.
    "fetch.min.bytes": 1,
    "fetch.wait.max.ms": 100,
    # After an error or a full queue librdkafka pauses for this long: its defaults are 500 and 1000 ms.
    "fetch.error.backoff.ms": 50,
    "fetch.queue.backoff.ms": 5,
    # Bytes fetched ahead for each consumer. Less starves a rebuild, more is only memory.
    "queued.max.messages.kbytes": 16384,
    "allow.auto.create.topics": False,
    "check.crcs": False,
}


class KafkaReader:
    """A `Reader` on one librdkafka consumer."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._consumer = Consumer({**config, **LOW_LATENCY})
        self._next: dict[tuple[str, int], int] = {}
        self._closed = False

    def add(self, topic: str, offsets: Offsets) -> None:
        there = [TopicPartition(topic, p) for p in offsets if (topic, p) in self._next]
        if there:
            self._consumer.incremental_unassign(there)
        self._next.update({(topic, p): offset for p, offset in offsets.items()})
        self._consumer.incremental_assign([TopicPartition(topic, p, o) for p, o in offsets.items()])

    def remove(self, topic: str) -> None:
        gone = [key for key in self._next if key[0] == topic]
        for key in gone:
            del self._next[key]
        self._consumer.incremental_unassign([TopicPartition(*key) for key in gone])

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        if self._closed:
            return []
        first = self._consumer.poll(timeout)
        if first is None:
            return []
        return self._records([first, *self._consumer.consume(max_records - 1, 0)] if max_records > 1 else [first])

    def positions(self, topic: str) -> dict[int, int]:
        return {p: offset for (t, p), offset in self._next.items() if t == topic}

    def ends(self, topic: str) -> dict[int, int]:
        found = {}
        for partition in self.positions(topic):
            try:
                end = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), cached=True)[1]
            except KafkaException:
                continue
            if end >= 0:
                found[partition] = end
        return found

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._consumer.close()

    def _records(self, messages: list[Message]) -> list[Record]:
        followed = self._next
        records = []
        for message in messages:
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            error = message.error()
            if error is not None:
                self._pass(error, (topic, partition), offset)
            elif (topic, partition) in followed:
                followed[topic, partition] = offset + 1
                records.append(
                    Record(
                        topic,
                        partition,
                        offset,
                        message.timestamp()[1],
                        message.key(),
                        message.value(),
                        message.headers() or (),
                    )
                )
        return records

    def _pass(self, error: KafkaError, key: tuple[str | None, int | None], offset: int | None) -> None:
        """An event that is no record: the end of a partition, or a trouble that passes by itself."""
        if error.code() == KafkaError._PARTITION_EOF:
            if key in self._next and offset is not None:
                self._next[key] = max(self._next[key], offset)
        else:
            log.debug("reading %s: %s", key[0], error)
