"""The producer of the latency benchmarks: a process that sends events at an even rate and remembers when."""

from __future__ import annotations

import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event as Signal

from confluent_kafka import Producer

from harness.charging import Sent
from harness.events import Event, Events, just_now


@dataclass(frozen=True, slots=True)
class Pace:
    """`rate` events a second; once `measure` is set, `seconds` more, and these are the ones that count."""

    rate: float
    seconds: float
    measure: Signal


@dataclass(frozen=True, slots=True)
class SentLog:
    """Every row, warm-up included; those from `measured_from` on count. `late`: the latest, in ms."""

    rows: list[Sent]
    measured_from: int
    late: float

    @property
    def measured(self) -> list[Sent]:
        return self.rows[self.measured_from :]


def send_events(
    uris: str, topic: str, events: Events, pace: Pace, probes: Queue[tuple[str, int]] | None, result: Connection
) -> None:
    """The process: send, tell `probes` each row as it goes out, then send the SentLog to `result`."""
    if probes is not None:
        probes.cancel_join_thread()  # an observer that failed reads no more
    producer = Producer(
        {"bootstrap.servers": uris, "linger.ms": 0, "log_level": 3, "acks": "all", "partitioner": "murmur2_random"}
    )
    rows: list[Sent] = []
    measured_from, last, late = 0, -1, 0.0
    coming = events(just_now())
    due = time.monotonic()
    while last < 0 or len(rows) < last:
        if last < 0 and pace.measure.is_set():
            measured_from, late = len(rows), 0.0
            last = measured_from + int(pace.rate * pace.seconds)
        due += 1 / pace.rate
        late = max(late, _sleep_until(due))
        sent = _send(producer, topic, next(coming))
        rows.append(sent)
        if probes is not None:
            probes.put((sent.group, sent.number))
    producer.flush(30)
    result.send(SentLog(rows, measured_from, late * 1000))


def _sleep_until(due: float) -> float:
    """How many seconds too late it has become."""
    if (wait := due - time.monotonic()) > 0:
        time.sleep(wait)
    return time.monotonic() - due


def _send(producer: Producer, topic: str, event: Event) -> Sent:
    """One event; its time is taken before `produce`, so the producer's own share is in the latency."""
    key, value = event.record
    at = time.monotonic_ns()
    producer.produce(topic, value, key)
    producer.poll(0)
    return Sent(event.group, event.number, at)
