"""Following a view: its rows in the order of their keys, a piece at a time, then every change.

A piece is read in one short look at the store, so a slow subscriber never keeps the store from tidying up. With the
rows of keys up to K delivered as of offsets O, and the next piece read as of O2, first the changes from O to O2 of
keys up to K are delivered, then the piece: now all keys up to the piece's last are as of O2. So after every single
change the place is (O, K), and a token of it resumes without a gap or a repeat.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from millpond.catalog.model import SessionContext
from millpond.clock import now_ms
from millpond.errors import MillpondError
from millpond.serve.answers import Change
from millpond.serve.evaluate import Selection
from millpond.serve.push import FollowChangelog, Topic
from millpond.serve.tail import Batch, Follower
from millpond.serve.token import Token
from millpond.stores.protocol import Record
from millpond.views.reader import ViewReader
from millpond.views.schema import table_name
from millpond.views.values import row_decoder

PIECE_ROWS = 2_000
FILTERED_PIECE_ROWS = 20_000
"""With a condition a piece may cost a look at every row: fewer, larger pieces."""
WAIT_SECONDS = 0.02
"""Pause before asking a store again that is being built, or is behind the subscriber."""


Piece = tuple[Mapping[int, int], list[tuple[Any, ...]]]
"""The offsets that rows stand for, and the rows."""


class FollowView(FollowChangelog):
    """Current rows as 'upsert', then 'snapshot_end', then every change. `after`: keys up to it were delivered."""

    def __init__(
        self,
        topic: Topic,
        reader: ViewReader,
        selection: Selection,
        context: SessionContext,
        follower: Follower,
        *,
        after: bytes | None = None,
    ) -> None:
        super().__init__(topic, selection, context, follower, resumed=after is not None)
        self._reader = reader
        self._after: bytes | None = after or b""
        self._decode = row_decoder(selection.columns)
        self._sql = selection.snapshot_sql(table_name(topic.relation.id))
        self._limit = PIECE_ROWS if selection.condition is None else FILTERED_PIECE_ROWS
        self._batches = follower.batches()
        self._left: Batch | None = None
        """A batch of which only the part up to a piece's offsets has been delivered."""

    async def changes(self) -> AsyncIterator[Change]:
        """See the module. Raises SUBSCRIBER_TOO_SLOW, STORE_UNREACHABLE, VIEW_STORE_*."""
        try:
            while self._after is not None and (piece := await self._piece()) is not None:
                offsets, rows = piece
                async for change in self._until(offsets):
                    yield change
                for key, ingested, *values in rows:
                    self._shown.add(key)
                    self._after = key
                    yield Change("upsert", tuple(self._decode(values)), self._place(), ingested)
                if len(rows) < self._limit and not self._follower.closed:
                    self._after = None
                    yield Change("snapshot_end", (), self._place())
            while (batch := await self._next()) is not None:
                for change in self._of(batch):
                    yield change
        finally:
            await self.aclose()

    async def _piece(self) -> Piece | None:
        """The next rows, and the offsets that they stand for: not before what was delivered already.

        None if it was closed meanwhile.
        """
        while not self._follower.closed:
            self._follower.check()
            offsets, rows = await self._topic.hub.run(self._read)
            place = self._follower.next
            if offsets and all(offsets.get(p, 0) >= offset for p, offset in place.items()):
                return offsets, rows
            await asyncio.sleep(WAIT_SECONDS)
        return None

    def _read(self) -> Piece:
        """No offsets while the view has no table: it is being made anew, or dropped, which the follower is told of."""
        try:
            with self._reader.snapshot(self._topic.relation.id) as (connection, offsets):
                return offsets, connection.execute(self._sql, (self._after, self._limit)).fetchall()
        except MillpondError as error:
            if error.name == "VIEW_STORE_FAILED" and "no such table" in error.sentence:
                return {}, []
            raise

    async def _until(self, offsets: Mapping[int, int]) -> AsyncIterator[Change]:
        """Changes up to `offsets`, of the keys that were delivered; what comes behind is kept for later."""
        place = self._follower.next
        while any(place[p] < offsets.get(p, 0) for p in place):
            batch = await self._next()
            if batch is None:
                return
            for change in self._of(_up_to(batch, offsets)):
                yield change
            self._left = batch

    async def _next(self) -> Batch | None:
        """The batch that was left, or the next one; None after `aclose`."""
        if (left := self._left) is not None:
            self._left = None
            place = self._follower.next
            if any(place.get(p, 0) < offset for p, offset in left.positions.items()):
                return left
        return None if self._follower.closed else await anext(self._batches, None)

    def _change(self, record: Record, row: Any) -> Change | None:
        if self._after is not None and (record.key or b"") > self._after:
            return None
        return super()._change(record, row)

    def _token(self, record: Record) -> str:
        return self._place(record.timestamp)

    def _place(self, written_at: int | None = None) -> str:
        """A token of the place; without `written_at` it is of a row that the store holds now."""
        place = dict(self._follower.next)
        at = written_at or now_ms()
        return Token(self._topic.relation.id, self._selection.fingerprint, place, at, self._after).encode()


async def follow_view(
    topic: Topic,
    reader: ViewReader,
    selection: Selection,
    context: SessionContext,
    *,
    resume: str | None = None,
) -> FollowChangelog:
    """A view's current rows, then every change; or what came after a token.

    Waits until the view has been loaded. Raises INVALID_TOKEN, TOKEN_EXPIRED, TOPIC_NOT_FOUND, STORE_UNREACHABLE,
    VIEW_STORE_*, RELATION_NOT_FOUND.
    """
    token = None if resume is None else await topic.resumed(resume, selection.fingerprint)
    if token is not None and token.after is None:
        follower = await topic.follow(token.offsets)
        return FollowChangelog(topic, selection, context, follower, resumed=True)
    offsets = await ready_offsets(topic, reader) if token is None else token.offsets
    follower = await topic.follow(offsets)
    return FollowView(topic, reader, selection, context, follower, after=token.after if token else None)


async def ready_offsets(topic: Topic, reader: ViewReader) -> dict[int, int]:
    """The offsets that the view stands for, once it has been loaded. Raises RELATION_NOT_FOUND."""
    while not (offsets := await topic.hub.run(lambda: reader.offsets(topic.relation.id))):
        topic.check()
        await asyncio.sleep(WAIT_SECONDS)
    return offsets


def _up_to(batch: Batch, offsets: Mapping[int, int]) -> Batch:
    """The part of a batch that lies before `offsets`."""
    records = [r for r in batch.records if r.offset < offsets.get(r.partition, 0)]
    return Batch(records, {p: min(offset, offsets.get(p, 0)) for p, offset in batch.positions.items()})
