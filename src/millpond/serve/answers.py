"""What a statement answers: rows now (`Answer`) or rows for as long as the client listens (`Subscription`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from millpond.catalog.model import SessionContext
from millpond.types import Column


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of Python values in column order.

    Values: None, bool, int, float, Decimal, str, bytes, date, time, datetime (naive for TIMESTAMP, UTC-aware for
    TIMESTAMP_LTZ), list for ARRAY, dict for MAP and STRUCT.
    """

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Any]]
    context: SessionContext
    message: str = ""
    statement: str = ""
    """The kind of statement, e.g. CREATE_STREAM, SELECT, LIST_RELATIONS."""


@dataclass(frozen=True, slots=True)
class Change:
    """One row of a push query.

    `op` is 'insert' (append rows), 'upsert' or 'delete' (views and changelogs; a delete carries the key columns,
    others None). `token` resumes after this very change. `ingested` is the epoch milliseconds at which the source
    event came in, None if unknown. A change with op 'snapshot_end' (row empty) says that the current rows are complete.
    """

    op: str
    row: Sequence[Any]
    token: str
    ingested: int | None = None


class Subscription(Protocol):
    """A push query's rows: iterate until the client goes, then `aclose`."""

    columns: tuple[Column, ...]
    context: SessionContext

    def changes(self) -> AsyncIterator[Change]: ...

    async def aclose(self) -> None: ...


class Engine(Protocol):
    """What `api` and `cli` see of everything below."""

    async def execute(
        self,
        sql: str,
        context: SessionContext,
        *,
        attachments: Mapping[str, bytes] | None = None,
        resume: str | None = None,
    ) -> Sequence[Answer | Subscription]:
        """Run every statement of `sql` in order; the context flows from one to the next. Raises MillpondError."""
        ...

    def pull(self, sql: str, context: SessionContext) -> Answer | None:
        """The answer of a cheap pull query (planned before, by key or index), or None: then use `execute`."""
        ...

    def healthy(self) -> Mapping[str, str]:
        """Component -> 'ok' or what is wrong. Components: broker, spark, catalog, views."""
        ...

    def refuse(self) -> None:
        """The server is about to stop: no more statements with effects."""
        ...

    async def reachable(self) -> Mapping[str, str]:
        """Store -> 'ok' or the error that it ends with; at once, as it was known up to half a minute ago."""
        ...


@dataclass(frozen=True, slots=True)
class Metric:
    """One sample for /metrics."""

    name: str
    help: str
    kind: str
    """counter or gauge."""
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
