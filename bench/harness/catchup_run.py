"""How one engine's catch-up is timed: a view of Millpond's in the view, everything else in its output topic."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.outputs import Output
from harness.peer_install import PeerUnavailableError
from harness.peers import Job, Peer, running_peer
from harness.processes import cpu_seconds
from harness.server import EmbeddedServer
from harness.statements import Statements
from harness.topics import Ends, create_topic
from harness.views import CountView

LIMIT_SECONDS = 900

POLL = 0.05
"""Seconds between two looks: the resolution of all times here."""

QUIET_LOOKS = 40
"""An output topic that did not grow for so many looks may be complete: it is read then, but not before."""

PATIENCE = 60
"""An output topic that did not grow for so many seconds will not: what is missing in it is told."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a peer works."""

    uris: str
    broker_pid: int


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Seconds from the start (CREATE, or the peer's launch) to the first output and to the complete counts.

    `first_rows` of the `rows` outputs were there at the first look that found any; `wrong` of them were never there.
    """

    rows: int
    first_output: float
    first_rows: int
    seconds: float
    engine_cpu: float
    broker_cpu: float
    wrong: int = 0

    @property
    def rate(self) -> float:
        """Rows a second, start-up included."""
        return self.rows / self.seconds

    @property
    def rate_after_first(self) -> float | None:
        """Rows a second from the first output on; None if that one was (nearly) everything."""
        left = self.rows - self.first_rows
        return left / (self.seconds - self.first_output) if left > self.rows / 10 else None


@dataclass(frozen=True, slots=True)
class Meters:
    """CPU seconds so far of an engine and of its broker; `check` raises if the engine has ended."""

    engine: Callable[[], float]
    broker: Callable[[], float]
    check: Callable[[], None]


def view_catches_up(server: EmbeddedServer, statements: Statements, view: CountView, expected: Counter[str]) -> CatchUp:
    """From CREATE MATERIALIZED VIEW to a view of `expected`. Raises TimeoutError, ValueError (wrong)."""
    meters = meters_of(server)
    engine, broker, began = meters.engine(), meters.broker(), time.monotonic()
    statements.run(view.create)
    rows, first, first_rows = expected.total(), 0.0, 0
    while (total := statements.number(view.total)) < rows:
        _not_longer_than(LIMIT_SECONDS, began)
        server.check()
        if total and not first:
            first, first_rows = time.monotonic() - began, total
        time.sleep(POLL)
    seconds = time.monotonic() - began
    engine, broker = meters.engine() - engine, meters.broker() - broker
    held = {str(row[0]): int(row[1] or 0) for row in statements.run(view.all).rows}
    if held != dict(expected):
        raise ValueError(f"the view is not a recount of the topic: {held}")
    return CatchUp(rows, first or seconds, first_rows or rows, seconds, engine, broker)


def stream_catches_up(
    server: EmbeddedServer, statements: Statements, create: str, topic: str, output: Output
) -> CatchUp:
    """From `create` to a complete output topic. Raises TimeoutError."""
    meters = meters_of(server)
    engine, broker, began = meters.engine(), meters.broker(), time.monotonic()
    statements.run(create)
    return _topic_fills(server.uris, topic, output, began, meters, (engine, broker))


def peer_catches_up(peer: Peer, job: Job, place: Place, output: Output, folder: Path) -> CatchUp | str:
    """From the launch of the peer's process to a complete output topic; or why not. Raises TimeoutError."""
    sink = job.sink(peer)
    create_topic(place.uris, sink)
    broker, began = cpu_seconds(place.broker_pid), time.monotonic()
    try:
        with running_peer(peer, job, place.uris, folder) as running:
            meters = Meters(running.cpu, lambda: cpu_seconds(place.broker_pid), running.check)
            return _topic_fills(place.uris, sink, output, began, meters, (0, broker))
    except PeerUnavailableError as e:
        return f"not measured: {e}"


def meters_of(server: EmbeddedServer) -> Meters:
    return Meters(server.engine_cpu, server.broker_cpu, server.check)


def _topic_fills(
    uris: str, topic: str, output: Output, began: float, meters: Meters, before: tuple[float, float]
) -> CatchUp:
    """Until the output topic holds what is expected, or holds enough rows and is quiet for good."""
    rows = output.expected.total()
    with Ends(uris, topic) as ends:
        growth = Growth(ends)
        while True:
            meters.check()
            _not_longer_than(LIMIT_SECONDS, began)
            complete = growth.look() >= rows or (output.coalesced and growth.quiet())
            if complete or growth.rests_for(PATIENCE):
                cpu = meters.engine() - before[0], meters.broker() - before[1]
                wrong = output.wrong(uris, topic)
                if not wrong or growth.rests_for(PATIENCE):
                    break
            time.sleep(POLL)
    return CatchUp(rows, growth.first_at - began, growth.first_rows, growth.last_at - began, *cpu, wrong)


class Growth:
    """Follows the number of records in an output topic: when the first came, when the last."""

    def __init__(self, ends: Ends) -> None:
        self._ends = ends
        self._records = self._looks = 0
        self.first_at = self.last_at = 0.0
        self.first_rows = 0

    def look(self) -> int:
        """How many records there are now."""
        records, self._looks = sum(self._ends.now()), self._looks + 1
        if records > self._records:
            self._records, self._looks, self.last_at = records, 0, time.monotonic()
            if not self.first_at:
                self.first_at, self.first_rows = self.last_at, records
        return records

    def quiet(self) -> bool:
        """Whether it has stopped growing, asked again after each such pause."""
        return self._records > 0 and self._looks > 0 and self._looks % QUIET_LOOKS == 0

    def rests_for(self, seconds: float) -> bool:
        """Whether the last record came so long ago."""
        return self._records > 0 and time.monotonic() - self.last_at > seconds


def _not_longer_than(seconds: float, began: float) -> None:
    if time.monotonic() - began > seconds:
        raise TimeoutError(f"not complete after {seconds:g} s")
