"""Writes clicks to a topic at a steady rate, and counts what the broker has acknowledged."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from confluent_kafka import KafkaError, Message, Producer

from millpond.embedded.clicks import Click, ClickModel

TICK_SECONDS = 0.005
"""Clicks due within a tick go out together: shorter costs wake-ups, longer makes high rates bursty."""

CATCH_UP_SECONDS = 1.0
"""A generator held up for longer (a laptop that slept) goes on from now instead of making up for it."""


class ClickGenerator:
    """Sends `rate` clicks a second to `topic`, keyed by user, from `start` to `stop`, in a thread.

    It rides out a broker that goes away: the client's queue fills, it waits, nothing is sent twice.
    `region` tells where a user lived at a click's time.
    """

    def __init__(
        self,
        uris: str,
        topic: str = "clicks",
        rate: float = 100,
        seed: int = 77,
        region: Callable[[str, int], str | None] = lambda userid, at: None,
    ) -> None:
        self._topic = topic
        self._region = region
        self._model = ClickModel(seed)
        self._producer = Producer(
            {
                "bootstrap.servers": uris,
                "linger.ms": 0,
                "acks": "all",
                "enable.idempotence": True,
                "queue.buffering.max.messages": 50_000,
                "log_level": 0,
            }
        )
        self._rate = rate
        self._begin(0)
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._by_region: Counter[tuple[str, str | None]] = Counter()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clicks", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self, timeout: float = 30) -> None:
        """Send no more and wait until the broker has acknowledged what was sent."""
        self._stopping.set()
        self._thread.join(timeout)
        self._producer.flush(timeout)

    def set_rate(self, rate: float) -> None:
        """Clicks a second from now on."""
        self._rate = rate

    def counts(self) -> Counter[tuple[str, str, str]]:
        """How many clicks of each (userid, url, device_id) the broker has acknowledged."""
        return Counter(dict(self._counts))

    def by_region(self) -> Counter[tuple[str, str | None]]:
        """How many acknowledged clicks of each (url, region of the user at that time)."""
        return Counter(dict(self._by_region))

    def _run(self) -> None:
        while not self._stopping.is_set():
            if self._rate != self._pace:
                self._begin(self._rate)
            for _ in range(self._due()):
                self._send(self._model.click(time.time_ns() // 1_000_000))
            self._producer.poll(0)
            self._stopping.wait(self._pause())

    def _begin(self, rate: float) -> None:
        """Count what is due at `rate` from this moment."""
        self._pace = rate
        self._since = time.monotonic()
        self._sent = 0

    def _due(self) -> int:
        due = int((time.monotonic() - self._since) * self._pace) - self._sent
        if due > max(1.0, self._pace * CATCH_UP_SECONDS):
            self._begin(self._pace)
            return 1
        return due

    def _pause(self) -> float:
        """Seconds until the next click is due, a tick at least; a rate of 0 looks again soon."""
        if self._pace <= 0:
            return 0.1
        until = self._since + (self._sent + 1) / self._pace - time.monotonic()
        return min(max(until, TICK_SECONDS if self._pace > 1 / TICK_SECONDS else 0), 0.5)

    def _send(self, click: Click) -> None:
        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is None:
                self._counts[click.userid, click.url, click.device_id] += 1
                self._by_region[click.url, self._region(click.userid, click.event_time)] += 1

        self._sent += 1
        while not self._stopping.is_set():
            try:
                self._producer.produce(self._topic, click.json(), click.userid, on_delivery=delivered)
                return
            except BufferError:
                self._producer.poll(0.1)
