"""Every input row is charged with the first output that covers it."""

from __future__ import annotations

import pytest
from harness.charging import Seen, Sent, charge

MS = 1_000_000

CASES = {
    "an output for each row": ([("a", 1, 0), ("a", 2, 10)], [("a", 1, 3), ("a", 2, 14)], [3, 4], 0),
    "a coalesced output is charged to all its rows": (
        [("a", 1, 0), ("a", 2, 10)],
        [("a", 2, 15)],
        [15, 5],
        0,
    ),
    "keys do not answer for each other": ([("a", 1, 0)], [("b", 5, 1), ("a", 1, 9)], [9], 0),
    "a row that nothing covers is missing": ([("a", 1, 0), ("a", 2, 1)], [("a", 1, 5)], [5], 1),
    "a count that falls back covers nothing": (
        [("a", 1, 0), ("a", 2, 1), ("a", 3, 2)],
        [("a", 2, 4), ("a", 1, 5), ("a", 2, 6), ("a", 3, 7)],
        [4, 3, 5],
        0,
    ),
    "rows of the warm-up may be left out": (
        [("a", 5, 100)],
        [("a", 1, 1), ("a", 4, 90), ("a", 6, 103)],
        [3],
        0,
    ),
    "nothing seen": ([("a", 1, 0)], [], [], 1),
}


@pytest.mark.parametrize("case", CASES)
def test_charging(case: str) -> None:
    rows, outputs, latencies, missing = CASES[case]
    charged = charge([Sent(k, n, at * MS) for k, n, at in rows], [Seen(k, n, at * MS) for k, n, at in outputs])
    assert (charged.latencies, charged.missing) == (latencies, missing)
