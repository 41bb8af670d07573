"""Random clicks in random batches, with restarts between them: the changelogs are what a recount in Python gives."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.plan.planning import Session
from tests.spark.flow.running import FileRun, Given

pytestmark = pytest.mark.spark

CLICKS = """CREATE STREAM clicks (url VARCHAR, userid VARCHAR, device VARCHAR, amount BIGINT)
  WITH ('value.format' = 'json');"""
FIGURES = """count(*) AS n, sum(amount) AS total, min(amount) AS lo, max(amount) AS hi,
  count(DISTINCT userid) AS users, count(DISTINCT device) AS devices"""

Click = dict[str, Any]
texts = st.one_of(st.none(), st.sampled_from(["a", "b", "./home", "ü\u0000\"'", ""]), st.text(max_size=3))
clicks = st.fixed_dictionaries(
    {
        "url": texts,
        "userid": texts,
        "device": st.sampled_from(["d1", "d2", None]),
        "amount": st.one_of(st.none(), st.integers(-1000, 1000)),
    }
)
batches = st.lists(st.lists(clicks, min_size=1, max_size=40), min_size=2, max_size=3)
restarts = st.integers(0, 1)


def recount(events: Sequence[Click], by: Sequence[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Group -> its row."""
    groups: dict[tuple[Any, ...], list[Click]] = defaultdict(list)
    for event in events:
        groups[tuple(event[c] for c in by)].append(event)
    return {group: _row(by, group, rows) for group, rows in groups.items()}


def _row(by: Sequence[str], group: tuple[Any, ...], rows: Sequence[Click]) -> dict[str, Any]:
    amounts = [r["amount"] for r in rows if r["amount"] is not None]
    return {
        **dict(zip(by, group, strict=True)),
        "n": len(rows),
        "total": sum(amounts) if amounts else None,
        "lo": min(amounts, default=None),
        "hi": max(amounts, default=None),
        "users": len({r["userid"] for r in rows} - {None}),
        "devices": len({r["device"] for r in rows} - {None}),
    }


def records(events: Sequence[Click], first: int) -> list[Given]:
    """Over two partitions, whose offsets go up."""
    values = (json.dumps(e, ensure_ascii=False).encode() for e in events)
    return [Given(None, v, n % 2, n // 2, 1_700_000_000_000 + n) for n, v in enumerate(values, first)]


@pytest.mark.parametrize("by", [("url",), ("userid", "url")], ids=" and ".join)
@settings(
    max_examples=2,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(cut=batches, restart=restarts)
def test_a_changelog_is_what_a_recount_gives(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    by: Sequence[str],
    cut: list[list[Click]],
    restart: int,
) -> None:
    sql = f"CREATE MATERIALIZED VIEW v AS SELECT {', '.join(by)}, {FIGURES} FROM clicks GROUP BY {', '.join(by)};"
    folder: Path = tmp_path_factory.mktemp("recount")
    run = FileRun(spark, Session().sink(CLICKS + sql), folder / "run")
    seen: list[Click] = []
    for number, events in enumerate(cut):
        run.feed(records(events, len(seen)))
        seen += events
        if number == restart:
            run.run()
            assert_equal(run, recount(seen, by), by)
    run.run()
    assert_equal(run, recount(seen, by), by)
    assert run.undecodable == 0


def assert_equal(run: FileRun, expected: dict[tuple[Any, ...], dict[str, Any]], by: Sequence[str]) -> None:
    """The changelog's rows are the expected ones, each under the key that names its group."""
    folded = {tuple(json.loads(key or b"{}")[c] for c in by): row for key, row in run.fold().items()}
    assert folded == expected
