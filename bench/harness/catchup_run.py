"""How one engine's catch-up is timed: Millpond's in its view, a peer's in its output topic."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from harness.peers import Peer, running_peer
from harness.processes import cpu_seconds
from harness.server import EmbeddedServer
from harness.statements import Statements
from harness.topics import PARTITIONS, Ends, create_topic
from harness.views import ALL, TOTAL, create_view

LIMIT_SECONDS = 900

POLL = 0.05
"""Seconds between two looks: the resolution of all times here."""

QUIET_LOOKS = 40
"""An output topic that did not grow for so many looks may be complete: it is read then, but not before."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a peer works: the broker, the topic with the events."""

    uris: str
    broker_pid: int
    topic: str


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
    """From CREATE MATERIALIZED VIEW to a view of `expected`. Raises TimeoutError, ValueError (wrong)."""
    engine, broker = server.engine_cpu(), server.broker_cpu()
    began = time.monotonic()
    create_view(statements)
    rows, first, first_rows = expected.total(), 0.0, 0
    while (total := statements.number(TOTAL)) < rows:
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


def peer_catches_up(peer: Peer, place: Place, expected: Counter[str], folder: Path) -> CatchUp:
    """From the launch of the peer's process to an output topic whose last counts are `expected`.

    Raises PeerUnavailableError, TimeoutError.
    """
    sink, rows = f"visits-{peer.name}", expected.total()
    create_topic(place.uris, sink)
    broker, began = cpu_seconds(place.broker_pid), time.monotonic()
    with running_peer(peer, place.uris, place.topic, sink, folder) as running, Ends(place.uris, sink) as ends:
        growth = Growth(ends)
        while True:
            running.check()
            _not_longer_than(LIMIT_SECONDS, began)
            if growth.look() >= rows or growth.quiet():
                engine_cpu, broker_cpu = running.cpu(), cpu_seconds(place.broker_pid) - broker
                if last_counts(place.uris, sink) == expected:
                    break
            time.sleep(POLL)
    seconds, first = growth.last_at - began, growth.first_at - began
    return CatchUp(rows, first, growth.first_rows, seconds, engine_cpu, broker_cpu)


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
        """Whether it has stopped growing, asked once for every such pause."""
        return self._records > 0 and self._looks == QUIET_LOOKS


def last_counts(uris: str, topic: str) -> Counter[str]:
    """The last count of each url in an output topic."""
    consumer = Consumer({"bootstrap.servers": uris, "group.id": "bench-counts", "enable.auto.commit": False})
    with Ends(uris, topic) as ends:
        left = sum(ends.now())
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(PARTITIONS)])
    last: dict[bytes, bytes] = {}
    while left > 0:
        messages = consumer.consume(10_000, timeout=1)
        left -= len(messages)
        last.update((m.key(), m.value()) for m in messages if not m.error())
    consumer.close()
    rows = map(json.loads, last.values())
    return Counter({row["url"]: int(row["visits"]) for row in rows})


def _not_longer_than(seconds: float, began: float) -> None:
    if time.monotonic() - began > seconds:
        raise TimeoutError(f"not complete after {seconds:g} s")
