"""One reader per topic, however many subscribers."""

from __future__ import annotations

import asyncio
import copy
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from millpond.errors import MillpondError, internal
from millpond.stores.protocol import Log, Reader, Record

log = logging.getLogger(__name__)
T = TypeVar("T")

POLL_RECORDS = 5_000
POLL_SECONDS = 0.2
"""How long a thread that reads may take to notice that nobody listens any more."""
KEPT_RECORDS = 20_000
"""Records of the recent past that a tail keeps: who begins within them needs no reader of its own."""
WAITING_RECORDS = 20_000
"""Records that may wait for a subscriber; one that is slower goes on from the topic with a reader of its own."""
WORKERS = 16


class Batch:
    """Records of one poll. `positions`: next offset per partition behind them."""

    __slots__ = ("_made", "positions", "records")

    def __init__(self, records: list[Record], positions: Mapping[int, int]) -> None:
        self.records = records
        self.positions = positions
        self._made: dict[object, Any] = {}

    def made(self, key: object, make: Callable[[list[Record]], T]) -> T:
        """`make(records)`, made once for all subscribers that ask with the same `key`."""
        if key not in self._made:
            self._made[key] = make(self.records)
        found: T = self._made[key]
        return found


class Tail:
    """Follows one topic from now on for its subscribers. Lives on the event loop; reads in a thread.

    When it cannot read on, its subscribers fail with the reason, and `failed` is told.
    """

    def __init__(
        self, source: Log, topic: str, ends: Mapping[int, int], failed: Callable[[Tail], None] = lambda tail: None
    ) -> None:
        self.source = source
        self.topic = topic
        self._failed = failed
        self._error: MillpondError | None = None
        self.floor = dict(ends)
        """First offset per partition that is still kept."""
        self.reached = dict(ends)
        self.subscribers: set[Follower] = set()
        self._kept: deque[Batch] = deque()
        self._count = 0
        self._stop = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._read, name=f"tail {topic}", daemon=True)
        self._thread.start()

    def covers(self, offsets: Mapping[int, int]) -> bool:
        """Whether everything from `offsets` on is kept or still to come."""
        return all(offsets.get(p, 0) >= floor for p, floor in self.floor.items())

    def join(self, follower: Follower) -> None:
        """Hand everything that is kept, and all that comes, to a follower."""
        for batch in self._kept:
            follower.take(batch)
        if self._error is not None:
            follower.fail(self._error)
        self.subscribers.add(follower)

    def leave(self, follower: Follower) -> None:
        """Hand nothing more to it."""
        self.subscribers.discard(follower)

    def stop(self) -> None:
        """Let the thread end; does not wait for it."""
        self._stop.set()

    def _read(self) -> None:
        """In the thread: what comes goes to the event loop."""
        try:
            with closing(self.source.read(self.topic, self.reached)) as reader:
                self._read_on(reader)
        except Exception as error:  # noqa: BLE001 - whatever it is, the subscribers must not wait for ever
            self._hand(self._fail, internal(error))

    def _read_on(self, reader: Reader) -> None:
        before = dict(self.reached)
        while not self._stop.is_set():
            records = reader.poll(POLL_RECORDS, POLL_SECONDS)
            positions = reader.positions(self.topic)
            if records or positions != before:
                before = positions
                self._hand(self._deliver, Batch(records, positions))

    def _hand(self, call: Callable[[T], None], what: T) -> None:
        try:
            self._loop.call_soon_threadsafe(call, what)
        except RuntimeError as error:
            log.debug("the event loop has gone: %s", error)
            self._stop.set()

    def _fail(self, error: MillpondError) -> None:
        log.warning("the topic %s is followed no longer: %s", self.topic, error.sentence)
        self._error = error
        self._failed(self)
        for follower in tuple(self.subscribers):
            follower.fail(error)

    def _deliver(self, batch: Batch) -> None:
        self.reached = dict(batch.positions)
        self._kept.append(batch)
        self._count += len(batch.records)
        while len(self._kept) > 1 and self._count > KEPT_RECORDS:
            gone = self._kept.popleft()
            self._count -= len(gone.records)
            self.floor = dict(gone.positions)
        for follower in tuple(self.subscribers):
            follower.take(batch)


class Follower:
    """All records of a topic from given offsets on, in order within a partition. Lives on the event loop.

    While it is within what the tail keeps it gets what the tail reads; before that, and whenever it falls
    behind, it reads the topic itself at its own pace.
    """

    def __init__(self, hub: Hub, shared: Shared, tail: Tail, offsets: Mapping[int, int], subject: str) -> None:
        self.next = {p: offsets.get(p, 0) for p in tail.reached}
        """Next offset per partition: moved by whoever takes records from `batches`."""
        self.shared = shared
        self.subject = subject
        self.closed = False
        self._hub = hub
        self._tail = tail
        self._error: MillpondError | None = None
        self._waiting: deque[Batch] = deque()
        self._count = 0
        self._something = asyncio.Event()
        self._overflowed = False

    def take(self, batch: Batch) -> None:
        """Called by the tail."""
        if self._overflowed:
            return
        if self._count + len(batch.records) > WAITING_RECORDS and self._waiting:
            self._overflowed = True
            self._tail.leave(self)
        else:
            self._waiting.append(batch)
            self._count += len(batch.records)
        self._something.set()

    async def batches(self) -> AsyncIterator[Batch]:
        """Batches that may hold records before `next`, which are to be passed over. Ends with `close`.

        Raises SUBSCRIBER_TOO_SLOW if the topic dropped records that were not read yet, and what `fail` was given.
        """
        while not self.closed:
            if not self._tail.covers(self.next):
                async for batch in self._from_topic():
                    yield batch
            self._overflowed = False
            self._tail.join(self)
            try:
                async for batch in self._from_tail():
                    yield batch
            finally:
                self._tail.leave(self)
                self._waiting.clear()
                self._count = 0

    def close(self) -> None:
        """Let go of the tail; `batches` ends."""
        if not self.closed:
            self.closed = True
            self._something.set()
            self._hub.release(self)

    def fail(self, error: MillpondError) -> None:
        """Have `batches` end with an error, once what is there already was taken."""
        self._error = copy.copy(error)  # its own: a traceback grows with each raise
        self._something.set()

    def check(self) -> None:
        """Raises what `fail` was given."""
        if self._error is not None:
            raise self._error

    def pass_(self, batch: Batch) -> None:
        """Note that a batch has been taken, up to where it reaches."""
        for partition, offset in batch.positions.items():
            if offset > self.next.get(partition, 0):
                self.next[partition] = offset

    async def _from_tail(self) -> AsyncIterator[Batch]:
        while not self.closed:
            if self._waiting:
                batch = self._waiting.popleft()
                self._count -= len(batch.records)
                yield batch
                continue
            self.check()
            if self._overflowed:
                return
            self._something.clear()
            await self._something.wait()

    async def _from_topic(self) -> AsyncIterator[Batch]:
        source, topic = self._tail.source, self._tail.topic
        reader = await self._hub.run(lambda: source.read(topic, self.next))
        try:
            while not self.closed and not self._tail.covers(self.next):
                self.check()
                batch = await self._hub.run(lambda: _poll(reader, topic))
                if any(r.offset > self.next.get(r.partition, 0) for r in batch.records):
                    await self._check_nothing_lost()
                yield batch
        finally:
            await asyncio.shield(self._hub.run(reader.close))

    async def _check_nothing_lost(self) -> None:
        """Gaps are what compaction leaves; but what is before the topic's first offset was dropped unread."""
        topic = self._tail.topic
        firsts = await self._hub.run(lambda: self._tail.source.first_offsets(topic))
        if any(firsts.get(p, 0) > offset for p, offset in self.next.items()):
            raise MillpondError("SUBSCRIBER_TOO_SLOW", topic=topic)


def _poll(reader: Reader, topic: str) -> Batch:
    records = reader.poll(POLL_RECORDS, POLL_SECONDS)
    return Batch(records, reader.positions(topic))


@dataclass(slots=True, eq=False)
class Shared:
    """A tail that is being made or there, and how many use it."""

    key: tuple[int, str]
    task: asyncio.Task[Tail]
    users: int = 0


class Hub:
    """The tails of one event loop. A tail begins with its first subscriber and ends with its last."""

    def __init__(self) -> None:
        self._tails: dict[tuple[int, str], Shared] = {}
        self._followers: set[Follower] = set()
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="push")
        self._closed = False

    async def follow(self, source: Log, topic: str, offsets: Mapping[int, int], subject: str = "") -> Follower:
        """A follower of `topic` from `offsets` (next per partition; a missing partition from its beginning).

        `subject`: what it is followed for, as in `fail`. Close it. Raises STORE_UNREACHABLE, TOPIC_NOT_FOUND.
        """
        key = (id(source), topic)
        shared = self._tails.get(key)
        if shared is None:
            shared = self._tails[key] = Shared(key, asyncio.create_task(self._start(source, topic)))
        shared.users += 1
        try:
            tail = await asyncio.shield(shared.task)
        except BaseException:
            self._release(shared)
            raise
        follower = Follower(self, shared, tail, offsets, subject)
        self._followers.add(follower)
        return follower

    def fail(self, subject: str, error: MillpondError) -> None:
        """Have all followers of a subject end with an error."""
        for follower in self._followers:
            if follower.subject == subject:
                follower.fail(error)

    async def run(self, call: Callable[[], T]) -> T:
        """Call something that waits for a store or the disk, in a thread."""
        workers = None if self._closed else self._workers  # what ends after the hub closes its readers elsewhere
        return await asyncio.get_running_loop().run_in_executor(workers, call)

    def release(self, follower: Follower) -> None:
        """One subscriber less."""
        self._followers.discard(follower)
        self._release(follower.shared)

    @property
    def tails(self) -> int:
        """How many topics are being followed."""
        return len(self._tails)

    async def close(self) -> None:
        """End all tails; the `batches` of every follower end."""
        self._closed = True
        for follower in tuple(self._followers):
            follower.close()
        for shared in tuple(self._tails.values()):
            self._end(shared)
        self._workers.shutdown(wait=False)

    async def _start(self, source: Log, topic: str) -> Tail:
        ends = await self.run(lambda: source.end_offsets(topic))
        return Tail(source, topic, ends, self._forget)

    def _forget(self, tail: Tail) -> None:
        """A tail that failed: who comes next gets a new one."""
        shared = self._tails.get((id(tail.source), tail.topic))
        if shared is not None and shared.task.done() and shared.task.result() is tail:
            del self._tails[shared.key]

    def _release(self, shared: Shared) -> None:
        shared.users -= 1
        if shared.users == 0:
            self._end(shared)

    def _end(self, shared: Shared) -> None:
        if self._tails.get(shared.key) is shared:
            del self._tails[shared.key]
        shared.task.add_done_callback(_stop_tail)


def _stop_tail(task: asyncio.Task[Tail]) -> None:
    if not task.cancelled() and task.exception() is None:
        task.result().stop()
