"""A batch that runs again after a crash: what the sink holds already is not written twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.plan.planning import Session
from tests.spark.flow.running import FileRun, Given

pytestmark = pytest.mark.spark

KNOWN = "CREATE STREAM clicks (url VARCHAR, tags ARRAY<VARCHAR>) WITH ('value.format' = 'json');"


def click(url: str, offset: int, partition: int = 0, tags: str = '["x", "y"]') -> Given:
    return Given(b"k", f'{{"url": "{url}", "tags": {tags}}}'.encode(), partition, offset, 1_700_000_000_000 + offset)


BATCHES = [
    [click("/a", 0), click("/b", 1), click("/a", 0, partition=1)],
    [click("/c", 2), click("/d", 3), click("/e", 1, partition=1)],
]


def run_of(spark: SparkSession, folder: Path, sql: str) -> FileRun:
    return FileRun(spark, Session().sink(KNOWN + sql), folder / "run").feed(*BATCHES).run()


STREAMS = [
    ("CREATE STREAM s AS SELECT url FROM clicks WHERE url <> '/b'", ["0:0", "0:2", "0:3", "1:0", "1:1"]),
    ("CREATE MATERIALIZED VIEW v AS SELECT url FROM clicks", ["0:0", "0:1", "0:2", "0:3", "1:0", "1:1"]),
    (
        "CREATE STREAM s AS SELECT tag FROM clicks CROSS JOIN UNNEST(tags) AS t(tag) WHERE url = '/c'",
        ["0:2097152", "0:2097153"],
    ),
]


@pytest.mark.parametrize(("sql", "places"), STREAMS)
def test_a_stream_has_each_row_once(spark: SparkSession, tmp_path: Path, sql: str, places: Sequence[str]) -> None:
    run = run_of(spark, tmp_path, sql)
    run.forget_last_commit().run(skip_written=True)
    assert sorted(r.headers["mp.src"] for r in run.written) == places


def test_a_half_written_batch_is_completed(spark: SparkSession, tmp_path: Path) -> None:
    run = run_of(spark, tmp_path, "CREATE STREAM s AS SELECT url FROM clicks")
    whole = sorted(r.headers["mp.src"] for r in run.written)
    lost = [r for r in run.written if r.row["url"] in ("/d", "/e")]
    run.written[:] = [r for r in run.written if r not in lost]
    run.forget_last_commit().run(skip_written=True)
    assert sorted(r.headers["mp.src"] for r in run.written) == whole


def test_without_knowing_what_is_written_a_batch_is_written_again(spark: SparkSession, tmp_path: Path) -> None:
    run = run_of(spark, tmp_path, "CREATE STREAM s AS SELECT url FROM clicks")
    assert len(run.forget_last_commit().run().written) == 9


def test_a_changelog_is_written_again_with_the_same_values(spark: SparkSession, tmp_path: Path) -> None:
    sql = "CREATE CHANGELOG c AS SELECT tag, count(*) AS n FROM clicks CROSS JOIN UNNEST(tags) AS t(tag) GROUP BY tag"
    run = run_of(spark, tmp_path, sql)
    before = run.fold()
    repeated = run.forget_last_commit().run().written[-2:]
    assert run.fold() == before
    assert sorted((r.key, r.row["n"]) for r in repeated) == [(b"x", 6), (b"y", 6)]


HEADERS = [
    ("CREATE STREAM s AS SELECT url FROM clicks WHERE url = '/e'", {"mp.src": "1:1", "mp.ts": "1700000000001"}),
    (
        "CREATE CHANGELOG c AS SELECT url, count(*) AS n FROM clicks WHERE url = '/e' GROUP BY url",
        {"mp.src": "1:1", "mp.ts": "1700000000001"},
    ),
]


@pytest.mark.parametrize(("sql", "headers"), HEADERS)
def test_headers_say_where_and_when_a_row_comes_from(
    spark: SparkSession, tmp_path: Path, sql: str, headers: dict[str, str]
) -> None:
    run = run_of(spark, tmp_path, sql)
    (record,) = run.written
    assert record.headers.items() >= headers.items()
    query = record.headers.get("mp.query")
    assert query == (run.query_id[:8] if sql.startswith("CREATE STREAM") else None)
