"""Follows a stream through all its shards: parents to their end before their children, whatever is split or merged."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from millpond.stores.kinesis_client import CALLS_AT_ONCE
from millpond.stores.kinesis_errors import passes
from millpond.stores.kinesis_shards import (
    MOST_RECORDS,
    Place,
    Shard,
    ShardCursor,
    ShardRecord,
    backoff,
    list_shards,
    readable,
)

LIST_SECONDS, SOON_LIST_SECONDS = 10.0, 1.0
"""ListShards: now and then, for emulators that do not say that a shard was closed; soon after one has ended."""


class StreamFollower:
    """Reads one stream from `places` (shard id -> place) on; a shard without one from the first that is retained.

    Whoever follows calls `fetch` again and again; nothing happens in between. Not for two threads at once.
    """

    def __init__(
        self,
        client: Any,
        stream: str,
        places: Mapping[str, Place],
        pool: ThreadPoolExecutor | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client, self.stream, self.clock = client, stream, clock
        self.places = dict(places)
        self.shards: list[Shard] = []
        self._cursors: dict[str, ShardCursor] = {}
        self._list_at = 0.0
        self._list_failures = 0
        self._pool = pool or ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="kinesis")

    def fetch(self, most: int) -> list[tuple[Shard, list[ShardRecord]]]:
        """One call to each shard that is due; what they gave, a parent's records before its children's.

        About `most` records altogether. Raises botocore's errors, for `kinesis_errors.named`.
        """
        self._look_for_shards()
        due = [c for c in self._cursors.values() if c.due <= self.clock()]
        if not due:
            return []
        share = max(1, min(most // len(due), MOST_RECORDS))
        calls = [(cursor, self._pool.submit(cursor.fetch, share)) for cursor in due[1:]]
        results = [(due[0].shard, due[0].fetch(share)), *((cursor.shard, call.result()) for cursor, call in calls)]
        if any(cursor.place.ended for cursor in due):
            self._list_at = min(self._list_at, self.clock() + SOON_LIST_SECONDS)
            self._open_cursors()
        return [(shard, records) for shard, records in results if records]

    def wait_seconds(self) -> float:
        """Until the next shard is due."""
        return max(0.0, min([self._list_at, *(c.due for c in self._cursors.values())]) - self.clock())

    def has_answered(self) -> bool:
        """Whether Kinesis has answered for every shard that can be read, and none waits to be found."""
        told = all(c.behind_ms is not None for c in self._cursors.values())
        return bool(self.shards) and not self._pending() and told

    def knows_all(self) -> bool:
        """Whether it has, and has given all that there was."""
        return self.has_answered() and not any(c.more for c in self._cursors.values())

    def at_tip(self, since: float = -math.inf) -> bool:
        """Whether every shard that can be read has been read as far as Kinesis has told last, not before `since`."""
        fresh = all(c.asked >= since for c in self._cursors.values())
        return fresh and self.knows_all() and self.behind_ms() == 0

    def behind_ms(self) -> int | None:
        """The age of the oldest record that is still to be read, as Kinesis has told last; None: not known yet."""
        known = [c.behind_ms for c in self._cursors.values()]
        if not known and self.shards and not self._pending():
            return 0
        return max((b for b in known if b is not None), default=None)

    def moved_to_first(self) -> list[str]:
        """Shards whose place was not there any more."""
        return [c.shard.id for c in self._cursors.values() if c.moved_to_first]

    def look_again(self) -> None:
        """List the shards with the next `fetch`."""
        self._list_at = 0.0

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _pending(self) -> bool:
        """Whether children wait for a cursor, or may be there unknown to us: their parent was open when listed."""
        waiting = {s.id for s in readable(self.shards, self._ended)} - self._cursors.keys()
        return bool(waiting) or any(not shard.closed and self._ended(shard.id) for shard in self.shards)

    def _look_for_shards(self) -> None:
        if self.clock() < self._list_at:
            return
        try:
            self.shards = list_shards(self.client, self.stream)
        except Exception as error:
            if not passes(error):
                raise
            self._list_failures += 1
            self._list_at = self.clock() + max(SOON_LIST_SECONDS, backoff(self._list_failures))
            return
        self._list_failures = 0
        self._list_at = self.clock() + LIST_SECONDS
        there = {shard.id: shard for shard in self.shards}
        # Shards that have expired need no place any more; what is not listed cannot be read.
        self.places = {shard_id: place for shard_id, place in self.places.items() if shard_id in there}
        for shard_id, cursor in self._cursors.items():
            cursor.shard = there.get(shard_id, cursor.shard)
        self._open_cursors()

    def _open_cursors(self) -> None:
        """A cursor for each shard that may be read now; none for one that has ended."""
        for shard in self.shards:
            place = self.places.get(shard.id)
            if place and place.after and shard.last is not None and int(place.after) >= int(shard.last):
                place.ended = True
        wanted = {shard.id: shard for shard in readable(self.shards, self._ended)}
        self._cursors = {shard_id: c for shard_id, c in self._cursors.items() if shard_id in wanted}
        for shard_id, shard in wanted.items():
            if shard_id not in self._cursors:
                place = self.places.setdefault(shard_id, Place())
                self._cursors[shard_id] = ShardCursor(self.client, self.stream, shard, place, self.clock)

    def _ended(self, shard_id: str) -> bool:
        place = self.places.get(shard_id)
        return place is not None and place.ended
