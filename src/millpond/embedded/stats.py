"""The figures of the demo's page, asked from the views with plain SQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Any

from millpond.catalog.model import SessionContext
from millpond.embedded.freshness import FreshnessWatch
from millpond.embedded.rates import RateHistory
from millpond.embedded.region_stats import RegionStats
from millpond.errors import MillpondError
from millpond.serve.answers import Answer, Engine

SHARED_SECONDS = 0.2
"""What all visitors of the page share is asked again after so long, however many visitors there are."""

USERS_SECONDS = 5.0
"""The list of users is the widest scan and changes least."""

KINDS = ("phone", "laptop", "tablet")

TOTAL = "SELECT SUM(visits) AS visits FROM url_visits;"
URLS = "SELECT url, visits FROM url_visits ORDER BY visits DESC, url LIMIT 10;"
DEVICE_KINDS = (
    "SELECT "
    + ", ".join(f"SUM(CASE WHEN device_id LIKE '{k}-%' THEN visits ELSE 0 END) AS {k}" for k in KINDS)
    + " FROM url_device_visits;"
)
DEVICES = (
    "SELECT device_id, SUM(visits) AS visits FROM url_device_visits "
    "GROUP BY device_id ORDER BY visits DESC, device_id LIMIT 6;"
)
USERS = (
    "SELECT userid, SUM(visits) AS visits FROM user_url_device_visits "
    "GROUP BY userid ORDER BY visits DESC, userid LIMIT 1000;"
)
ONE_USER = "SELECT url, device_id, visits FROM user_url_device_visits WHERE userid = '{user}';"
CHANGES = "SELECT url, visits FROM url_visits EMIT CHANGES;"

Figures = dict[str, Any]


class DemoStats:
    """What the page shows, at most a fifth of a second old for any number of visitors."""

    def __init__(self, engine: Engine, context: SessionContext | None = None) -> None:
        self._engine = engine
        self._context = context or SessionContext()
        self._freshness = FreshnessWatch(engine, CHANGES, self._context)
        self._history = RateHistory()
        self._regions = RegionStats(self._ask)
        self._lock = asyncio.Lock()
        self._shared: Figures = {}
        self._shared_at = self._users_at = float("-inf")
        self._users: list[str] = []

    async def figures(self, user: str | None = None) -> Figures:
        """Everything for one visitor's page, with the visits of `user` (the most active one if None).

        `state` is 'live', 'empty' (no click yet), 'filling' (`note` says how far the views are; nothing else
        is given before they have a row) or 'absent' (the demo's views do not exist; nothing else is given).
        """
        try:
            shared = await self._shared_figures()
            chosen = user or next(iter(shared["users"]), None)
            return {**shared, "user": await self._user(chosen) if chosen else None}
        except MillpondError as e:
            match e.name:
                case "RELATION_NOT_FOUND":
                    return {"state": "absent", "note": ""}
                case "VIEW_NOT_READY":
                    return {"state": "filling", "note": e.sentence}
            raise

    async def aclose(self) -> None:
        """End the subscription behind the freshness."""
        await self._freshness.aclose()

    async def _shared_figures(self) -> Figures:
        async with self._lock:
            if time.monotonic() - self._shared_at > SHARED_SECONDS:
                self._shared = await self._ask_shared()
                self._shared_at = time.monotonic()
            return self._shared

    async def _ask_shared(self) -> Figures:
        total = await self._ask(TOTAL)
        visits = number(total.rows[0][0]) if total.rows else 0
        self._history.note(time.monotonic(), visits)
        self._freshness.wanted()
        kinds = (await self._ask(DEVICE_KINDS)).rows or [(0, 0, 0)]
        return {
            "state": "empty" if not visits else "filling" if total.message else "live",
            "note": total.message if visits else "",
            "visits": visits,
            "rate": round(self._history.now(), 1),
            "rates": [round(r, 1) for r in self._history.per_second()],
            "freshness_ms": self._freshness.median(),
            "urls": ranked((await self._ask(URLS)).rows),
            "devices": ranked((await self._ask(DEVICES)).rows),
            "device_kinds": ranked(zip(KINDS, kinds[0], strict=True)),
            "users": await self._user_list(),
            "regions": await self._regions.figures(),
        }

    async def _user_list(self) -> list[str]:
        if time.monotonic() - self._users_at > USERS_SECONDS or not self._users:
            self._users = [str(row[0]) for row in (await self._ask(USERS)).rows]
            self._users_at = time.monotonic()
        return self._users

    async def _user(self, user: str) -> Figures:
        """One user's visits by url and by device: few rows, found by the index."""
        rows = (await self._ask(ONE_USER.format(user=user.replace("'", "''")))).rows
        return {
            "userid": user,
            "visits": sum(number(row[2]) for row in rows),
            "urls": ranked(summed((row[0], row[2]) for row in rows))[:6],
            "devices": ranked(summed((row[1], row[2]) for row in rows)),
        }

    async def _ask(self, sql: str) -> Answer:
        """A pull query's answer, the quick way if the engine has one for it."""
        answer = self._engine.pull(sql, self._context)
        if answer is None:
            last = (await self._engine.execute(sql, self._context))[-1]
            assert isinstance(last, Answer)
            answer = last
        return answer


def number(value: object) -> int:
    """A count that may be NULL, or a DECIMAL as SUM may give it."""
    return int(str(value)) if value is not None else 0


def summed(pairs: Iterable[tuple[Any, Any]]) -> Iterable[tuple[str, int]]:
    """Visits added up by name."""
    total: dict[str, int] = {}
    for name, visits in pairs:
        total[str(name)] = total.get(str(name), 0) + number(visits)
    return total.items()


def ranked(rows: Iterable[Sequence[Any]]) -> list[Figures]:
    """[{"name", "visits"}], most visits first, then by name."""
    named = [{"name": str(row[0]), "visits": number(row[1])} for row in rows]
    return sorted(named, key=lambda row: (-int(row["visits"]), str(row["name"])))
