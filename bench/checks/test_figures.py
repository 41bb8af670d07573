"""Percentiles, tables, ratios and aims."""

from __future__ import annotations

import pytest
from harness.percentiles import Percentiles, percentiles
from harness.table import Cell, aim, ratio, table, written


def test_percentiles_are_values_that_were_measured() -> None:
    assert percentiles([float(n) for n in range(100, 0, -1)]) == Percentiles(100, 50, 90, 99, 100)


def test_one_value_is_all_percentiles() -> None:
    assert percentiles([7.0]) == Percentiles(1, 7, 7, 7, 7)


def test_no_values_have_no_percentiles() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentiles([])


@pytest.mark.parametrize(
    ("cell", "text"),
    [(None, "-"), ("x", "x"), (1234567, "1,234,567"), (0.456, "0.46"), (12.34, "12.3"), (1234.5, "1,234")],
)
def test_a_cell(cell: Cell, text: str) -> None:
    assert written(cell) == text


def test_a_table_has_its_figures_to_the_right() -> None:
    assert table("T", ("engine", "ms"), [("a", 1.5), ("b", 20)]).splitlines() == [
        "T",
        "engine    ms",
        "------------",
        "a       1.50",
        "b         20",
    ]


def test_a_ratio_needs_both_figures() -> None:
    assert ratio("x", 3.0, 2.0) == "x: 3.00 / 2.00 = 1.50"
    assert ratio("x", None, 2.0) is None


def test_an_aim_is_met_or_missed() -> None:
    assert aim("p99", 4.0, 5, at_most=True, unit="ms") == "p99: 4.00 ms, aim at most 5 ms: met"
    assert aim("rate", 4.0, 5, at_most=False, unit="/s") == "rate: 4.00 /s, aim at least 5 /s: missed"
