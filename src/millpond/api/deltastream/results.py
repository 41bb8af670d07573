"""Results kept for a while, so that a client can come back for more partitions or for a slow statement."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, TypeAlias

from millpond.api.deltastream import envelope
from millpond.api.deltastream.envelope import Run
from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError
from millpond.serve.answers import Answer

KEEP_SECONDS: Final = 300.0
"""Clients poll each second and read partitions at once; beyond this a result is memory held for nobody."""

KEEP_RESULTS: Final = 5_000
KEEP_ROWS: Final = 1_000_000
"""Rows kept over all results: the newest result always stays, whatever its size."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """A statement whose rows are read elsewhere."""

    context: SessionContext
    uri: str
    token: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A statement that ended with an error."""

    error: MillpondError
    context: SessionContext


Outcome: TypeAlias = Answer | Streaming | Failed
Working: TypeAlias = asyncio.Task[tuple[Run, Outcome]]


@dataclass(frozen=True, slots=True)
class Kept:
    """One finished request."""

    run: Run
    outcome: Outcome
    at: float

    @property
    def rows(self) -> int:
        return len(self.outcome.rows) if isinstance(self.outcome, Answer) else 0


class Results:
    """Statement id -> what came of it; the oldest is forgotten first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._working: dict[str, tuple[Run, Working]] = {}
        self._rows = 0

    def keep(self, run: Run, outcome: Outcome) -> None:
        """Remember the outcome under the id of the last statement."""
        kept = Kept(run, outcome, time.monotonic())
        self._kept[run.ids[-1]] = kept
        self._rows += kept.rows
        self._trim(kept.at)

    def promise(self, run: Run, working: Working) -> None:
        """Remember that the statement still runs; its outcome is kept when it ends."""
        self._working[run.ids[-1]] = run, working
        working.add_done_callback(self._done)

    def body(self, statement: str, partition: int) -> tuple[int, bytes]:
        """Status and body for GET /v2/statements/{id}. Raises STATEMENT_NOT_FOUND, PARTITION_NOT_FOUND."""
        kept = self._kept.get(statement)
        if kept is not None:
            return 200, written(kept.run, kept.outcome, partition)
        if statement in self._working:
            return 202, envelope.unfinished(self._working[statement][0])
        raise MillpondError("STATEMENT_NOT_FOUND", id=statement)

    def _done(self, working: Working) -> None:
        if working.cancelled():
            return
        run, outcome = working.result()
        del self._working[run.ids[-1]]
        self.keep(run, outcome)

    def _trim(self, now: float) -> None:
        while len(self._kept) > 1:
            oldest = next(iter(self._kept.values()))
            crowded = len(self._kept) > KEEP_RESULTS or self._rows > KEEP_ROWS
            if not crowded and now - oldest.at < KEEP_SECONDS:
                return
            del self._kept[oldest.run.ids[-1]]
            self._rows -= oldest.rows


def written(run: Run, outcome: Outcome, partition: int = 0) -> bytes:
    """An outcome as the body of a 200. Raises PARTITION_NOT_FOUND."""
    match outcome:
        case Answer():
            count = envelope.partition_count(outcome)
            if partition >= count:
                raise MillpondError("PARTITION_NOT_FOUND", id=run.ids[-1], partition=partition, count=count)
            return envelope.success(run, outcome, partition)
        case Streaming(context, uri, token):
            return envelope.streaming(run, context, uri, token)
        case Failed(error, context):
            return envelope.failure(run, error, context)
