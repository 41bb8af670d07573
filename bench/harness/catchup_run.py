"""How one engine's catch-up is timed: Millpond's in its view, a peer's in its output topic."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from harness.peers import Peer, RunningPeer, running_peer
from harness.processes import cpu_seconds
from harness.progress import progress
from harness.server import EmbeddedServer
from harness.statements import RefusedError, Statements
from harness.topics import PARTITIONS, Ends, create_topic
from harness.views import ALL, TOTAL, create_view

LIMIT_SECONDS = 900

POLL = 0.05
"""Seconds between two looks: the resolution of all times here."""

QUIET_LOOKS = 20
"""An output topic that did not grow for so many looks may be complete: only then is its tail read."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Seconds from the start (CREATE, or the peer's launch) to the first output and to the complete counts.

    `first_rows` of the `rows` events were in the outputs at the first look that found any.
    """

    rows: int
    first_output: float
    first_rows: int
    seconds: float
    engine_cpu: float
    broker_cpu: float

    @property
    def rate(self) -> float:
        """Rows a second, start-up included."""
        return self.rows / self.seconds

    @property
    def rate_after_first(self) -> float | None:
        """Rows a second from the first output on; None if that one was (nearly) everything."""
        left = self.rows - self.first_rows
        return left / (self.seconds - self.first_output) if left > self.rows / 10 else None


def view_catches_up(server: EmbeddedServer, statements: Statements, expected: Counter[str]) -> CatchUp:
    """From CREATE MATERIALIZED VIEW to a view that holds `expected`. Raises TimeoutError, ValueError if it is wrong."""
    engine, broker = server.engine_cpu(), server.broker_cpu()
    began = time.monotonic()
    create_view(statements)
    rows, first, first_rows = expected.total(), 0.0, 0
    while (total := _total(statements)) < rows:
        _not_longer_than(LIMIT_SECONDS, began)
        server.check()
        if total and not first:
            first, first_rows = time.monotonic() - began, total
        time.sleep(POLL)
    seconds = time.monotonic() - began
    engine, broker = server.engine_cpu() - engine, server.broker_cpu() - broker
    held = {row[0]: int(row[1] or 0) for row in statements.run(ALL).rows}
    if held != dict(expected):
        raise ValueError(f"the view is not a recount of the topic: {held}")
    return CatchUp(rows, first or seconds, first_rows or rows, seconds, engine, broker)


def peer_catches_up(
    peer: Peer, uris: str, broker_pid: int, topic: str, rows: int, folder: Path
) -> CatchUp:
    """From the launch of the peer's process to an output topic whose last counts add up to `rows`."""
    sink = f"visits-{peer.name}"
    create_topic(uris, sink)
    ends = Ends(uris, sink)
    broker = cpu_seconds(broker_pid)
    began = time.monotonic()
    try:
        with running_peer(peer, uris, topic, sink, folder) as running:
            first, first_rows = _first_output(ends, running, began)
            return _completed(ends, running, uris, sink, rows, began, first, first_rows, broker, broker_pid)
    finally:
        ends.close()


def _total(statements: Statements) -> int:
    """The clicks in the view; 0 while it is too young to be asked."""
    try:
        return statements.number(TOTAL)
    except RefusedError:
        return 0


def _not_longer_than(seconds: float, began: float) -> None:
    if time.monotonic() - began > seconds:
        raise TimeoutError(f"not complete after {seconds:g} s")
