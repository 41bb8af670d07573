"""Random rows in random batches, with a restart between them: the joins are what an oracle in Python gives."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.plan.planning import Session
from tests.spark.flow.join_oracle import Event, Version, interval, temporal
from tests.spark.flow.running import FileRun, Given

pytestmark = pytest.mark.spark

KNOWN = """
CREATE STREAM clicks (at BIGINT, k VARCHAR, n VARCHAR) WITH ('value.format' = 'json', 'timestamp' = 'at');
CREATE STREAM buys (at BIGINT, k VARCHAR, n VARCHAR) WITH ('value.format' = 'json', 'timestamp' = 'at');
CREATE CHANGELOG users (k VARCHAR, n VARCHAR, PRIMARY KEY (k)) WITH ('value.format' = 'json');
"""
KEYS = ["a", "b", "ü\u0000", ""]
FLUSH = 10_000_000
NOT_QUIET = 99_000_000_000_000
"""A record timestamp ahead of the clock: its partition is not quiet, so its side stays where its rows are."""
QUICK = settings(
    max_examples=2,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

times = st.integers(0, 60)
events = st.lists(st.tuples(times, st.sampled_from([*KEYS, None])), max_size=25)
versions = st.lists(st.tuples(times, st.sampled_from(KEYS), st.booleans()), max_size=15)


def sent(topic: str, event: Event, number: int) -> Given:
    value = json.dumps({"at": event.time, "k": event.key, "n": event.name}).encode()
    return Given(b"key", value, number % 2, number // 2, NOT_QUIET, topic)


def written(version: Version) -> Given:
    value = None if version.name is None else json.dumps({"k": version.key, "n": version.name}).encode()
    return Given(version.key.encode(), value, 0, version.place, version.time, "users")


def rows(run: FileRun) -> Counter[tuple[Any, Any]]:
    found = [(r.row["l"], r.row["r"]) for r in run.written]
    assert len({r.headers["mp.src"] for r in run.written}) == len(found)
    return Counter(row for row in found if "flush" not in row)


def of(raw: Sequence[tuple[int, str | None]], first: int, prefix: str) -> list[Event]:
    return [Event(time, key, f"{prefix}{n}") for n, (time, key) in enumerate(raw, first)]


@pytest.mark.parametrize("side", ["", "LEFT"])
@QUICK
@given(cut=st.lists(st.tuples(events, versions), min_size=2, max_size=3))
def test_a_temporal_join(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, side: str, cut: Any) -> None:
    folder: Path = tmp_path_factory.mktemp("temporal")
    sql = f"CREATE STREAM s AS SELECT clicks.n AS l, users.n AS r FROM clicks {side} JOIN users ON clicks.k = users.k"
    run = FileRun(spark, Session().sink(KNOWN + sql), folder / "run")
    batches: list[tuple[list[Event], list[Version]]] = []
    for raw_events, raw_versions in cut:
        clicks = of(raw_events, sum(len(e) for e, _ in batches), "e")
        first = sum(len(v) for _, v in batches)
        users = [Version(t, k, f"v{n}" if there else None, n) for n, (t, k, there) in enumerate(raw_versions, first)]
        number = sum(len(e) for e, _ in batches)
        run.feed([*(sent("clicks", e, number + n) for n, e in enumerate(clicks)), *map(written, users)])
        batches.append((clicks, users))
        if len(batches) != 2:
            run.run()
    run.run()
    assert rows(run) == Counter(temporal(batches, left=bool(side)))


@pytest.mark.parametrize("side", ["", "FULL"])
@QUICK
@given(cut=st.lists(st.tuples(events, events), min_size=2, max_size=3), bounds=st.tuples(times, times))
def test_an_interval_join(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, side: str, cut: Any, bounds: tuple[int, int]
) -> None:
    folder: Path = tmp_path_factory.mktemp("interval")
    within = f"WITHIN ({bounds[0]} MILLISECONDS, {bounds[1]} MILLISECONDS) GRACE PERIOD 1 HOUR"
    joined = f"clicks {side} JOIN buys {within} ON clicks.k = buys.k"
    sql = f"CREATE STREAM s AS SELECT clicks.n AS l, buys.n AS r FROM {joined}"
    run = FileRun(spark, Session().sink(KNOWN + sql), folder / "run")
    lefts: list[Event] = []
    rights: list[Event] = []
    flush = [(FLUSH, key) for key in KEYS for _ in range(2)]
    for number, (raw_left, raw_right) in enumerate([*cut, (flush, flush)]):
        last = number == len(cut)
        new = [of(raw, len(old), p) for raw, old, p in ((raw_left, lefts, "l"), (raw_right, rights, "r"))]
        if last:
            new = [[Event(e.time, e.key, "flush") for e in side_of] for side_of in new]
        numbered = (
            (t, e, len(old) + n)
            for t, es, old in zip(("clicks", "buys"), new, (lefts, rights), strict=True)
            for n, e in enumerate(es)
        )
        run.feed([sent(topic, e, n) for topic, e, n in numbered])
        if not last:
            lefts, rights = lefts + new[0], rights + new[1]
        if number != 1:
            run.run()
    run.run()
    assert rows(run) == Counter(interval(lefts, rights, *bounds, side))
