"""What the benchmarks send: JSON events, deterministic by seed, each with what its output must tell of it."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

URLS = 100
USERS = 1_000
REGIONS = 10

Record = tuple[bytes, bytes]
"""A record's key and value."""


class Event(NamedTuple):
    """A record, and how its output is known: the first row of `group` whose number is not below `number`."""

    group: str
    number: int
    record: Record


Events = Callable[[Iterable[int]], Iterator[Event]]
"""Makes an event for each of the given times (epoch milliseconds)."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Events, and the columns of the engines' output that hold an event's group and number."""

    events: Events
    group: str
    number: str


def just_now() -> Iterator[int]:
    """The time at which each next event is made."""
    while True:
        yield int(time.time() * 1000)


def up_to_now(count: int) -> range:
    """`count` times, a millisecond apart, that end now."""
    now = int(time.time() * 1000)
    return range(now - count, now)


def url_of(number: int) -> str:
    """One of the hundred pages that are visited equally often."""
    return f"./page_{number:02d}"


def page_of(number: int) -> str:
    """One of a million pages; the load generators spell it likewise."""
    return f"./page/{number:07d}"


def region_of(user: int) -> str:
    """Where a user lives, from the user's first row on."""
    return f"Region_{user % REGIONS}"


def click(at: int, url: str, user: int, more: str = "") -> Record:
    """A click of `user` on `url`; the device and the address follow from the user. `more` is further fields."""
    userid = f"User_{user}"
    value = (
        f'{{"event_time":{at},"device_id":"device_{user % 1700:04d}","url":"{url}",'
        f'"ip":"10.1.{user >> 8}.{user & 255}","userid":"{userid}"{more}}}'
    )
    return userid.encode(), value.encode()


def clicks_by_url(times: Iterable[int], seed: int = 1) -> Iterator[Event]:
    """Clicks of 1,000 users on 100 urls; the n-th of its url has the number n."""
    chance, counts = random.Random(seed), Counter[str]()
    for at in times:
        url = url_of(int(chance.random() * URLS))
        counts[url] += 1
        yield Event(url, counts[url], click(at, url, int(chance.random() * USERS)))


def clicks_by_user(times: Iterable[int], seed: int = 2) -> Iterator[Event]:
    """Clicks, grouped by their user; an event's number is its place among all, and is in the row."""
    chance = random.Random(seed)
    for serial, at in enumerate(times, 1):
        user, url = int(chance.random() * USERS), url_of(int(chance.random() * URLS))
        yield Event(f"User_{user}", serial, click(at, url, user, f',"serial":{serial}'))


def clicks_by_region(times: Iterable[int], seed: int = 3) -> Iterator[Event]:
    """Clicks; the n-th from its user's region has the number n."""
    chance, counts = random.Random(seed), Counter[str]()
    for at in times:
        user, url = int(chance.random() * USERS), url_of(int(chance.random() * URLS))
        counts[region_of(user)] += 1
        yield Event(region_of(user), counts[region_of(user)], click(at, url, user))


def one_click_a_page(pages: int) -> Iterator[Event]:
    """One click on each of `pages` different urls, in order."""
    for number, at in enumerate(up_to_now(pages)):
        yield Event(page_of(number), 1, click(at, page_of(number), number % USERS))


def users(at: int) -> Iterator[Event]:
    """One row of each user, all at one time."""
    for user in range(USERS):
        userid = f"User_{user}"
        value = f'{{"registertime":{at},"userid":"{userid}","region":"{region_of(user)}"}}'
        yield Event(userid, 1, (userid.encode(), value.encode()))


VISITS = Workload(clicks_by_url, "url", "visits")
"""Outputs of a count per url."""

ENRICHED = Workload(clicks_by_user, "userid", "serial")
"""Outputs of a join of each click with its user."""

REGION_VISITS = Workload(clicks_by_region, "region", "visits")
"""Outputs of a count per region of the users."""
