"""A stream in batches whose ends can be written down, and which come out the same when they are read again.

A position is plain data for a checkpoint: `{shard id: {"seq": ..., "count": ..., "closed": ...}}`. `seq` is the
sequence number of the last record read (empty: none), `count` the records read from the shard since the query began,
`closed` whether it has been read to its end. A record's `offset` is its number in its shard in this count: stable when
a batch is repeated, and growing, although Kinesis' own numbers do not fit into a BIGINT.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from millpond.clock import now_ms
from millpond.errors import MillpondError
from millpond.stores.kinesis_client import kinesis_client, kinesis_settings
from millpond.stores.kinesis_errors import named, passes
from millpond.stores.kinesis_follower import StreamFollower
from millpond.stores.kinesis_reader import place_at
from millpond.stores.kinesis_shards import Place, Shard, ShardCursor, ShardRecord, backoff, list_shards, shard_number

Position: TypeAlias = dict[str, dict[str, Any]]

BATCH_ROWS = 50_000
"""Rows of a batch unless a query says fewer: they pass through the memory of one process."""
BATCH_BYTES = 32 << 20
BATCH_SECONDS = 1.0
"""How long a batch is filled while there is more: longer is later, shorter makes batches of little."""
LIST_PATIENCE_SECONDS = 30.0
"""How long a list of shards is asked for again: a store that is away for longer is the query's trouble."""
STUCK_SECONDS = 120.0
"""Reading a batch again gives up after so long without a record."""


class BatchRecord(NamedTuple):
    """A record, and its number in its shard."""

    shard: int
    offset: int
    record: ShardRecord


@dataclass(frozen=True, slots=True)
class Batch:
    records: list[BatchRecord]
    end: Position


@dataclass(frozen=True, slots=True)
class Progress:
    """At epoch millisecond `at` the oldest record that was still to be read was `behind_ms` old; 0: none was left."""

    at: int
    behind_ms: int

    @property
    def read_until(self) -> int:
        """All that had arrived by this epoch millisecond has been read."""
        return self.at - self.behind_ms


class BatchReader:
    """Reads `stream` of the store with these `properties`. Errors have names. Not for two threads at once.

    With `to_tip` a batch goes as far as the stream does, however much that is: what others are joined with. Each
    shard is asked anew for it, so that what was written before `next` was called is in it.
    """

    def __init__(
        self, properties: Mapping[str, str], stream: str, max_rows: int = BATCH_ROWS, to_tip: bool = False
    ) -> None:
        settings = kinesis_settings(properties)
        self.store, self.stream, self.max_rows = settings.place, stream, max_rows
        self.to_tip = to_tip
        self.client = kinesis_client(settings)
        self.until_ms: int | None = None
        """Set: `next` waits for records, and has no more once all is read that had arrived by then."""
        self._follower: StreamFollower | None = None
        self._reached: Position | None = None

    def next(self, start: Position) -> Batch:
        """The next records behind `start`: what is there now, perhaps nothing, at the pace that Kinesis allows."""
        follower = self._at(start)
        records: list[BatchRecord] = []
        size, began = 0, time.monotonic()
        while (self.to_tip or (len(records) < self.max_rows and size < BATCH_BYTES)) and not self._all_read(follower):
            counts = {shard_id: place.count for shard_id, place in follower.places.items()}
            most = BATCH_ROWS if self.to_tip else self.max_rows - len(records)
            for shard, found in self._fetch(follower, most):
                base = counts.get(shard.id, 0)
                records += [BatchRecord(shard.number, base + n, record) for n, record in enumerate(found)]
                size += sum(len(record.data) for record in found)
            if self._enough(follower, bool(records), began):
                break
            time.sleep(min(follower.wait_seconds(), 0.2))
        # A shard that has come or ended is no news of its own: written down with the next record.
        end = position(follower.places) if records else start
        self._reached = end
        return Batch(records, end)

    def between(self, start: Position, end: Position) -> Iterator[BatchRecord]:
        """The records of a batch once more. Raises STREAM_RECORDS_LOST if they are not retained any more."""
        shards = {shard.id: shard for shard in self._shards()}
        for shard_id in sorted(end, key=shard_number):
            first, last = start.get(shard_id, {}).get("count", 0), end[shard_id]["count"]
            if last > first:
                place = places(start).get(shard_id, Place())
                yield from self._again(shards.get(shard_id), shard_id, replace(place), last - first)

    def _shards(self) -> list[Shard]:
        """All shards; what passes, a throttled call or a lost connection, is waited for."""
        deadline = time.monotonic() + LIST_PATIENCE_SECONDS
        failures = 0
        while True:
            try:
                return list_shards(self.client, self.stream)
            except Exception as error:
                if not passes(error) or time.monotonic() > deadline:
                    raise named(error, self.store, self.stream) from error
            failures += 1
            time.sleep(backoff(failures))

    def progress(self) -> Progress | None:
        """How far `next` has read; None before Kinesis has told for every shard."""
        follower = self._follower
        behind = follower.behind_ms() if follower and follower.has_answered() else None
        return None if behind is None else Progress(now_ms(), behind)

    def close(self) -> None:
        if self._follower:
            self._follower.close()
        self.client.close()

    def _at(self, start: Position) -> StreamFollower:
        """The follower that stands at `start`: that of the last batch, or a new one."""
        if self._follower is None or start != self._reached:
            if self._follower:
                self._follower.close()
            self._follower = StreamFollower(self.client, self.stream, places(start))
            self._reached = start
        return self._follower

    def _fetch(self, follower: StreamFollower, most: int) -> list[tuple[Shard, list[ShardRecord]]]:
        try:
            found = follower.fetch(most)
        except Exception as error:
            raise named(error, self.store, self.stream) from error
        if follower.moved_to_first():
            raise MillpondError("STREAM_RECORDS_LOST", topic=self.stream, shard=follower.moved_to_first()[0])
        return found

    def _all_read(self, follower: StreamFollower) -> bool:
        """Whether everything is read that had arrived at `until_ms`."""
        behind = follower.behind_ms()
        reached = self.until_ms is not None and behind is not None and follower.knows_all()
        return reached and time.time() * 1000 - (behind or 0) >= (self.until_ms or 0)

    def _enough(self, follower: StreamFollower, any_records: bool, began: float) -> bool:
        if self.to_tip:
            return self.until_ms is None and follower.at_tip(began)
        seconds = time.monotonic() - began
        if self.until_ms is not None:
            return any_records and seconds > BATCH_SECONDS
        return seconds > BATCH_SECONDS or follower.wait_seconds() > 0

    def _again(self, shard: Shard | None, shard_id: str, place: Place, count: int) -> Iterator[BatchRecord]:
        if shard is None:
            raise MillpondError("STREAM_RECORDS_LOST", topic=self.stream, shard=shard_id)
        cursor = ShardCursor(self.client, self.stream, shard, place)
        given, deadline = 0, time.monotonic() + STUCK_SECONDS
        while given < count:
            base = cursor.place.count
            found = self._fetched(cursor, count - given)
            if cursor.moved_to_first or (cursor.place.ended and given + len(found) < count):
                raise MillpondError("STREAM_RECORDS_LOST", topic=self.stream, shard=shard_id)
            for n, record in enumerate(found[: count - given]):
                yield BatchRecord(shard.number, base + n, record)
            given += len(found)
            deadline = time.monotonic() + STUCK_SECONDS if found else deadline
            if time.monotonic() > deadline:
                raise MillpondError("STORE_UNREACHABLE", store=self.store, reason="a batch cannot be read again")
            time.sleep(max(0.0, min(cursor.due - time.monotonic(), 1.0)) if given < count else 0)

    def _fetched(self, cursor: ShardCursor, most: int) -> list[ShardRecord]:
        try:
            return cursor.fetch(most)
        except Exception as error:
            raise named(error, self.store, self.stream) from error


def position(found: Mapping[str, Place]) -> Position:
    """Places as plain data, in the order of shards."""
    ordered = sorted(found, key=shard_number)
    return {s: {"seq": found[s].after, "count": found[s].count, "closed": found[s].ended} for s in ordered}


def places(start: Position) -> dict[str, Place]:
    """The places that a position says."""
    return {s: Place(str(p["seq"]), int(p["count"]), bool(p["closed"])) for s, p in start.items()}


def first_position(starting_offsets: str) -> Position:
    """Where a query begins: 'earliest', or JSON as Spark's Kafka source takes it, {stream: {shard number: next}}."""
    if starting_offsets == "earliest":
        return {}
    (offsets,) = json.loads(starting_offsets).values()
    return position({f"shardId-{int(n):012d}": place_at(int(offset)) for n, offset in offsets.items()})


def progress_file(folder: Path, scan: int) -> Path:
    """Beside a query's checkpoint: how far the scan with this number is."""
    return folder / f"millpond-scan-{scan}.json"


def note_progress(path: Path, told: Progress) -> None:
    """Write for the server how far behind a source is: Kinesis tells that in time, not in rows."""
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps({"at": told.at, "behind_ms": told.behind_ms}))
    scratch.replace(path)


def noted_progress(path: Path) -> Progress | None:
    """What was written last; None: nothing yet."""
    try:
        told = json.loads(path.read_text())
        return Progress(int(told["at"]), int(told["behind_ms"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
