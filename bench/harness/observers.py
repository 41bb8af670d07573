"""The observers of the latency benchmark: processes that note when somebody outside sees a count.

Each takes the times of what it sees with the same clock as the sender (monotonic, one for the whole machine),
sets `seen` at the first output, stops when `stop` is set, and then sends its list of `Seen` to `result`.
"""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from queue import Empty
from typing import Any, TypeAlias

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from harness.charging import Seen
from harness.chunked import ChunkedLines
from harness.statements import Statements
from harness.topics import PARTITIONS
from harness.views import VIEW, visits_of

FETCH_WAIT_MS = 10
"""How long a fetch may wait at the broker, which answers at once when there is a record."""

PULL_PAUSE = 0.001
"""Seconds between two rounds of asking for rows that are not there yet: at most 1,000 rounds a second."""

Probes: TypeAlias = "Queue[tuple[str, int]]"
"""How the sender tells the pull observer (url, count) of each row as it goes out."""

TICK = 0.2
"""Seconds after which an observer looks whether it shall stop."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What an observer and its benchmark tell each other."""

    seen: Event
    stop: Event
    result: Connection


def observe(watch: Callable[..., None], args: Sequence[Any], signals: Signals) -> None:
    """The process: `watch(*args, signals)`. If it fails, its result is a text that says why."""
    try:
        watch(*args, signals)
    except Exception as e:  # noqa: BLE001 - the boundary of the process: the others go on
        signals.result.send(f"not measured: {e}")
        signals.seen.set()


def watch_topic(uris: str, topic: str, group: str, number: str, signals: Signals) -> None:
    """Reads an engine's output topic; `group` and `number` are columns of its rows."""
    consumer = Consumer(
        {
            "bootstrap.servers": uris,
            "group.id": "bench-watch",
            "fetch.wait.max.ms": FETCH_WAIT_MS,
            "fetch.min.bytes": 1,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(PARTITIONS)])
    records: list[tuple[int, bytes]] = []
    while not signals.stop.is_set():
        message = consumer.poll(TICK)
        if message is None or message.error() or message.value() is None:
            continue
        records.append((time.monotonic_ns(), message.value()))
        signals.seen.set()
    consumer.close()
    signals.result.send([_of_record(at, json.loads(value), group, number) for at, value in records])


def watch_push(port: int, signals: Signals) -> None:
    """Follows the view with a push query."""
    body = json.dumps({"statement": f"SELECT * FROM {VIEW} EMIT CHANGES;"}).encode()
    head = (
        f"POST /v2/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    pieces: list[tuple[int, bytes]] = []
    with socket.create_connection(("127.0.0.1", port)) as stream:
        stream.sendall(head.encode() + body)
        while not signals.stop.is_set():
            if select.select([stream], [], [], TICK)[0]:
                data = stream.recv(1 << 16)
                pieces.append((time.monotonic_ns(), data))
                if not data:
                    break
                if b'"upsert"' in data:
                    signals.seen.set()
    signals.result.send(_of_pieces(pieces))


def watch_pull(port: int, urls: frozenset[str], sent: Probes, signals: Signals) -> None:
    """Asks for each of `urls` that got a click, again and again, until the answer covers the click."""
    server = Statements(port)
    wanted: dict[str, int] = {}
    outputs: list[Seen] = []
    while not signals.stop.is_set():
        wanted.update((url, visits) for url, visits in _told(sent, 0 if wanted else TICK) if url in urls)
        for url in list(wanted):
            output = _ask(server, url)
            outputs.append(output)
            if output.number >= wanted[url]:
                del wanted[url]
                signals.seen.set()
        if wanted:
            time.sleep(PULL_PAUSE)
    server.close()
    signals.result.send(outputs)


def _told(sent: Probes, patience: float) -> Iterator[tuple[str, int]]:
    """What there is to read, the first of it waited for."""
    try:
        yield sent.get(patience > 0, patience)
        while True:
            yield sent.get_nowait()
    except Empty:
        return


def _ask(server: Statements, url: str) -> Seen:
    count = server.number(visits_of(url))
    return Seen(url, count, time.monotonic_ns())


def _of_record(at: int, row: dict[str, Any], group: str, number: str) -> Seen:
    return Seen(row[group], int(row[number]), at)


def _of_pieces(pieces: Iterable[tuple[int, bytes]]) -> list[Seen]:
    """The changes in a streamed answer, each at the time of the piece that completed its line."""
    lines = ChunkedLines()
    timed = [(at, json.loads(line)) for at, data in pieces for line in lines.feed(data)]
    if broken := [line["error"] for _, line in timed if "error" in line]:
        raise ValueError(broken[0].get("message"))
    if lines.status != 200:
        raise ValueError(f"the push query was answered with HTTP status {lines.status}")
    changes = [(at, line["row"]) for at, line in timed if line.get("op") == "upsert"]
    return [Seen(row[0], int(row[1]), at) for at, row in changes]
