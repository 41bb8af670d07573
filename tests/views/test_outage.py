"""A broker that goes away and comes back: views and subscribers go on where they were."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millpond.catalog.model import SessionContext
from millpond.embedded.broker import Broker
from millpond.plan.expressions import ColumnRef
from millpond.serve.answers import Change
from millpond.serve.evaluate import select
from millpond.serve.push import Topic
from millpond.serve.push_view import follow_view
from millpond.serve.tail import Hub
from millpond.stores.connect import open_log
from millpond.views.reader import ViewReader
from millpond.views.schema import table_name
from millpond.views.supervisor import Supervisor
from tests.conftest import make_broker
from tests.views.relations import VISITS, upsert
from tests.waiting import eventually

VIEW = replace(VISITS, topic="outage")
ALL = [ColumnRef(c.type, c.name) for c in VISITS.columns]


async def take(changes: AsyncIterator[Change], count: int) -> list[tuple[str, Any]]:
    async with asyncio.timeout(60):
        found = [await anext(changes) for _ in range(count)]
    return [(c.op, c.row[2] if c.row else None) for c in found]


@pytest.mark.broker
async def test_an_outage_of_the_broker_is_ridden_out(tmp_path: Path) -> None:
    broker = make_broker(tmp_path / "broker")
    await asyncio.to_thread(broker.start)
    again: Broker | None = None
    log = open_log("KAFKA", {"uris": broker.uris})
    supervisor = Supervisor(tmp_path / "views.db", lambda name: ("KAFKA", {"uris": broker.uris}))
    reader, hub = ViewReader(tmp_path / "views.db"), Hub()

    def visits() -> dict[str, int]:
        return dict(reader.query(f"SELECT url, visits FROM {table_name(VIEW.id)}"))

    try:
        log.create("outage", config={"cleanup.policy": "compact"})
        log.produce("outage", [upsert("a", 1)])
        supervisor.start([(VIEW, [])])
        eventually(visits, {"a": 1})
        follow = await follow_view(
            Topic(hub, log, VIEW), reader, select(VIEW.columns, VIEW.columns, ALL), SessionContext()
        )
        changes = follow.changes()
        assert await take(changes, 2) == [("upsert", 1), ("snapshot_end", None)]
        await asyncio.to_thread(broker.stop)
        again = make_broker(tmp_path / "broker", int(broker.uris.rsplit(":", 1)[1]))
        await asyncio.to_thread(again.start)
        eventually(lambda: log.produce("outage", [upsert("a", 2)]), [(0, 1)])
        eventually(visits, {"a": 2})
        assert await take(changes, 1) == [("upsert", 2)]
        assert supervisor.starts == 1
        await follow.aclose()
    finally:
        await hub.close()
        supervisor.stop()
        reader.close()
        log.close()
        (again or broker).stop()
