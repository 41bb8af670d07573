"""What an engine's output topic must hold in the end, and what of it is not there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from harness.topics import PARTITIONS, Ends

Rows = Iterator[tuple[bytes, dict[str, Any]]]
"""Keys and values of an output topic from its beginning."""


@dataclass(frozen=True, slots=True)
class Output:
    """`expected` rows a group; `held` counts those of an output topic in the same way."""

    expected: Counter[str]
    held: Callable[[Rows], Counter[str]]
    coalesced: bool = False
    """An engine may write one record for several rows: only reading the topic tells whether it is complete."""

    def wrong(self, uris: str, topic: str) -> int:
        """How many of the expected rows are not there or are in another group, and how many are there too often."""
        held = self.held(rows(uris, topic))
        return max((self.expected - held).total(), (held - self.expected).total())


def last_counts(group: str, number: str) -> Callable[[Rows], Counter[str]]:
    """For a topic of counts: the last one of each group."""

    def held(found: Rows) -> Counter[str]:
        last = dict(found)
        return Counter({row[group]: int(row[number]) for row in last.values()})

    return held


def tally(*columns: str) -> Callable[[Rows], Counter[str]]:
    """For a topic of joined rows: how many there are of each `columns`, which are written with blanks between."""
    return lambda found: Counter(" ".join(str(row[column]) for column in columns) for _, row in found)


def rows(uris: str, topic: str) -> Rows:
    """Everything that is in the topic now."""
    consumer = Consumer({"bootstrap.servers": uris, "group.id": "bench-outputs", "enable.auto.commit": False})
    with Ends(uris, topic) as ends:
        left = sum(ends.now())
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(PARTITIONS)])
    while left > 0:
        messages = consumer.consume(10_000, timeout=1)
        left -= len(messages)
        yield from ((m.key(), json.loads(m.value())) for m in messages if not m.error())
    consumer.close()
