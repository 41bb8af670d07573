"""Catch-ups of several engines: their table, and ours compared with the peers'."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.catchup_run import CatchUp
from harness.lines import MILLPOND, lines_table, peers_of
from harness.table import Cell, aim, ratio

CatchUps = dict[str, CatchUp | str]
"""By the engine's description."""

COLUMNS = (
    "thousand rows/s",
    "with start-up",
    "after 1st output",
    "seconds",
    "1st output s",
    "engine CPU s",
    "broker CPU s",
    "wrong rows",
)


def catchup_table(title: str, lines: CatchUps) -> str:
    return lines_table(title, COLUMNS, lines, _cells)


def _cells(line: CatchUp) -> Sequence[Cell]:
    after = line.rate_after_first / 1e3 if line.rate_after_first else None
    cpu = (round(line.engine_cpu, 1), round(line.broker_cpu, 1))
    return (line.rate / 1e3, after, line.seconds, line.first_output, *cpu, line.wrong)


def comparisons(lines: CatchUps, wanted: Callable[[str], float | None]) -> list[str]:
    """Ratios of rows/s with start-up and of CPU seconds; `wanted` is the aim by the peer's description, if any."""
    ours = lines.get(MILLPOND)
    if not isinstance(ours, CatchUp):
        return []
    said: list[str | None] = []
    for name, line in peers_of(lines):
        said.append(ratio(f"rows/s with start-up, Millpond / {name}", ours.rate, line.rate))
        said.append(ratio(f"engine CPU s, Millpond / {name}", ours.engine_cpu, line.engine_cpu))
        if limit := wanted(name):
            said.append(aim(f"rows/s against {name}", ours.rate / line.rate, limit, at_most=False, unit="times"))
    return [line for line in said if line]
