"""The length of real-time batches: long where little comes, so that few rows meet a boundary, else short."""

from __future__ import annotations

import uuid

import pytest

from millpond.errors import MillpondError
from millpond.queries.batch_length import (
    LONGEST,
    LOOK_SECONDS,
    SHORTEST,
    STAGGER_SECONDS,
    BatchLength,
    batch_seconds,
)

NO_SPREAD = "000000"


@pytest.mark.parametrize(
    ("rate", "seconds"),
    [(0, LONGEST), (1, LONGEST), (300, LONGEST), (2_000, 100), (5_000, 40), (100_000, SHORTEST)],
)
def test_the_length_follows_the_rate(rate: float, seconds: int) -> None:
    assert batch_seconds(rate, NO_SPREAD) == seconds


@pytest.mark.parametrize("rate", [0, 10, 1_000, 50_000])
def test_boundaries_of_queries_do_not_fall_together(rate: float) -> None:
    lengths = {batch_seconds(rate, str(uuid.UUID(int=n << 104))) for n in range(100)}
    assert len(lengths) == STAGGER_SECONDS


def test_an_operators_choice_counts() -> None:
    assert World(1_000_000).length(fixed=5).seconds == 5


class World:
    """Rows and a clock that tests set."""

    def __init__(self, rate: float) -> None:
        self.rate, self.now, self.rows = rate, 0.0, 0

    def length(self, fixed: int = 0) -> BatchLength:
        return BatchLength(lambda: self.rate, lambda: self.rows, NO_SPREAD, fixed, lambda: self.now)

    def later(self, rate: float) -> None:
        self.rows, self.now = self.rows + round(rate * LOOK_SECONDS), self.now + LOOK_SECONDS


@pytest.mark.parametrize(
    ("before", "after", "misfits"),
    [
        (300, 300, False),
        (300, 600, False),
        (300, 30_000, True),
        (30_000, 300, True),
        (2_000, 4_000, False),
        (0, 0, False),
    ],
)
def test_a_rate_that_changes_much_wants_another_length(before: float, after: float, misfits: bool) -> None:
    world = World(before)
    length = world.length()
    world.later(after)
    assert length.misfits() is misfits


def test_the_rate_is_looked_at_now_and_then_only() -> None:
    world = World(300)
    length = world.length()
    world.rows = 3_000_000
    assert not length.misfits()
    world.later(0)
    assert length.misfits()
    assert not length.misfits()


def test_a_store_that_is_away_changes_nothing() -> None:
    world = World(300)
    length = world.length()

    def away() -> int:
        raise MillpondError("STORE_UNREACHABLE", store="kafka", reason="gone")

    length.rows = away
    world.later(300)
    assert not length.misfits()


def test_an_operators_choice_always_fits() -> None:
    world = World(300)
    length = world.length(fixed=60)
    world.later(1_000_000)
    assert not length.misfits()
    assert length.seconds == 60
