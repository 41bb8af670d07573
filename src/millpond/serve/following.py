"""Statements whose answer has no end: SELECT on a stream or changelog, EMIT CHANGES on a view, PRINT ENTITY."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

from millpond.catalog.model import Relation, RelationKind, SessionContext
from millpond.catalog.names import resolve_store
from millpond.catalog.reader import CatalogReader
from millpond.plan.explain import show
from millpond.plan.planner import entity_topic, parts
from millpond.plan.push import PushPlan, plan_push
from millpond.serve.answers import Change, Subscription
from millpond.serve.evaluate import select
from millpond.serve.push import (
    FollowChangelog,
    FollowStream,
    Topic,
    dropped,
    fetch_schemas,
    follow_topic,
    ingested_of,
)
from millpond.serve.push_view import follow_view
from millpond.serve.row_columns import RowColumns
from millpond.serve.tail import Follower, Hub
from millpond.sql import statements as st
from millpond.stores.connections import Connections
from millpond.stores.protocol import Headers
from millpond.stores.schemas import Schemas
from millpond.types import VARCHAR, Column
from millpond.views.reader import ViewReader

PRINTED = (Column("key", VARCHAR), Column("value", VARCHAR), Column("headers", VARCHAR))


class Following:
    """Makes subscriptions. All of them share one hub, which has one reader for each topic."""

    def __init__(self, catalog: CatalogReader, connections: Connections, reader: ViewReader) -> None:
        self.catalog, self.connections, self.reader = catalog, connections, reader
        self.hub = Hub()
        self.loop: asyncio.AbstractEventLoop | None = None
        """The one that the subscriptions live on, once there are any."""

    async def query(self, query: st.Query, context: SessionContext, resume: str | None) -> Subscription:
        """Follow a relation from now on, or from a token. Raises what `plan_push` and `serve.push` raise."""
        self.loop = asyncio.get_running_loop()
        plan = plan_push(query, self.catalog, context)
        relation, start = plan.relation, plan.starting_position
        selection = select((*relation.columns, *plan.hidden), plan.columns, plan.exprs, plan.condition)
        row_columns = RowColumns(relation, plan.hidden, plan.timestamp_column) if plan.hidden else None
        log, schemas = self.connections.log(relation.store), self.connections.codecs(relation.store)
        topic = Topic(self.hub, log, relation, lambda: self._exists(relation.id), schemas, row_columns)
        if relation.kind is RelationKind.VIEW:
            found: Subscription = await follow_view(topic, self.reader, selection, context, resume=resume)
        else:
            kind = FollowChangelog if relation.kind is RelationKind.CHANGELOG else FollowStream
            found = await follow_topic(kind, topic, selection, context, start=start, resume=resume)
        return found if plan.limit is None else Limited(found, plan.limit)

    def _exists(self, relation_id: str) -> bool:
        return self.catalog.relation_by_id(relation_id) is not None

    def end(self, relation: Relation) -> None:
        """End the subscriptions of a relation that was dropped, with RELATION_NOT_FOUND. From any thread."""
        if self.loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has gone, and they with it
                self.loop.call_soon_threadsafe(self.hub.fail, relation.id, dropped(relation))

    async def entity(self, statement: st.PrintEntity, context: SessionContext) -> Subscription:
        """The records of a topic as text. Raises TOPIC_NOT_FOUND, STORE_NOT_FOUND."""
        wanted = parts(statement.store) if statement.store else ((context.store, True),)
        store = resolve_store(self.catalog, wanted, context).name
        log, schemas = self.connections.log(store), self.connections.schemas(store)
        topic = entity_topic(statement.entity)
        start = log.first_offsets if statement.from_beginning else log.end_offsets
        offsets = await self.hub.run(lambda: start(topic))
        printed = Printed(context, self.hub, await self.hub.follow(log, topic, offsets), schemas)
        return printed if statement.limit is None else Limited(printed, statement.limit)

    def explain(self, query: st.Query, context: SessionContext) -> list[str]:
        """What EXPLAIN says of a followed SELECT."""
        plan: PushPlan = plan_push(query, self.catalog, context)
        shown = ", ".join(f"{c.name} = {show(e)}" for c, e in zip(plan.columns, plan.exprs, strict=True))
        lines = [f"push query over topic {plan.relation.topic} of {plan.relation.fqn}", f"  Project {shown}"]
        if plan.condition is not None:
            lines.append(f"  Filter {show(plan.condition)}")
        first = "its rows, then every change" if plan.relation.kind is RelationKind.VIEW else plan.starting_position
        return [*lines, f"  from {first}"]

    async def close(self) -> None:
        """End all subscriptions."""
        await self.hub.close()


class Printed:
    """A topic's records as they come: key and value as text, headers as a JSON object. Satisfies `Subscription`.

    NULL where a record has no headers; a header that comes twice has an array.

    What begins with the id of a schema that the store's registry has is shown as JSON, everything else as UTF-8, with
    replacement characters for bytes that are none.
    """

    def __init__(self, context: SessionContext, hub: Hub, follower: Follower, schemas: Schemas | None) -> None:
        self.columns: tuple[Column, ...] = PRINTED
        self.context = context
        self._hub, self._follower, self._schemas = hub, follower, schemas

    async def changes(self) -> AsyncIterator[Change]:
        """Records until `aclose`. Raises SUBSCRIBER_TOO_SLOW, STORE_UNREACHABLE, REGISTRY_*."""
        try:
            async for batch in self._follower.batches():
                await fetch_schemas(self._hub, self._schemas, batch)
                for record in batch.records:
                    if record.offset >= self._follower.next.get(record.partition, 0):
                        texts = (self._shown(record.key), self._shown(record.value), _headers_text(record.headers))
                        yield Change("insert", texts, "", ingested_of(record))
                self._follower.pass_(batch)
        finally:
            await self.aclose()

    def _shown(self, data: bytes | None) -> str | None:
        shown = self._schemas.printed(data) if self._schemas and data is not None else None
        return _text(data) if shown is None else shown

    async def aclose(self) -> None:
        self._follower.close()


def _headers_text(headers: Headers) -> str | None:
    found: dict[str, list[str | None]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(_text(value))
    texts = {name: values[0] if len(values) == 1 else values for name, values in found.items()}
    return json.dumps(texts, ensure_ascii=False) if texts else None


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


class Limited:
    """A subscription that ends after `limit` rows."""

    def __init__(self, inner: Subscription, limit: int) -> None:
        self.inner, self.limit = inner, limit
        self.columns, self.context = inner.columns, inner.context

    async def changes(self) -> AsyncIterator[Change]:
        left = self.limit
        if left <= 0:  # no row has to come for it to end
            await self.aclose()
            return
        async for change in self.inner.changes():
            yield change
            left -= change.op != "snapshot_end"
            if left <= 0:
                break
        await self.aclose()

    async def aclose(self) -> None:
        await self.inner.aclose()
