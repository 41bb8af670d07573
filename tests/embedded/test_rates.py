"""Rates from a counter that is looked at irregularly."""

from __future__ import annotations

import pytest

from millpond.embedded.rates import RateHistory


def history(*samples: tuple[float, int], seconds: int = 60) -> RateHistory:
    made = RateHistory(seconds)
    for at, count in samples:
        made.note(at, count)
    return made


@pytest.mark.parametrize(
    ("samples", "now", "per_second"),
    [
        ([], 0, []),
        ([(10.0, 500)], 0, []),
        ([(10.0, 0), (11.0, 100)], 100, [100]),
        ([(10.0, 0), (10.5, 50), (12.0, 200)], 100, [100, 100]),
        ([(10.5, 0), (11.5, 100), (13.5, 300)], 100, [100, 100]),
        ([(10.0, 0), (20.0, 1000), (21.0, 1000), (22.0, 1000), (23.0, 1000)], 0, [100] * 10 + [0, 0, 0]),
        ([(10.0, 900), (11.0, 3), (12.0, 8)], 5, [5]),
    ],
    ids=[
        "nothing",
        "one sample",
        "a second",
        "uneven",
        "between seconds",
        "came to rest",
        "counter made anew",
    ],
)
def test_rates(samples: list[tuple[float, int]], now: float, per_second: list[float]) -> None:
    made = history(*samples)
    assert made.now() == pytest.approx(now)
    assert made.per_second() == pytest.approx(per_second)


def test_only_the_last_minute_is_kept() -> None:
    made = history(*((i / 4, i * 25) for i in range(4 * 600)))
    assert len(made.per_second()) == 60
    assert made.per_second() == pytest.approx([100] * 60)
    assert len(made._samples) < 4 * 64
