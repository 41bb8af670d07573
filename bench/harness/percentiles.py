"""Percentiles of latencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of `count` values, in their unit."""

    count: int
    p50: float
    p90: float
    p99: float
    max: float


def percentiles(values: Sequence[float]) -> Percentiles:
    """By nearest rank: every percentile is a value that was measured. Raises ValueError for no values."""
    if not values:
        raise ValueError("no values")
    ranked = sorted(values)
    p50, p90, p99 = (ranked[ceil(len(ranked) * p / 100) - 1] for p in (50, 90, 99))
    return Percentiles(len(ranked), p50, p90, p99, ranked[-1])
