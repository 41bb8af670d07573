"""Which output answers for which input row: the first one of its group whose number covers it.

An engine that writes one update for ten rows makes the first of the ten wait; charging every row, not every
output, keeps that visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Sent(NamedTuple):
    """An input row, sent at `at` (ns, monotonic); its `number` is above those of earlier rows of its group."""

    group: str
    number: int
    at: int


class Seen(NamedTuple):
    """An output that covers its group's rows up to `number`, as it was seen at `at` (ns, monotonic)."""

    group: str
    number: int
    at: int


@dataclass(frozen=True, slots=True)
class Charged:
    """Milliseconds for every row that was covered, and how many never were."""

    latencies: list[float]
    missing: int


def charge(rows: Iterable[Sent], outputs: Sequence[Seen]) -> Charged:
    """Charge each row with the earliest output of its group that covers it; both are in order of time."""
    milestones = _milestones(outputs)
    place = dict.fromkeys(milestones, 0)
    latencies, missing = [], 0
    for row in rows:
        counts = milestones.get(row.group, [])
        at = place.get(row.group, 0)
        while at < len(counts) and counts[at].number < row.number:
            at += 1
        place[row.group] = at
        if at < len(counts):
            latencies.append((counts[at].at - row.at) / 1e6)
        else:
            missing += 1
    return Charged(latencies, missing)


def _milestones(outputs: Iterable[Seen]) -> dict[str, list[Seen]]:
    """Per group the outputs that went further than all before: a count that repeats or falls covers nothing."""
    reached: dict[str, list[Seen]] = {}
    for output in outputs:
        counts = reached.setdefault(output.group, [])
        if not counts or output.number > counts[-1].number:
            counts.append(output)
    return reached
