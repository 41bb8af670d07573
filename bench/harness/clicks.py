"""The events of all benchmarks: clicks as JSON, deterministic by seed."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

URLS = 100
USERS = 1_000

STREAM_COLUMNS = "event_time BIGINT, device_id VARCHAR, url VARCHAR, ip VARCHAR, userid VARCHAR"

Record = tuple[bytes, bytes]
"""A record's key (the user) and value."""


def url_of(number: int) -> str:
    """One of the hundred pages that are visited equally often."""
    return f"./page_{number:02d}"


def page_of(number: int) -> str:
    """One of a million pages; the load generators spell it likewise."""
    return f"./page/{number:07d}"


def record(event_time: int, url: str, user: int) -> Record:
    """A click of `user` on `url`; the device and the address follow from the user."""
    userid = f"User_{user}"
    value = (
        f'{{"event_time":{event_time},"device_id":"device_{user % 1700:04d}","url":"{url}",'
        f'"ip":"10.1.{user >> 8}.{user & 255}","userid":"{userid}"}}'
    )
    return userid.encode(), value.encode()


def uniform_clicks(count: int, seed: int = 1) -> Iterator[tuple[str, Record]]:
    """`count` clicks of 1,000 users on 100 urls, a millisecond apart and ending now, each with its url."""
    chance = random.Random(seed)
    start = int(time.time() * 1000) - count
    for number in range(count):
        url = url_of(int(chance.random() * URLS))
        yield url, record(start + number, url, int(chance.random() * USERS))


def one_click_a_page(pages: int) -> Iterator[tuple[str, Record]]:
    """One click on each of `pages` different urls, in order."""
    start = int(time.time() * 1000) - pages
    for number in range(pages):
        url = page_of(number)
        yield url, record(start + number, url, number % USERS)
