"""The shards of a stream, and how one is read: iterators, pace, faults that pass."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from millpond.clock import now_ms
from millpond.stores.kinesis_aggregated import unpack
from millpond.stores.kinesis_errors import BAD_ARGUMENT, EXPIRED_ITERATOR, NOT_THERE, code_of, passes

PAUSE_SECONDS = 0.2
"""Between two GetRecords of a shard that has more: AWS allows five a second."""
IDLE_PAUSE_SECONDS = 0.4
"""At a shard's tip: two readers fit into what AWS allows. Longer is later, shorter throttles the others."""
LONGEST_BACKOFF_SECONDS = 8.0
MOST_RECORDS = 10_000
"""What one GetRecords gives at most."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard as ListShards tells it. `last`: where it ends; None if it is open, or that is unknown."""

    id: str
    parents: tuple[str, ...]
    first: str
    last: str | None
    closed: bool = False

    @property
    def number(self) -> int:
        return shard_number(self.id)


class ShardRecord(NamedTuple):
    """One record of a shard; those of an aggregate share a sequence number. `arrived`: epoch milliseconds."""

    sequence: str
    partition_key: str
    data: bytes
    arrived: int


def shard_number(shard_id: str) -> int:
    """The number in a shard's id: `shardId-000000000012` is 12."""
    return int(shard_id.rpartition("-")[2])


def list_shards(client: Any, stream: str) -> list[Shard]:
    """All shards that are open or still retained, parents first (a child's number is the larger one)."""
    found: list[Shard] = []
    arguments: dict[str, Any] = {"StreamName": stream}
    while True:
        answer = client.list_shards(**arguments)
        found += [_shard(raw) for raw in answer["Shards"]]
        if not answer.get("NextToken"):
            return sorted(found, key=lambda shard: shard.number)
        arguments = {"NextToken": answer["NextToken"]}


def _shard(raw: Mapping[str, Any]) -> Shard:
    parents = (raw.get("ParentShardId"), raw.get("AdjacentParentShardId"))
    span = raw["SequenceNumberRange"]
    first, last = span["StartingSequenceNumber"], span.get("EndingSequenceNumber")
    # kinesis-local says 2^63 - 1 of every shard that was closed, which lies far before all of its records.
    known = last if last is not None and int(last) >= int(first) else None
    return Shard(raw["ShardId"], tuple(p for p in parents if p), first, known, closed=last is not None)


def readable(shards: Iterable[Shard], ended: Callable[[str], bool]) -> list[Shard]:
    """The shards that may be read now: not read to their end yet, and all parents that are still there are."""
    there = list(shards)
    ids = {shard.id for shard in there}
    return [s for s in there if not ended(s.id) and all(p not in ids or ended(p) for p in s.parents)]


@dataclass(slots=True)
class Place:
    """Where reading a shard goes on: behind `after`, a record's sequence number; empty: at what is retained.

    `count`: records read before, since reading began. `ended`: the shard is closed and has been read to its end.
    """

    after: str = ""
    count: int = 0
    ended: bool = False


class ShardCursor:
    """Reads one shard, no quicker than Kinesis allows. Not for two threads at once."""

    def __init__(
        self, client: Any, stream: str, shard: Shard, place: Place, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.client, self.stream, self.shard, self.place, self.clock = client, stream, shard, place, clock
        self.due = 0.0
        """Not before this moment of `clock` the next call."""
        self.behind_ms: int | None = None
        """How old the record is that is read next, as of the last answer; 0 at the tip; None before the first."""
        self.more = False
        """Whether the last answer had as many records as were asked for: then its `behind_ms` may say too little."""
        self.asked = -math.inf
        """When, by `clock`, the last call began that was answered."""
        self.failures = 0
        self.moved_to_first = False
        """The place was not there any more: reading went on at the first record that is retained."""
        self._iterator = ""

    def fetch(self, most: int = MOST_RECORDS) -> list[ShardRecord]:
        """The next records, perhaps none: also if a fault passes by itself, which makes the next call later.

        Raises what does not pass: botocore's errors, for `kinesis_errors.named`.
        """
        limit, asked = min(most, MOST_RECORDS), self.clock()
        try:
            answer = self._ask(limit)
        except Exception as error:
            if code_of(error) == EXPIRED_ITERATOR:
                self._iterator = ""
                return []
            if not passes(error):
                raise
            self.failures += 1
            self.due = self.clock() + backoff(self.failures)
            return []
        self.failures, self.asked = 0, asked
        return self._taken(answer, limit)

    def _ask(self, most: int) -> Mapping[str, Any]:
        if not self._iterator:
            self._iterator = self._open()
        answer: Mapping[str, Any] = self.client.get_records(ShardIterator=self._iterator, Limit=most)
        return answer

    def _taken(self, answer: Mapping[str, Any], limit: int) -> list[ShardRecord]:
        records: list[ShardRecord] = []
        for raw in answer["Records"]:
            arrived = int(raw["ApproximateArrivalTimestamp"].timestamp() * 1000)
            unpacked = unpack(raw["PartitionKey"], raw["Data"])
            records += [ShardRecord(raw["SequenceNumber"], key, data, arrived) for key, data in unpacked]
            self.place.after = raw["SequenceNumber"]
        self.place.count += len(records)
        # As many as were asked for: there may be more, also if the last one arrived in the same millisecond.
        self.more = full = len(answer["Records"]) >= limit
        age = now_ms() - records[-1].arrived + 1 if full and records else 0
        self.behind_ms = max(int(answer.get("MillisBehindLatest") or 0), age, int(full))
        self._iterator = answer.get("NextShardIterator") or ""
        at_tip = not records and self.behind_ms == 0
        # Emulators: one hands out iterators of a closed shard for ever, so at its tip it has ended, too; another hands
        # out none although a full answer has left something, so then we look once more.
        self.place.ended = (not self._iterator and not full) or (at_tip and self.shard.closed)
        self.due = self.clock() + (IDLE_PAUSE_SECONDS if at_tip else PAUSE_SECONDS)
        return records

    def _open(self) -> str:
        """An iterator at the place. One that is not there any more is replaced by what is retained."""
        after = self.place.after
        if not after:
            return self._iterator_at("TRIM_HORIZON")
        try:
            return self._iterator_at("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=after)
        except Exception as error:
            if code_of(error) not in (NOT_THERE, *BAD_ARGUMENT):
                raise
        try:  # a place that was chosen by time lies just before a record, not on one
            following = str(int(after) + 1)
            return self._iterator_at("AT_SEQUENCE_NUMBER", StartingSequenceNumber=following)
        except Exception as error:
            if code_of(error) not in (NOT_THERE, *BAD_ARGUMENT):
                raise
        iterator = self._iterator_at("TRIM_HORIZON")
        self.moved_to_first, self.place.after = True, ""
        return iterator

    def _iterator_at(self, kind: str, **where: Any) -> str:
        arguments = {"StreamName": self.stream, "ShardId": self.shard.id, "ShardIteratorType": kind, **where}
        return str(self.client.get_shard_iterator(**arguments)["ShardIterator"])


def backoff(failures: int) -> float:
    """Seconds to wait after so many failures in a row: doubling, with jitter, so that readers do not march in step."""
    return float(min(PAUSE_SECONDS * 2**failures, LONGEST_BACKOFF_SECONDS) * random.uniform(0.5, 1))
