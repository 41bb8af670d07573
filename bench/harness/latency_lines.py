"""Latencies of several engines: their table, ours by the peers', and ours held against the aims."""

from __future__ import annotations

from collections.abc import Sequence

from harness.latency_run import Latency
from harness.lines import lines_table, peers_of
from harness.table import Cell, aim, ratio

Latencies = dict[str, Latency | str]
"""By the line's name."""

AIMS = (("p50", 10), ("p99", 50))
"""Milliseconds."""


def latency_table(title: str, seen: str, lines: Latencies) -> str:
    """Milliseconds from `send` to what `seen` names."""
    columns = (f"ms from send to {seen}", "p50", "p90", "p99", "max", "rows", "not seen")
    return lines_table(title, columns, lines, _cells)


def _cells(line: Latency) -> Sequence[Cell]:
    f = line.figures
    return (f.p50, f.p90, f.p99, f.max, f.count, line.missing)


def latency_ratios(ours: Latency, lines: Latencies, of: str = "") -> list[str]:
    """Our percentiles by each peer's; `of` says in the text which ones of ours."""
    said = [
        ratio(f"{p}{of}, Millpond / {name}", getattr(ours.figures, p), getattr(line.figures, p))
        for name, line in peers_of(lines)
        for p, _ in AIMS
    ]
    return [line for line in said if line]


def latency_aims(ours: Latency, of: str = "") -> list[str]:
    return [aim(f"{p}{of}", getattr(ours.figures, p), limit, at_most=True, unit="ms") for p, limit in AIMS]
