"""Which output answers for which input row: the first one of its key whose count covers it.

An engine that writes one update for ten rows makes the first of the ten wait; charging every row, not every
output, keeps that visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Sent(NamedTuple):
    """An input row: the `visits`-th of its key since the topic was empty, sent at `at` (ns, monotonic)."""

    key: str
    visits: int
    at: int


class Seen(NamedTuple):
    """An output: the key's count `visits` as it was seen at `at` (ns, monotonic)."""

    key: str
    visits: int
    at: int


@dataclass(frozen=True, slots=True)
class Charged:
    """Milliseconds for every row that was covered, and how many never were."""

    latencies: list[float]
    missing: int


def charge(rows: Iterable[Sent], outputs: Sequence[Seen]) -> Charged:
    """Charge each row with the earliest output of its key that covers it; both are in order of time."""
    milestones = _milestones(outputs)
    place = dict.fromkeys(milestones, 0)
    latencies, missing = [], 0
    for row in rows:
        counts = milestones.get(row.key, [])
        at = place.get(row.key, 0)
        while at < len(counts) and counts[at].visits < row.visits:
            at += 1
        place[row.key] = at
        if at < len(counts):
            latencies.append((counts[at].at - row.at) / 1e6)
        else:
            missing += 1
    return Charged(latencies, missing)


def _milestones(outputs: Iterable[Seen]) -> dict[str, list[Seen]]:
    """Per key the outputs that went further than all before: a count that repeats or falls covers nothing."""
    reached: dict[str, list[Seen]] = {}
    for output in outputs:
        counts = reached.setdefault(output.key, [])
        if not counts or output.visits > counts[-1].visits:
            counts.append(output)
    return reached
