"""Writes records to a stream: in batches, what failed again, each key's records one after the other."""

from __future__ import annotations

import hashlib
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from millpond.errors import MillpondError
from millpond.stores.kinesis_errors import is_lost_connection, named, passes
from millpond.stores.kinesis_shards import backoff

BATCH_RECORDS, BATCH_BYTES = 500, 5 << 20
RECORD_BYTES = 1 << 20
"""Of a record's data and key: what every stream takes."""
LONGEST_KEY = 256
TAKEN_AHEAD = 4_000
"""Records that wait in memory: more keys to a batch where some keys are frequent."""
SETTLE_SECONDS = 1.0
"""After a lost connection, before the stream is asked what arrived: what was on its way has landed by then."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record to be written. `number`: its place among those given."""

    number: int
    key: str
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data) + len(self.key.encode())


Written = tuple[str, str]
"""Where a record lies: shard id and sequence number."""
Landed = Callable[[], Counter[tuple[str, bytes]]]
"""(partition key, data) of the records that the stream holds since the last that is known to be written."""


def partition_key(key: bytes | None, value: bytes | None) -> str:
    """The partition key of a row: its key if that is text of 1 to 256 characters, else the key's SHA-256 in hex.

    Without a key it is the first half of the value's SHA-256: rows spread, and a replay writes the same.
    """
    if not key:
        return hashlib.sha256(value or b"").hexdigest()[:32]
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text = ""
    return text if 0 < len(text) <= LONGEST_KEY else hashlib.sha256(key).hexdigest()


class StreamWriter:
    """Writes to one stream. A key's next record goes only when its last one is written: so their order stays.

    `landed` says after a lost connection what has arrived; without it such a write fails as STORE_UNREACHABLE.
    """

    def __init__(self, client: Any, stream: str, store: str, timeout: float, landed: Landed | None = None) -> None:
        self.client, self.stream, self.store, self.timeout, self.landed = client, stream, store, timeout, landed
        self._waiting: dict[str, deque[Outgoing]] = {}
        self._ready: deque[str] = deque()
        self._count = 0
        self._failures = 0

    def write(self, records: Iterable[tuple[str, bytes]]) -> Iterator[tuple[int, Written]]:
        """Write (partition key, data) pairs; of each its place among those given and where it lies, as it is written.

        Raises RECORD_REFUSED, TOPIC_NOT_FOUND, STORE_UNREACHABLE (nothing more was written for `timeout` seconds).
        """
        progress = time.monotonic()
        source = enumerate(records)
        while True:
            self._take(source)
            if not self._count:
                return
            for done in self._send(self._batch()):
                progress = time.monotonic()
                yield done
            if self._failures:
                if time.monotonic() - progress > self.timeout:
                    raise MillpondError("STORE_UNREACHABLE", store=self.store, reason="it takes no records")
                time.sleep(backoff(self._failures))

    def _take(self, source: Iterator[tuple[int, tuple[str, bytes]]]) -> None:
        while self._count < TAKEN_AHEAD and (found := next(source, None)) is not None:
            record = Outgoing(found[0], *found[1])
            if record.size > RECORD_BYTES:
                reason = f"it has {record.size:,} bytes with its key, more than {RECORD_BYTES:,}"
                raise MillpondError("RECORD_REFUSED", topic=self.stream, reason=reason)
            queue = self._waiting.setdefault(record.key, deque())
            if not queue:
                self._ready.append(record.key)
            queue.append(record)
            self._count += 1

    def _batch(self) -> list[Outgoing]:
        """The first records of as many keys as a call takes."""
        batch: list[Outgoing] = []
        size = 0
        while self._ready and len(batch) < BATCH_RECORDS:
            head = self._waiting[self._ready[0]][0]
            size += head.size
            if batch and size > BATCH_BYTES:
                break
            batch.append(head)
            self._ready.popleft()
        return batch

    def _send(self, batch: list[Outgoing]) -> list[tuple[int, Written]]:
        written: list[tuple[int, Written]] = []
        try:
            wanted = [{"Data": r.data, "PartitionKey": r.key} for r in batch]
            outcomes = self.client.put_records(StreamName=self.stream, Records=wanted)["Records"]
            written = [
                (record.number, (outcome["ShardId"], outcome["SequenceNumber"]))
                for record, outcome in zip(batch, outcomes, strict=True)
                if not outcome.get("ErrorCode")
            ]
        except Exception as error:  # noqa: BLE001 - boto's errors have no common ground
            if not passes(error):
                raise named(error, self.store, self.stream) from None
            if is_lost_connection(error) and not _never_sent(error):
                written = self._find(batch, error)
        self._done(batch, {number for number, _ in written})
        return written

    def _done(self, batch: list[Outgoing], written: set[int]) -> None:
        """What is written makes room for its key's next; what is not goes first with the next call."""
        again = []
        for record in batch:
            if record.number not in written:
                again.append(record.key)
                continue
            self._count -= 1
            queue = self._waiting[record.key]
            queue.popleft()
            if queue:
                self._ready.append(record.key)
            else:
                del self._waiting[record.key]
        self._ready.extendleft(reversed(again))
        self._failures = self._failures + 1 if again else 0

    def _find(self, batch: list[Outgoing], error: Exception) -> list[tuple[int, Written]]:
        """Which records of a batch without an answer have arrived nevertheless."""
        if self.landed is None:
            raise named(error, self.store, self.stream) from None
        time.sleep(SETTLE_SECONDS)
        there = self.landed()
        found = []
        for record in batch:
            if there[record.key, record.data] > 0:
                there[record.key, record.data] -= 1
                found.append((record.number, ("", "")))
        return found


def _never_sent(error: Exception) -> bool:
    """Whether the connection was not even made."""
    from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError

    return isinstance(error, EndpointConnectionError | ConnectTimeoutError)
