"""Push queries: the rows of a relation as they come, each with a token to go on from.

`follow_topic` refuses what can be refused, then returns a `Subscription`; so does `follow_view` in `push_view`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from millpond.catalog.model import Relation, SessionContext
from millpond.clock import now_ms
from millpond.errors import MillpondError
from millpond.serve.answers import Change
from millpond.serve.evaluate import Row, Selection
from millpond.serve.row_columns import RowColumns
from millpond.serve.shown import Shown
from millpond.serve.tail import Batch, Follower, Hub
from millpond.serve.token import Token, check_not_expired, decode_token
from millpond.stores.codecs import Codecs
from millpond.stores.formats.records import key_columns, key_rows, value_decoder
from millpond.stores.formats.undecodable import UndecodableError
from millpond.stores.protocol import Log, Record
from millpond.stores.schemas import Schemas
from millpond.views.rows import header_millis


@dataclass(frozen=True, slots=True)
class Topic:
    """A relation's topic and who follows it. `exists`: whether there still is such a relation."""

    hub: Hub
    log: Log
    relation: Relation
    exists: Callable[[], bool] = lambda: True
    schemas: Codecs | None = None
    """Of its store, for formats with schemas."""
    row_columns: RowColumns | None = None
    """What the selection uses of a record besides its row."""

    def row(self, row: Row, record: Record, *, is_delete: bool = False) -> Row:
        """What the selection is made from."""
        return row if self.row_columns is None else self.row_columns.behind(row, record, is_delete=is_delete)

    async def prepare(self, batch: Batch) -> None:
        """Have the schemas of a batch's records at hand before they are decoded here. Raises REGISTRY_UNREACHABLE."""
        if self.schemas is None:
            return
        records = batch.records
        unknown = self.schemas.unknown(self.relation, (r.key for r in records), (r.value for r in records))
        if unknown:
            fetch = self.schemas.fetch
            await self.hub.run(lambda: fetch(unknown))

    async def start(self, position: str) -> dict[int, int]:
        """Offsets of 'latest', 'earliest', or epoch milliseconds as text."""
        name = self.relation.topic
        if position == "latest":
            return await self.hub.run(lambda: self.log.end_offsets(name))
        if position == "earliest":
            return await self.hub.run(lambda: self.log.first_offsets(name))
        return await self.hub.run(lambda: self.log.offsets_at(name, int(position)))

    async def resumed(self, text: str, query: str) -> Token:
        """The place that a token stands for. Raises INVALID_TOKEN, TOKEN_EXPIRED."""
        token = decode_token(text, self.relation.id, query)
        name, log = self.relation.topic, self.log
        firsts, ends, found = await self.hub.run(
            lambda: (log.first_offsets(name), log.end_offsets(name), log.describe(name))
        )
        check_not_expired(token, name, firsts, ends, found.config, now_ms())
        return token

    async def follow(self, offsets: Mapping[int, int]) -> Follower:
        """Raises what `Hub.follow` does, and RELATION_NOT_FOUND; a follower fails with that when it is dropped."""
        follower = await self.hub.follow(self.log, self.relation.topic, offsets, self.relation.id)
        try:
            self.check()
        except MillpondError:
            follower.close()
            raise
        return follower

    def check(self) -> None:
        """Raises RELATION_NOT_FOUND if it was dropped meanwhile."""
        if not self.exists():
            raise dropped(self.relation)


async def fetch_schemas(hub: Hub, schemas: Schemas | None, batch: Batch) -> None:
    """Have the schemas at hand that a batch's records name: asking for them takes time. Raises REGISTRY_*."""
    unknown = schemas.unknown(data for r in batch.records for data in (r.key, r.value)) if schemas else None
    if schemas and unknown:
        await hub.run(lambda: schemas.fetch(unknown))


def dropped(relation: Relation) -> MillpondError:
    """What its subscribers are told."""
    return MillpondError("RELATION_NOT_FOUND", name=relation.name, suggestion="It was dropped while it was followed.")


class Follow(ABC):
    """A push query over a topic. Satisfies `Subscription`; the kinds differ in what they make of a record.

    `resumed`: it goes on from a token.
    """

    def __init__(
        self,
        topic: Topic,
        selection: Selection,
        context: SessionContext,
        follower: Follower,
        *,
        resumed: bool = False,
    ) -> None:
        self.columns = selection.columns
        self.context = context
        self._topic = topic
        self._selection = selection
        self._follower = follower

    async def changes(self) -> AsyncIterator[Change]:
        """Changes until `aclose`. Raises SUBSCRIBER_TOO_SLOW, STORE_UNREACHABLE, RELATION_NOT_FOUND."""
        try:
            async for batch in self._follower.batches():
                await self._topic.prepare(batch)
                for change in self._of(batch):
                    yield change
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Let go of everything; `changes` ends."""
        self._follower.close()

    def _of(self, batch: Batch) -> Iterator[Change]:
        """The changes of a batch; each moves the place for its token before it is taken."""
        relation, schemas = self._topic.relation, self._topic.schemas
        rows = batch.made(relation.id, lambda records: decoded(relation, records, schemas))
        place = self._follower.next
        for record, row in zip(batch.records, rows, strict=True):
            if record.offset < place.get(record.partition, 0):
                continue
            place[record.partition] = record.offset + 1
            change = None if isinstance(row, UndecodableError) else self._change(record, row)
            if change is not None:
                yield change
        self._follower.pass_(batch)

    @abstractmethod
    def _change(self, record: Record, row: Row | None) -> Change | None:
        """What a record means; `row` is None for a delete."""

    def _token(self, record: Record) -> str:
        written_at = record.timestamp if record.timestamp > 0 else now_ms()
        place = dict(self._follower.next)
        return Token(self._topic.relation.id, self._selection.fingerprint, place, written_at).encode()


F = TypeVar("F", bound=Follow)


class FollowStream(Follow):
    """Every record is an 'insert'."""

    def _change(self, record: Record, row: Row | None) -> Change | None:
        found = None if row is None else self._selection.apply(self._topic.row(row, record))
        return None if found is None else Change("insert", found, self._token(record), ingested_of(record))


class FollowChangelog(Follow):
    """The last record of a key counts: 'upsert' and 'delete'."""

    def __init__(
        self,
        topic: Topic,
        selection: Selection,
        context: SessionContext,
        follower: Follower,
        *,
        resumed: bool = False,
    ) -> None:
        super().__init__(topic, selection, context, follower, resumed=resumed)
        names = [c.name for c in key_columns(topic.relation)]
        self._key_row = key_rows(topic.relation, topic.schemas)
        self._shown = Shown(selection, by_key=selection.only_uses(names), begun_before=resumed)

    def _change(self, record: Record, row: Row | None) -> Change | None:
        found = None if row is None else self._selection.apply(self._topic.row(row, record))
        if found is not None:
            self._shown.add(record.key)
            return Change("upsert", found, self._token(record), ingested_of(record))
        deleted = self._topic.row(self._key_row(record.key), record, is_delete=True)
        if not self._shown.remove(record.key, deleted, is_delete=row is None):
            return None
        return Change("delete", self._selection.project(deleted), self._token(record), ingested_of(record))


def decoded(
    relation: Relation, records: Sequence[Record], schemas: Codecs | None = None
) -> list[Row | UndecodableError | None]:
    """The row of each record: None for a delete, the reason for one that does not decode."""
    decode, key_row = value_decoder(relation, schemas), key_rows(relation, schemas)
    return [_decoded(decode, key_row, r) for r in records]


def _decoded(decode: Any, key_row: Any, record: Record) -> Row | UndecodableError | None:
    try:
        if record.value is None:
            key_row(record.key)  # a key that does not decode is found here, once for all
            return None
        row: Row = decode(record.key, record.value)
    except UndecodableError as error:
        return error
    return row


def ingested_of(record: Record) -> int | None:
    """Epoch milliseconds at which the source event came in."""
    return header_millis(record.headers) or (record.timestamp if record.timestamp > 0 else None)


async def follow_topic(
    kind: type[F],
    topic: Topic,
    selection: Selection,
    context: SessionContext,
    *,
    start: str = "latest",
    resume: str | None = None,
) -> F:
    """A stream's rows or a changelog's changes from `start` (latest, earliest or epoch ms as text) or from a token.

    Raises INVALID_TOKEN, TOKEN_EXPIRED, TOPIC_NOT_FOUND, STORE_UNREACHABLE, RELATION_NOT_FOUND.
    """
    offsets = await _begin(topic, selection, start, resume)
    return kind(topic, selection, context, await topic.follow(offsets), resumed=resume is not None)


async def _begin(topic: Topic, selection: Selection, start: str, resume: str | None) -> Mapping[int, int]:
    """The offsets to read from: those of the token, else of `start`."""
    if resume is None:
        return await topic.start(start)
    return (await topic.resumed(resume, selection.fingerprint)).offsets
