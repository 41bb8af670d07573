"""An engine that answers from a script: what the API's tests run against."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError
from millpond.serve.answers import Answer, Change, Subscription
from millpond.types import VARCHAR, Column, DataType

Result = Answer | Subscription
Script = Callable[["Call"], Sequence[Result]]


class Call:
    """One `execute` as the engine saw it."""

    def __init__(self, sql: str, context: SessionContext, attachments: Mapping[str, bytes], resume: str | None) -> None:
        self.sql, self.context, self.attachments, self.resume = sql, context, attachments, resume


class FakeSubscription:
    """Gives `changes`, then waits (or ends, or fails), and notes when it was closed."""

    def __init__(
        self,
        columns: tuple[Column, ...],
        changes: Iterable[Change],
        *,
        context: SessionContext | None = None,
        ends: bool = False,
        error: Exception | None = None,
    ) -> None:
        self.columns = columns
        self.context = context or SessionContext()
        self.queue: asyncio.Queue[Change] = asyncio.Queue()
        self._first, self._ends, self._error = list(changes), ends, error
        self.closed = False

    async def changes(self) -> AsyncIterator[Change]:
        for change in self._first:
            yield change
        if self._error is not None:
            raise self._error
        while not self._ends:
            yield await self.queue.get()

    async def aclose(self) -> None:
        self.closed = True


class FakeEngine:
    """`scripts` maps a statement's text to what it does; `pulls` to an answer given by `pull`."""

    def __init__(self) -> None:
        self.scripts: dict[str, Script] = {}
        self.pulls: dict[str, Answer | Exception] = {}
        self.slow: dict[str, asyncio.Event] = {}
        self.calls: list[Call] = []
        self.parts = {"broker": "ok", "spark": "ok", "catalog": "ok", "views": "ok"}
        self.stores = {"kafka": "ok"}

    def answer(self, sql: str, *results: Result) -> None:
        self.scripts[sql] = lambda call: results

    def fail(self, sql: str, error: Exception) -> None:
        def script(call: Call) -> Sequence[Result]:
            raise error

        self.scripts[sql] = script

    async def execute(
        self,
        sql: str,
        context: SessionContext,
        *,
        attachments: Mapping[str, bytes] | None = None,
        resume: str | None = None,
    ) -> Sequence[Result]:
        call = Call(sql, context, attachments or {}, resume)
        self.calls.append(call)
        if sql in self.slow:
            await self.slow[sql].wait()
        if sql not in self.scripts:
            raise MillpondError("SYNTAX", problem=f"not in the script: {sql}")
        return self.scripts[sql](call)

    def pull(self, sql: str, context: SessionContext) -> Answer | None:
        found = self.pulls.get(sql)
        if isinstance(found, Exception):
            raise found
        return found

    def refuse(self) -> None:
        self.refusing = True

    async def reachable(self) -> Mapping[str, str]:
        return self.stores

    def healthy(self) -> Mapping[str, str]:
        return self.parts


def columns(**types: DataType) -> tuple[Column, ...]:
    return tuple(Column(name, type_) for name, type_ in types.items())


def rows(
    columns: tuple[Column, ...],
    *values: Sequence[Any],
    context: SessionContext | None = None,
    statement: str = "SELECT",
) -> Answer:
    return Answer(columns, list(values), context or SessionContext(), statement=statement)


def created(name: str, kind: str = "Stream", context: SessionContext | None = None) -> Answer:
    """What a CREATE answers."""
    shape = columns(Type=VARCHAR, Name=VARCHAR, Command=VARCHAR, Summary=VARCHAR, Path=VARCHAR)
    row = (kind, name, "CREATE", f"{kind} {name} was created", f'["default","public","{name}"]')
    return Answer(shape, [row], context or SessionContext(), statement="CREATE_STREAM")
