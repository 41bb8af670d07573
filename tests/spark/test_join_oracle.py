"""The oracles of the joins, on cases that can be checked by eye."""

from __future__ import annotations

from tests.spark.flow.join_oracle import Event, Version, interval, temporal

VERSIONS = [Version(10, "a", "old", 0), Version(20, "a", None, 1), Version(20, "a", "new", 2), Version(9, "b", None, 3)]


def test_an_event_has_the_last_version_that_is_not_later() -> None:
    events = [Event(t, "a", str(t)) for t in (9, 10, 19, 20, 99)] + [Event(50, "b", "b"), Event(50, None, "none")]
    assert temporal([(events, VERSIONS)], left=False) == [("10", "old"), ("19", "old"), ("20", "new"), ("99", "new")]
    padded = temporal([(events, VERSIONS)], left=True)
    assert [name for name, version in padded if version is None] == ["9", "b", "none"]


def test_a_version_counts_from_its_batch_on() -> None:
    batches = [([Event(30, "a", "x")], VERSIONS[:1]), ([Event(30, "a", "y")], VERSIONS[1:])]
    assert temporal(batches, left=False) == [("x", "old"), ("y", "new")]


def test_pairs_are_within_both_bounds_and_the_rest_is_padded() -> None:
    lefts = [Event(100, "a", "l"), Event(500, "a", "alone"), Event(100, None, "keyless")]
    rights = [Event(t, "a", str(t)) for t in (94, 95, 110, 111)] + [Event(100, None, "k")]
    assert interval(lefts, rights, 5, 10) == [("l", "95"), ("l", "110")]
    full = interval(lefts, rights, 5, 10, "FULL")
    assert full[2:] == [("alone", None), ("keyless", None), (None, "94"), (None, "111"), (None, "k")]
