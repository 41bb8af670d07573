"""One engine's turn of the latency benchmark: sender and observers, warm-up, measurement, drain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from harness.charging import Seen, charge
from harness.events import Workload
from harness.observers import Probes, Signals, observe, watch_pull, watch_push, watch_topic
from harness.peer_install import PeerUnavailableError
from harness.peers import Job, Peer, running_peer
from harness.percentiles import Percentiles, percentiles
from harness.progress import progress
from harness.sender import Pace, SentLog, send_events
from harness.topics import create_topic

SPAWN = get_context("spawn")

FIRST_OUTPUT_SECONDS = 180
"""Flink's first output may take half a minute on a busy machine; after so long an engine is broken."""

DRAIN_SECONDS = 5
"""Wait for outputs after the last row: ten times a batch boundary."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`rate` events a second for `seconds`, after `warmup` seconds of the same from the first output on."""

    rate: float
    seconds: float
    warmup: float


@dataclass(slots=True)
class Observer:
    """A process that runs `watch(*args, signals)`; `keys` if it sees only some urls."""

    name: str
    watch: Callable[..., None]
    args: tuple[Any, ...]
    keys: frozenset[str] | None = None
    signals: Signals = field(init=False)
    result: Connection = field(init=False)

    def process(self) -> SpawnProcess:
        self.result, theirs = SPAWN.Pipe(duplex=False)
        self.signals = Signals(SPAWN.Event(), SPAWN.Event(), theirs)
        return SPAWN.Process(target=observe, args=(self.watch, self.args, self.signals), daemon=True)


@dataclass(frozen=True, slots=True)
class Latency:
    """What an observer saw, in milliseconds; `missing` rows were not covered in time."""

    figures: Percentiles
    missing: int
    by_second: list[float]
    """The worst latency of the rows of each second: shows pauses at a glance."""


def topic_observer(name: str, uris: str, topic: str, workload: Workload) -> Observer:
    return Observer(name, watch_topic, (uris, topic, workload.group, workload.number))


def push_observer(name: str, port: int) -> Observer:
    return Observer(name, watch_push, (port,))


def pull_observer(name: str, port: int, urls: frozenset[str], sent: Probes) -> Observer:
    return Observer(name, watch_pull, (port, urls, sent), urls)


def measure(
    uris: str,
    topic: str,
    workload: Workload,
    plan: Plan,
    observers: Sequence[Observer],
    check: Callable[[], None],
    probes: Probes | None = None,
) -> dict[str, Latency | str]:
    """Run the sender against `topic`; what each observer saw, or why it saw nothing, by its name.

    `check` raises if the engine has ended. Raises RuntimeError if sender or observers end without a result.
    """
    measuring = SPAWN.Event()
    received, theirs = SPAWN.Pipe(duplex=False)
    pace = Pace(plan.rate, plan.seconds, measuring)
    sender = SPAWN.Process(target=send_events, args=(uris, topic, workload.events, pace, probes, theirs), daemon=True)
    with running([observer.process() for observer in observers] + [sender]):
        _wait_for_outputs(observers, check)
        progress(f"{plan.warmup:g} s of warm-up")
        time.sleep(plan.warmup)
        progress(f"measuring {plan.seconds:g} s at {plan.rate:g} events/s")
        measuring.set()
        sent: SentLog = _received(received, plan.seconds + 60, "the sender")
        progress(f"the sender was at most {sent.late:.1f} ms late")
        time.sleep(DRAIN_SECONDS)
        for observer in observers:
            observer.signals.stop.set()
        return {observer.name: _latency(observer, sent, plan.rate) for observer in observers}


def peer_latency(peer: Peer, job: Job, uris: str, workload: Workload, plan: Plan, folder: Path) -> Latency | str:
    """Of the rows of a peer's output topic, or why there is none; events go to the first of the job's topics."""
    source, sink = job.topics[0], job.sink(peer)
    for topic in (source, sink):
        create_topic(uris, topic)
    try:
        with running_peer(peer, job, uris, folder) as running:
            observer = topic_observer(peer.told, uris, sink, workload)
            return measure(uris, source, workload, plan, [observer], running.check)[peer.told]
    except PeerUnavailableError as e:
        return f"not measured: {e}"


def _wait_for_outputs(observers: Sequence[Observer], check: Callable[[], None]) -> None:
    """Until each has seen something; who sees nothing does not keep the others from measuring."""
    deadline = time.monotonic() + FIRST_OUTPUT_SECONDS
    while blind := [observer.name for observer in observers if not observer.signals.seen.is_set()]:
        check()
        if time.monotonic() > deadline:
            progress(f"no output yet: {', '.join(blind)}")
            return
        time.sleep(0.2)


@contextmanager
def running(processes: Sequence[SpawnProcess]) -> Iterator[None]:
    """Start the processes; they are ended on the way out."""
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join(10)


def _received(connection: Connection, seconds: float, who: str) -> Any:
    """A process's result. Raises RuntimeError if it ended without one or took too long."""
    try:
        if connection.poll(seconds):
            return connection.recv()
    except EOFError:
        pass
    raise RuntimeError(f"{who} gave no result")


def _latency(observer: Observer, sent: SentLog, rate: float) -> Latency | str:
    outputs: list[Seen] | str = _received(observer.result, 60, observer.name)
    if isinstance(outputs, str):
        return outputs
    rows = [row for row in sent.measured if observer.keys is None or row.group in observer.keys]
    charged = charge(rows, outputs)
    if not charged.latencies:
        return f"not measured: none of {len(rows)} rows was seen"
    share = rate * len(rows) / len(sent.measured)
    by_second = _worst_of_each(charged.latencies, max(1, round(share)))
    return Latency(percentiles(charged.latencies), charged.missing, by_second)


def _worst_of_each(latencies: Sequence[float], size: int) -> list[float]:
    return [round(max(latencies[i : i + size]), 1) for i in range(0, len(latencies), size)]
