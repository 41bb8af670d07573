"""How many tasks run at the same time, by Spark's master."""

from __future__ import annotations

import os

import pytest

from millpond.spark.engine import slots_of


@pytest.mark.parametrize(
    ("master", "slots"),
    [
        ("local", 1),
        ("local[4]", 4),
        ("local[4, 2]", 4),
        ("local[*]", os.cpu_count()),
        ("local[*,2]", os.cpu_count()),
        ("spark://host:7077", 1_000_000),
    ],
)
def test_the_slots_of_a_master(master: str, slots: int) -> None:
    assert slots_of(master) == slots
