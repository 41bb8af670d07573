"""What the joins must give, in plain Python: no state, no clocks, every pair looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """A row of a stream. Times are milliseconds."""

    time: int
    key: str | None
    name: str


@dataclass(frozen=True)
class Version:
    """A record of a changelog; `name` None is a delete. `place` is its order in the topic."""

    time: int
    key: str
    name: str | None
    place: int


def temporal(batches: Sequence[tuple[Sequence[Event], Sequence[Version]]], left: bool) -> list[tuple[str, str | None]]:
    """(event, version) names. An event knows the versions of its own batch and of those before."""
    known: list[Version] = []
    rows: list[tuple[str, str | None]] = []
    for events, versions in batches:
        known += versions
        for event in events:
            valid = [v for v in known if v.key == event.key and v.time <= event.time]
            last = max(valid, key=lambda v: (v.time, v.place), default=None)
            name = last.name if last else None
            if name is not None or left:
                rows.append((event.name, name))
    return rows


def interval(
    lefts: Sequence[Event], rights: Sequence[Event], before: int, after: int, pads: str = ""
) -> list[tuple[str | None, str | None]]:
    """(left, right) names; `pads` is LEFT, RIGHT or FULL for the rows of that side that are alone."""
    pairs = [
        (a, b)
        for a in lefts
        for b in rights
        if a.key is not None and a.key == b.key and -before <= b.time - a.time <= after
    ]
    rows: list[tuple[str | None, str | None]] = [(a.name, b.name) for a, b in pairs]
    if pads in ("LEFT", "FULL"):
        rows += [(a.name, None) for a in lefts if all(a is not x for x, _ in pairs)]
    if pads in ("RIGHT", "FULL"):
        rows += [(None, b.name) for b in rights if all(b is not y for _, y in pairs)]
    return rows
