"""Delivering a subscription: read ahead of the writer, stop at once when the client goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from millpond.errors import MillpondError
from millpond.serve.answers import Answer, Change, Subscription

READ_AHEAD: Final = 1_000
"""Changes that wait for a slow client: fewer make small writes of a snapshot, more waste memory."""

Answers = Sequence[Answer | Subscription]


class Stopping:
    """Ends every open stream when the server stops, so that each can say so to its client.

    `begins` is called first.
    """

    def __init__(self, begins: Callable[[], None] = lambda: None) -> None:
        self._pumps: set[Pump] = set()
        self._begins = begins
        self.begun = False

    def begin(self) -> None:
        self.begun = True
        self._begins()
        for pump in self._pumps:
            pump.stop()

    def add(self, pump: Pump) -> None:
        self._pumps.add(pump)
        if self.begun:
            pump.stop()

    def remove(self, pump: Pump) -> None:
        self._pumps.discard(pump)


class Pump:
    """Reads a subscription in a task of its own, so that all that is ready goes out in one write.

    Use as an async context manager; leaving it ends the reading and closes the subscription.
    """

    def __init__(self, subscription: Subscription, stopping: Stopping) -> None:
        self._subscription = subscription
        self._stopping = stopping
        self._ready: list[Change] = []
        self._filled = asyncio.Event()
        self._drained = asyncio.Event()
        self._ended = False
        self._error: BaseException | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Pump:
        self._task = asyncio.create_task(self._read())
        self._stopping.add(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping.remove(self)
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait({self._task})
        finally:
            await self._subscription.aclose()

    def stop(self) -> None:
        """Let `next` raise SERVER_STOPPING after what is ready."""
        self._error = MillpondError("SERVER_STOPPING")
        self._ended = True
        self._filled.set()

    async def next(self, idle_seconds: float) -> list[Change] | None:
        """What is ready: at least one change, or [] after `idle_seconds` of silence, or None at the end.

        Raises what the subscription raised, after the changes before it have been handed out.
        """
        if not self._ready and not self._ended:
            try:
                async with asyncio.timeout(idle_seconds):
                    await self._filled.wait()
            except TimeoutError:
                return []
        if not self._ready:
            if self._error is not None:
                raise self._error
            return None
        taken, self._ready = self._ready, []
        self._filled.clear()
        self._drained.set()
        return taken

    async def _read(self) -> None:
        try:
            async for change in self._subscription.changes():
                self._ready.append(change)
                self._filled.set()
                if len(self._ready) >= READ_AHEAD:
                    self._drained.clear()
                    await self._drained.wait()
        except Exception as error:  # noqa: BLE001 - handed to the writer, which tells the client
            self._error = self._error or error
        finally:
            self._ended = True
            self._filled.set()


async def until(gone: Coroutine[Any, Any, None], work: Coroutine[Any, Any, None]) -> bool:
    """Do `work` unless `gone` returns first; then `work` is cancelled. Whether it was done."""
    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(gone)
    try:
        await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
        done = working.done()
        if done:
            working.result()
        return done
    finally:
        for task in (working, waiting):
            task.cancel()
        await asyncio.wait({working, waiting})


async def to_the_end(run: Coroutine[Any, Any, Answers]) -> Answers:
    """Run a statement to its end even if the client goes meanwhile: half a CREATE helps nobody.

    A subscription that then has no reader any more is closed.
    """
    running = asyncio.ensure_future(run)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        abandon(running)
        raise


def abandon(running: asyncio.Future[Answers]) -> None:
    """Let statements that nobody waits for any more run to their end, and close what they then open."""
    running.add_done_callback(_close_unread)


def _close_unread(running: asyncio.Future[Answers]) -> None:
    if running.cancelled() or running.exception() is not None:
        return
    for answer in running.result():
        if not isinstance(answer, Answer):
            _closing.add(task := asyncio.ensure_future(answer.aclose()))
            task.add_done_callback(_closing.discard)


_closing: set[asyncio.Future[None]] = set()
"""Keeps the closing tasks referenced until they are done."""
