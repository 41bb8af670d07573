"""An engine for the demo's page alone: its views as SQLite tables in memory, clicks fed by the test."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from millpond.catalog.model import SessionContext
from millpond.embedded.clicks import Click
from millpond.embedded.users import REGISTERED, UserDirectory
from millpond.errors import MillpondError
from millpond.serve.answers import Answer, Change, Subscription
from millpond.types import VARCHAR, Column

VIEWS = {
    "url_visits": ("url",),
    "url_device_visits": ("url", "device_id"),
    "user_url_device_visits": ("userid", "url", "device_id"),
    "url_region_visits": ("url", "regionid"),
}
PEOPLE = UserDirectory()


class FakeSubscription:
    """The changes of url_visits: none now, then one for every click that is fed."""

    columns: tuple[Column, ...] = (Column("url", VARCHAR), Column("visits", VARCHAR))

    def __init__(self, context: SessionContext) -> None:
        self.context = context
        self.queue: asyncio.Queue[Change] = asyncio.Queue()
        self.closed = False
        self._loop = asyncio.get_running_loop()

    def put(self, change: Change) -> None:
        """Tell the subscriber; tests do so from another thread than the server's."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.queue.put_nowait, change)

    async def changes(self) -> AsyncIterator[Change]:
        yield Change("upsert", ("./old", 1), "0", ingested=0)
        yield Change("snapshot_end", (), "1")
        while True:
            yield await self.queue.get()

    async def aclose(self) -> None:
        self.closed = True


class FakeEngine:
    """`feed` counts clicks at once, those of nobody in `people` in no region.

    `failure` is raised by every query, `region_failure` by those of regions; `note` is every answer's message.
    """

    def __init__(self, age_ms: float = 6, people: UserDirectory = PEOPLE) -> None:
        self.age_ms = age_ms
        self.people = people
        self.region_failure: MillpondError | None = None
        self.note = ""
        self.failure: MillpondError | None = None
        self.asked: list[str] = []
        self.subscriptions: list[FakeSubscription] = []
        self._rows = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        for view, columns in VIEWS.items():
            names = ", ".join(columns)
            self._rows.execute(f"CREATE TABLE {view} ({names}, visits INTEGER, PRIMARY KEY ({names}))")

    def feed(self, clicks: Iterable[Click]) -> None:
        """Count `clicks` in all views and tell the subscribers."""
        for click in clicks:
            for view, columns in VIEWS.items():
                marks = ", ".join("?" * len(columns))
                region = self.people.region(click.userid, max(click.event_time, REGISTERED))
                if region is None and "regionid" in columns:
                    continue
                values = [region if c == "regionid" else getattr(click, c) for c in columns]
                upsert = f"INSERT INTO {view} VALUES ({marks}, 1) ON CONFLICT DO UPDATE SET visits = visits + 1"
                self._rows.execute(upsert, values)
            for subscription in self.subscriptions:
                ingested = round(time.time() * 1000 - self.age_ms)
                subscription.put(Change("upsert", (click.url, 1), "2", ingested))

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """What a test asks to compare with."""
        return self._rows.execute(sql).fetchall()

    def pull(self, sql: str, context: SessionContext) -> Answer | None:
        """By key or index only, as the real one; the rest goes through `execute`."""
        return self._answer(sql, context) if "WHERE userid = " in sql else None

    async def execute(
        self,
        sql: str,
        context: SessionContext,
        *,
        attachments: Mapping[str, bytes] | None = None,
        resume: str | None = None,
    ) -> Sequence[Answer | Subscription]:
        if "EMIT CHANGES" in sql:
            self._check()
            self.subscriptions.append(FakeSubscription(context))
            return [self.subscriptions[-1]]
        return [self._answer(sql, context)]

    def refuse(self) -> None: ...

    async def reachable(self) -> Mapping[str, str]:
        return {}

    def healthy(self) -> Mapping[str, str]:
        return {"views": "ok"}

    def _answer(self, sql: str, context: SessionContext) -> Answer:
        self._check()
        self.asked.append(sql)
        if self.region_failure and "region" in sql:
            raise self.region_failure
        found = self._rows.execute(sql)
        columns = tuple(Column(d[0], VARCHAR) for d in found.description)
        return Answer(columns, found.fetchall(), context, self.note)

    def _check(self) -> None:
        if self.failure:
            raise self.failure
