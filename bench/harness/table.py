"""Figures as plain text tables."""

from __future__ import annotations

from collections.abc import Sequence

Cell = str | int | float | None


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A table with its title: the first column to the left, figures to the right."""
    texts = [list(columns), *([written(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(columns))]
    lines = [_line(row, widths) for row in texts]
    return "\n".join([title, lines[0], "-" * len(lines[0]), *lines[1:]])


def written(cell: Cell) -> str:
    """Counts in full with thousands apart; measured values with three digits that mean something."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) or abs(cell) >= 100:
        return f"{cell:,.0f}"
    return f"{cell:.1f}" if abs(cell) >= 10 else f"{cell:.2f}"


def ratio(what: str, numerator: float | None, denominator: float | None) -> str | None:
    """A line that compares two figures; None if one of them was not measured."""
    if not numerator or not denominator:
        return None
    return f"{what}: {written(numerator)} / {written(denominator)} = {numerator / denominator:.2f}"


def aim(what: str, measured: float, limit: float, *, at_most: bool, unit: str) -> str:
    """A line that holds a figure against its aim."""
    met = measured <= limit if at_most else measured >= limit
    bound = "at most" if at_most else "at least"
    verdict = "met" if met else "missed"
    return f"{what}: {written(measured)} {unit}, aim {bound} {written(limit)} {unit}: {verdict}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (text.rjust(width) for text, width in zip(row, widths, strict=True))
    return "  ".join([row[0].ljust(len(first)), *others]).rstrip()
