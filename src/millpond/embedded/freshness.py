"""How long an event takes from its arrival in the log to a subscriber of a view."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from statistics import median

from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError
from millpond.serve.answers import Answer, Engine, Subscription

WINDOW_SECONDS = 3.0
"""Changes that the median is over."""

IDLE_SECONDS = 10.0
"""Nobody has asked for so long: the subscription ends."""

RETRY_SECONDS = 1.0


class FreshnessWatch:
    """Follows a view with a push query for as long as somebody wants to know, and times its changes.

    A change's age counts from the moment at which its source event came in (`Change.ingested`) to the moment
    at which the change is here, so it covers query, changelog and fan-out.
    """

    def __init__(self, engine: Engine, sql: str, context: SessionContext) -> None:
        self._engine = engine
        self._sql = sql
        self._context = context
        self._ages: deque[tuple[float, float]] = deque(maxlen=4096)
        self._asked = 0.0
        self._task: asyncio.Task[None] | None = None

    def wanted(self) -> None:
        """Watch, or go on watching; call it on the event loop whenever somebody looks."""
        self._asked = time.monotonic()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())

    def median(self) -> float | None:
        """Milliseconds, over the last few seconds; None if nothing changed."""
        since = time.monotonic() - WINDOW_SECONDS
        ages = [age for at, age in self._ages if at > since]
        return round(median(ages), 1) if ages else None

    async def aclose(self) -> None:
        """Stop watching."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _idle(self) -> bool:
        return time.monotonic() - self._asked > IDLE_SECONDS

    async def _watch(self) -> None:
        while not self._idle():
            try:
                await self._follow()
            except MillpondError:
                self._ages.clear()
            await asyncio.sleep(RETRY_SECONDS)

    async def _follow(self) -> None:
        """Time the changes of one subscription until nobody looks any more or it ends."""
        answer: Answer | Subscription = (await self._engine.execute(self._sql, self._context))[-1]
        if isinstance(answer, Answer):
            return
        try:
            current = False
            async for change in answer.changes():
                current = current or change.op == "snapshot_end"
                if current and change.ingested is not None:
                    self._ages.append((time.monotonic(), max(0.0, time.time() * 1000 - change.ingested)))
                if self._idle():
                    return
        finally:
            await answer.aclose()
