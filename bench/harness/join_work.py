"""The joins that are measured: their topics, our statements, the peers' jobs, and what must come out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from harness.events import ENRICHED, REGION_VISITS, USERS, Event, Events, Workload, region_of, up_to_now, users
from harness.outputs import Output, last_counts, tally
from harness.topics import create_topic, fill
from harness.views import STREAM_COLUMNS, CountView

DAY = 86_400_000

CLICKS = (
    f"CREATE STREAM clicks ({STREAM_COLUMNS}, serial BIGINT) WITH ('topic'='clicks', 'value.format'='json', "
    "'timestamp'='event_time', 'key.format'='primitive', 'key.type'='VARCHAR');"
)
PEOPLE = (
    "CREATE CHANGELOG users (registertime BIGINT, userid VARCHAR, region VARCHAR, PRIMARY KEY (userid)) "
    "WITH ('topic'='users', 'value.format'='json', 'key.format'='primitive', 'timestamp'='registertime');"
)
ENRICH = (
    "CREATE STREAM enriched AS SELECT c.userid, c.serial, c.url, COALESCE(u.region, 'none') AS region "
    "FROM clicks AS c WITH ('starting.position'='earliest') LEFT JOIN users AS u ON c.userid = u.userid;"
)
REGIONS = CountView(
    "region_visits",
    "region",
    "clicks AS c WITH ('starting.position'='earliest') LEFT JOIN users AS u ON c.userid = u.userid",
    "COALESCE(u.region, 'none')",
)
ORDERS = (
    "CREATE STREAM orders (ordered_at BIGINT, orderid VARCHAR, amount DOUBLE) WITH ('topic'='orders', "
    "'value.format'='json', 'timestamp'='ordered_at', 'key.format'='primitive', 'key.type'='VARCHAR');"
)
PAYMENTS = (
    "CREATE STREAM payments (paid_at BIGINT, orderid VARCHAR, method VARCHAR) WITH ('topic'='payments', "
    "'value.format'='json', 'timestamp'='paid_at', 'key.format'='primitive', 'key.type'='VARCHAR');"
)
MATCH = (
    "CREATE STREAM paid AS SELECT o.orderid, o.amount, p.method "
    "FROM orders AS o WITH ('starting.position'='earliest') "
    "JOIN payments AS p WITH ('starting.position'='earliest') WITHIN 5 MINUTES ON o.orderid = p.orderid;"
)

LONGEST_PAYMENT = 60_000
"""Milliseconds after the order, at most."""


@dataclass(frozen=True, slots=True)
class Join:
    """One of the joins. `sink` is a statement, or the view that is asked; `outputs` counts an output topic's groups."""

    job: str
    told: str
    topics: tuple[str, ...]
    declared: tuple[str, ...]
    sink: str | CountView
    output_topic: str
    fill: Callable[[str, int], Output]
    live: Workload | None = None

    def create(self) -> str:
        """The statement that starts it."""
        return self.sink if isinstance(self.sink, str) else self.sink.create


def fill_users(uris: str, topic: str = "users") -> None:
    """A row of each user, a day old."""
    create_topic(uris, topic)
    fill(uris, topic, users(up_to_now(0).start - DAY))


def _fill_clicks(uris: str, clicks: Events, count: int) -> None:
    fill_users(uris)
    create_topic(uris, "clicks")
    fill(uris, "clicks", clicks(up_to_now(count)))


def _fill_to_enrich(uris: str, count: int) -> Output:
    _fill_clicks(uris, ENRICHED.events, count)
    rows = Counter(
        f"{event.number} {event.group} {region_of(int(event.group.removeprefix('User_')))}"
        for event in ENRICHED.events(range(count))
    )
    return Output(rows, tally("serial", "userid", "region"))


def _fill_to_count(uris: str, count: int) -> Output:
    _fill_clicks(uris, REGION_VISITS.events, count)
    regions = Counter(event.group for event in REGION_VISITS.events(range(count)))
    return Output(regions, last_counts("region", "visits"), coalesced=True)


def _fill_to_match(uris: str, pairs: int) -> Output:
    orders = list(orders_and_payments(up_to_now(pairs)))
    for topic, events in (("orders", (order for order, _ in orders)), ("payments", _in_order(orders))):
        create_topic(uris, topic)
        fill(uris, topic, events)
    return Output(Counter(order.group for order, _ in orders), tally("orderid"))


def orders_and_payments(times: Iterable[int]) -> Iterator[tuple[Event, tuple[int, Event]]]:
    """Each order, with its payment and the time of that."""
    chance = random.Random(4)
    for number, at in enumerate(times):
        orderid = f"order_{number:07d}"
        paid_at = at + int(chance.random() * LONGEST_PAYMENT)
        order = f'{{"ordered_at":{at},"orderid":"{orderid}","amount":{number % 1000}.5}}'
        payment = f'{{"paid_at":{paid_at},"orderid":"{orderid}","method":"method_{number % 5}"}}'
        yield _of_order(orderid, order), (paid_at, _of_order(orderid, payment))


def _of_order(orderid: str, value: str) -> Event:
    return Event(orderid, 1, (orderid.encode(), value.encode()))


def _in_order(orders: Iterable[tuple[Event, tuple[int, Event]]]) -> Iterator[Event]:
    payments = sorted((payment for _, payment in orders), key=lambda timed: timed[0])
    return (event for _, event in payments)


JOINS = (
    Join(
        "enrich",
        f"each click with the region of its user, one of {USERS:,}",
        ("clicks", "users"),
        (CLICKS, PEOPLE),
        ENRICH,
        "enriched",
        _fill_to_enrich,
        ENRICHED,
    ),
    Join(
        "regions",
        "the same, counted per region",
        ("clicks", "users"),
        (CLICKS, PEOPLE),
        REGIONS,
        REGIONS.topic_prefix,
        _fill_to_count,
        REGION_VISITS,
    ),
    Join(
        "match",
        "each order with its payment, at most five minutes apart",
        ("orders", "payments"),
        (ORDERS, PAYMENTS),
        MATCH,
        "paid",
        _fill_to_match,
    ),
)
