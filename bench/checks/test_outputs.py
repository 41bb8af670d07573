"""What must come out of an engine, and the events that it comes from."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from harness.events import ENRICHED, REGION_VISITS, VISITS, Event, Workload, region_of
from harness.join_work import orders_and_payments
from harness.outputs import last_counts, tally

TIMES = range(5_000, 8_000)


def column(event: Event, name: str) -> str:
    return str(json.loads(event.record[1])[name])


def user(event: Event) -> int:
    return int(column(event, "userid").removeprefix("User_"))


def test_the_last_count_of_each_group_counts() -> None:
    rows: list[tuple[bytes, dict[str, Any]]] = [
        (b"a", {"url": "a", "visits": 1}),
        (b"b", {"url": "b", "visits": "1"}),
        (b"a", {"url": "a", "visits": 2}),
    ]
    assert last_counts("url", "visits")(iter(rows)) == Counter(a=2, b=1)


def test_every_joined_row_counts() -> None:
    rows: list[tuple[bytes, dict[str, Any]]] = [
        (b"k", {"n": 1, "region": "x"}),
        (b"k", {"n": 1, "region": "x"}),
        (b"l", {"n": 2, "region": "y"}),
    ]
    assert tally("region")(iter(rows)) == Counter(x=2, y=1)
    assert tally("n", "region")(iter(rows)) == Counter({"1 x": 2, "2 y": 1})


@pytest.mark.parametrize("workload", [VISITS, ENRICHED, REGION_VISITS])
def test_events_are_the_same_each_time_and_their_numbers_rise(workload: Workload) -> None:
    events = list(workload.events(TIMES))
    assert events == list(workload.events(TIMES))
    assert [int(column(e, "event_time")) for e in events] == list(TIMES)
    last: dict[str, int] = {}
    for event in events:
        assert event.number > last.get(event.group, 0)
        last[event.group] = event.number


def test_the_groups_of_events_are_those_of_the_rows_that_come_out() -> None:
    assert all(e.group == column(e, "url") for e in VISITS.events(TIMES))
    assert all((e.group, str(e.number)) == (column(e, "userid"), column(e, "serial")) for e in ENRICHED.events(TIMES))
    assert all(e.group == region_of(user(e)) for e in REGION_VISITS.events(TIMES))


def test_every_order_is_paid_within_a_minute() -> None:
    orders = list(orders_and_payments(TIMES))
    assert len({order.group for order, _ in orders}) == len(TIMES)
    for order, (paid_at, payment) in orders:
        assert column(payment, "orderid") == order.group
        assert 0 <= paid_at - int(column(order, "ordered_at")) < 60_000
