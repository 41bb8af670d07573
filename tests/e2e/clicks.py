"""Clicks for tests, and their recount in plain Python."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from confluent_kafka import Producer

COLUMNS = "event_time BIGINT, device_id VARCHAR, url VARCHAR, ip VARCHAR, userid VARCHAR"
START = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class Click:
    event_time: int
    device_id: str
    url: str
    ip: str
    userid: str


def make_clicks(count: int, seed: int = 7, start: int = START) -> list[Click]:
    """`count` clicks, ten a second, by 20 users on 8 pages; the same for the same seed."""
    chance = random.Random(seed)
    return [
        Click(
            start + 100 * n,
            f"d{chance.randrange(3)}",
            f"./p{chance.randrange(8)}",
            "10.0.0.1",
            f"u{chance.randrange(20)}",
        )
        for n in range(count)
    ]


def send(uris: str, topic: str, clicks: Iterable[Click]) -> None:
    """Write the clicks, keyed by user, and wait until the broker has them."""
    producer = Producer({"bootstrap.servers": uris, "linger.ms": 0, "enable.idempotence": True})
    for click in clicks:
        producer.produce(topic, json.dumps(asdict(click)), key=click.userid)
        producer.poll(0)
    assert producer.flush(60) == 0


def visits(clicks: Iterable[Click], *columns: str) -> list[list[str | None]]:
    """Rows of (columns..., count), as the API writes them, in the order of the columns."""
    counts: Counter[Sequence[str]] = Counter(tuple(str(getattr(c, name)) for name in columns) for c in clicks)
    return [[*key, str(n)] for key, n in sorted(counts.items())]
