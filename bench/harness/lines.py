"""What was measured of several engines, a line of a table each; a text says why one was not measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from harness.catchup_run import CatchUp
from harness.latency_run import Latency
from harness.table import Cell, table

L = TypeVar("L", bound=Latency | CatchUp)

MILLPOND = "Millpond"
"""What the names of our lines begin with."""


def plain_lines(lines: Mapping[str, L | str]) -> dict[str, Any]:
    """As they go into the results."""
    return {name: line if isinstance(line, str) else asdict(line) for name, line in lines.items()}


def lines_table(
    title: str, columns: Sequence[str], lines: Mapping[str, L | str], cells: Callable[[L], Sequence[Cell]]
) -> str:
    """A table of all lines: the name, or the name with the reason, and the cells of those that were measured."""
    rows: list[Sequence[Cell]] = []
    for name, line in lines.items():
        if isinstance(line, str):
            rows.append((f"{name}: {line}", *([None] * (len(columns) - 1))))
        else:
            rows.append((name, *cells(line)))
    return table(title, columns, rows)


def peers_of(lines: Mapping[str, L | str]) -> list[tuple[str, L]]:
    """The lines of other engines than ours, as far as they were measured."""
    return [(n, line) for n, line in lines.items() if not isinstance(line, str) and not n.startswith(MILLPOND)]
