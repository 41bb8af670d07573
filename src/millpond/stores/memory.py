"""The memory twin of Kafka: topics in lists, for tests that take milliseconds."""

from __future__ import annotations

import itertools
import threading
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from millpond.clock import now_ms
from millpond.errors import MillpondError
from millpond.stores.protocol import NewRecord, Offsets, Record, TopicDescription

_topic_ids = itertools.count(1)


@dataclass(slots=True)
class MemoryPartition:
    """Records in offset order (with gaps after compaction); `end` is the next offset."""

    records: list[Record] = field(default_factory=list)
    first: int = 0
    end: int = 0


@dataclass(slots=True)
class MemoryTopic:
    partitions: list[MemoryPartition]
    replicas: int
    config: dict[str, str]
    id: str


class MemoryLog:
    """A `Log` that lives as long as the object. It can also compact, truncate and play dead."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.topics_by_name: dict[str, MemoryTopic] = {}
        self.away = False
        """While set, the store does as if it could not be reached."""

    def check(self) -> None:
        self._check()

    def topics(self) -> list[str]:
        self._check()
        return sorted(self.topics_by_name)

    def describe(self, topic: str) -> TopicDescription:
        found = self._topic(topic)
        return TopicDescription(topic, len(found.partitions), found.replicas, dict(found.config), found.id)

    def create(
        self, topic: str, partitions: int = 1, replicas: int = 1, config: Mapping[str, str] | None = None
    ) -> bool:
        self._check()
        if not topic or partitions < 1:
            raise MillpondError("TOPIC_REFUSED", topic=topic, reason="it needs a name and a partition")
        there = self.topics_by_name.get(topic)
        if there is None:
            made = [MemoryPartition() for _ in range(partitions)]
            self.topics_by_name[topic] = MemoryTopic(made, max(replicas, 1), dict(config or {}), str(next(_topic_ids)))
        elif len(there.partitions) != partitions:
            raise MillpondError("TOPIC_EXISTS_DIFFERENTLY", topic=topic, there=len(there.partitions), wanted=partitions)
        return there is None

    def alter(self, topic: str, partitions: int | None = None, config: Mapping[str, str] | None = None) -> None:
        with self.changed:
            found = self._topic(topic)
            more = (partitions or len(found.partitions)) - len(found.partitions)
            if more < 0:
                raise MillpondError("TOPIC_REFUSED", topic=topic, reason="a topic cannot lose partitions")
            found.partitions += [MemoryPartition() for _ in range(more)]
            found.config |= dict(config or {})

    def delete(self, topic: str) -> None:
        self._topic(topic)
        del self.topics_by_name[topic]

    def first_offsets(self, topic: str) -> dict[int, int]:
        return {p: part.first for p, part in enumerate(self._topic(topic).partitions)}

    def end_offsets(self, topic: str) -> dict[int, int]:
        return {p: part.end for p, part in enumerate(self._topic(topic).partitions)}

    def offsets_at(self, topic: str, timestamp: int) -> dict[int, int]:
        return {
            p: next((r.offset for r in part.records if r.timestamp >= timestamp), part.end)
            for p, part in enumerate(self._topic(topic).partitions)
        }

    def produce(self, topic: str, records: Iterable[NewRecord]) -> list[tuple[int, int]]:
        with self.changed:
            found = self._topic(topic)
            written = [self._append(topic, found, new) for new in records]
            self.changed.notify_all()
        return written

    def reader(self) -> MemoryReader:
        return MemoryReader(self)

    def read(self, topic: str, offsets: Offsets) -> MemoryReader:
        reader = MemoryReader(self)
        reader.add(topic, offsets)
        return reader

    def close(self) -> None:
        """Nothing to let go of."""

    def compact(self, topic: str, *, tombstones: bool = False, keep_last: int = 1) -> None:
        """Drop all but the last record of each key; with `tombstones`, deletes as well.

        The last `keep_last` offsets stay, as Kafka's open segment does.
        """
        with self.changed:
            for part in self._topic(topic).partitions:
                last = {r.key: r.offset for r in part.records}
                part.records = [
                    r
                    for r in part.records
                    if r.offset >= part.end - keep_last
                    or (last[r.key] == r.offset and not (tombstones and r.value is None))
                ]

    def truncate(self, topic: str, partition: int, before: int) -> None:
        """Delete the records of a partition before an offset, as retention does."""
        with self.changed:
            part = self._topic(topic).partitions[partition]
            part.records = [r for r in part.records if r.offset >= before]
            part.first = max(part.first, before)

    def _append(self, topic: str, found: MemoryTopic, new: NewRecord) -> tuple[int, int]:
        number = new.partition
        if number is None:
            number = zlib.crc32(new.key or b"") % len(found.partitions)
        part = found.partitions[number]
        stamp = now_ms() if new.timestamp is None else new.timestamp
        part.records.append(Record(topic, number, part.end, stamp, new.key, new.value, tuple(new.headers)))
        part.end += 1
        return number, part.end - 1

    def _topic(self, name: str) -> MemoryTopic:
        self._check()
        if name not in self.topics_by_name:
            raise MillpondError("TOPIC_NOT_FOUND", topic=name, store="memory")
        return self.topics_by_name[name]

    def _check(self) -> None:
        if self.away:
            raise MillpondError("STORE_UNREACHABLE", store="memory", reason="it is away")


class MemoryReader:
    """A `Reader` of a `MemoryLog`."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log
        self._next: dict[tuple[str, int], int] = {}
        self._closed = False

    def add(self, topic: str, offsets: Offsets) -> None:
        self._next.update({(topic, p): offset for p, offset in offsets.items()})

    def remove(self, topic: str) -> None:
        self._next = {k: v for k, v in self._next.items() if k[0] != topic}

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        deadline = time.monotonic() + timeout
        with self._log.changed:
            while not (found := self._take(max_records)) and not self._closed:
                left = deadline - time.monotonic()
                if left <= 0 or not self._log.changed.wait(left):
                    return self._take(max_records)
        return found

    def positions(self, topic: str) -> dict[int, int]:
        return {p: offset for (t, p), offset in self._next.items() if t == topic}

    def ends(self, topic: str) -> dict[int, int]:
        found = self._log.topics_by_name.get(topic)
        mine = self.positions(topic)
        return {p: part.end for p, part in enumerate(found.partitions) if p in mine} if found else {}

    def close(self) -> None:
        with self._log.changed:
            self._closed = True
            self._log.changed.notify_all()

    def _take(self, max_records: int) -> list[Record]:
        taken: list[Record] = []
        if self._log.away or self._closed:
            return taken
        for (topic, number), offset in self._next.items():
            found = self._log.topics_by_name.get(topic)
            if found is None:
                continue
            part = found.partitions[number]
            start = offset if part.first <= offset <= part.end else part.first
            new = [r for r in part.records[-(part.end - start) :] if r.offset >= start] if start < part.end else []
            new = new[: max_records - len(taken)]
            taken += new
            cut = new and new[-1].offset != part.records[-1].offset
            if len(taken) >= max_records:
                self._next[topic, number] = new[-1].offset + 1 if new else start
            else:
                self._next[topic, number] = new[-1].offset + 1 if cut else part.end
        return taken
