"""A `Reader` of Kinesis streams: partitions are shard numbers, offsets are sequence numbers."""

from __future__ import annotations

import threading
import time
from typing import Any

from millpond.stores.kinesis_errors import NOT_THERE, code_of, named
from millpond.stores.kinesis_follower import StreamFollower
from millpond.stores.kinesis_shards import Place, ShardRecord, shard_number
from millpond.stores.protocol import Offsets, Record

LONGEST_NAP = 0.1
"""A reader that waits looks this often whether it was closed."""


class KinesisReader:
    """Follows streams from next offsets (0: the first record that is retained), and the shards that come after them.

    Shards that split or merge are followed into their children, although those were not named.
    """

    def __init__(self, client: Any, store: str) -> None:
        self.client, self.store = client, store
        self._followers: dict[str, StreamFollower] = {}
        self._starts: dict[str, Offsets] = {}
        self._kept: list[Record] = []
        self._closed = threading.Event()

    def add(self, topic: str, offsets: Offsets) -> None:
        places = {_shard_id(p): place_at(offset) for p, offset in offsets.items()}
        known = self._followers.pop(topic, None)
        if known is not None:
            places = {**known.places, **places}
            known.close()
        self._starts[topic] = {**self._starts.get(topic, {}), **offsets}
        self._followers[topic] = StreamFollower(self.client, topic, places)

    def remove(self, topic: str) -> None:
        follower = self._followers.pop(topic, None)
        if follower is not None:
            follower.close()
        self._starts.pop(topic, None)
        self._kept = [r for r in self._kept if r.topic != topic]

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        deadline = time.monotonic() + timeout
        while not self._closed.is_set():
            if not self._kept:
                self._fetch(max_records)
            if self._kept:
                given, self._kept = self._kept[:max_records], self._kept[max_records:]
                return given
            left = deadline - time.monotonic()
            if left <= 0:
                return []
            nap = min([left, LONGEST_NAP, *(f.wait_seconds() for f in self._followers.values())])
            self._closed.wait(max(nap, 0.005))
        return []

    def positions(self, topic: str) -> dict[int, int]:
        follower = self._followers.get(topic)
        if follower is None:
            return {}
        waiting: dict[int, int] = {}
        for record in self._kept:
            if record.topic == topic:
                waiting.setdefault(record.partition, record.offset)
        reached = {shard_number(shard_id): offset_of(place) for shard_id, place in follower.places.items()}
        return {**self._starts.get(topic, {}), **reached, **waiting}

    def ends(self, topic: str) -> dict[int, int]:
        """Kinesis tells no end: at its tip a stream ends where it has been read to, before that nothing is known."""
        follower = self._followers.get(topic)
        return self.positions(topic) if follower is not None and follower.at_tip() and not self._kept else {}

    def close(self) -> None:
        self._closed.set()
        for follower in self._followers.values():
            follower.close()

    def _fetch(self, most: int) -> None:
        for topic, follower in self._followers.items():
            try:
                found = follower.fetch(most)
            except Exception as error:  # noqa: BLE001 - boto's errors have no common ground
                if code_of(error) == NOT_THERE:  # deleted; it may be made anew
                    follower.look_again()
                    self._closed.wait(LONGEST_NAP)
                    continue
                raise named(error, self.store, topic) from None
            for shard, records in found:
                self._kept += [to_record(topic, shard.number, record) for record in records]


def to_record(topic: str, number: int, record: ShardRecord) -> Record:
    """A shard's record as a log has it: empty data is a null value, which deletes."""
    key = record.partition_key.encode()
    return Record(topic, number, int(record.sequence), record.arrived, key, record.data or None)


def place_at(offset: int) -> Place:
    """Where a reader of next offset `offset` begins."""
    return Place(str(offset - 1) if offset > 0 else "")


def offset_of(place: Place) -> int:
    """The next offset at a place."""
    return int(place.after) + 1 if place.after else 0


def _shard_id(number: int) -> str:
    return f"shardId-{number:012d}"
