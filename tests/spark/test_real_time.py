"""Queries in Spark's real-time mode, Kafka to Kafka, and their catch-up on the same checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from millpond.embedded.broker import Broker
from millpond.plan.nodes import Sink
from millpond.plan.pruning import prune_scan
from millpond.queries.checkpoint import Checkpoint
from millpond.spark.run import Run
from millpond.spark.sink import start_writing
from millpond.spark.translate import Translator
from millpond.stores.access import StoreAccess, store_access
from tests.conftest import MakeTopic
from tests.kafka_records import Record, read, write
from tests.plan.planning import Session
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker]

START = 1_700_000_000_000
"""The beginning of a ten-second window, 22:13:20."""
QUERIES = {
    "distinct counts of windows": """window_start, count(*) AS n, count(DISTINCT userid) AS users
      FROM TUMBLE(clicks, SIZE 10 SECONDS) WITH ('source.allow.latency.millis' = 60000)
      GROUP BY window_start, window_end""",
    "distinct counts of windows that are kept for ever": """window_start, count(*) AS n, count(DISTINCT userid) AS users
      FROM HOP(clicks, SIZE 10 SECONDS, ADVANCE BY 10 SECONDS) GROUP BY window_start, window_end""",
}
EVENTS = [(0, "ann"), (1, "ann"), (2, "bob"), (11, "ann"), (3, None), (12, "eve"), (4, "eve")]
"""Seconds after START, and who."""
FINAL = {"2023-11-14 22:13:20": (5, 3), "2023-11-14 22:13:30": (2, 2)}
"""Window -> rows and distinct users of EVENTS."""


@pytest.fixture(autouse=True)
def one_task(spark: SparkSession) -> Iterator[None]:
    """One task after a shuffle, so that the session's slots are enough for all that runs at once."""
    usual = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", str(usual))


def planned(source: str, sink: str, select: str) -> Sink:
    sql = f"""CREATE STREAM clicks (at BIGINT, userid VARCHAR)
        WITH ('topic' = '{source}', 'value.format' = 'json', 'timestamp' = 'at');
      CREATE CHANGELOG c WITH ('topic' = '{sink}') AS SELECT window_end, {select};"""
    return prune_scan(Session().sink(sql))


def stores(broker: Broker) -> dict[str, StoreAccess]:
    return {"kafka": store_access("KAFKA", {"uris": broker.uris})}


@contextmanager
def running(
    spark: SparkSession, plan: Sink, run: Run, checkpoint: Path, trigger: dict[str, Any]
) -> Iterator[StreamingQuery]:
    frame = Translator(spark, run).translate(plan)
    query = start_writing(plan, frame, run, checkpoint.as_uri(), trigger)
    try:
        yield query
    finally:
        query.stop()


def send(broker: Broker, topic: str, events: Sequence[tuple[int, str | None]]) -> None:
    values = (json.dumps({"at": START + s * 1000, "userid": who}).encode() for s, who in events)
    write(broker.uris, topic, [Record(v) for v in values])


def folded(broker: Broker, topic: str) -> dict[str, tuple[int, int]]:
    rows = {r.key: json.loads(r.value) for r in read(broker.uris, topic) if r.value is not None}
    return {r["window_start"]: (r["n"], r["users"]) for r in rows.values()}


@pytest.mark.parametrize("select", QUERIES.values(), ids=QUERIES)
def test_every_row_is_seen_while_the_batch_is_still_running(
    spark: SparkSession, broker: Broker, topic: MakeTopic, tmp_path: Path, select: str
) -> None:
    source, sink = topic("clicks"), topic("counts")
    plan = planned(source, sink, select)
    run = Run("0" * 8 + "-real-time", stores(broker), real_time=True)
    send(broker, source, EVENTS[:3])
    with running(spark, plan, run, tmp_path / "c", {"realTime": "60 seconds"}) as query:
        eventually(lambda: folded(broker, sink), {"2023-11-14 22:13:20": (3, 2)}, deadline=120)
        send(broker, source, EVENTS[3:])
        eventually(lambda: folded(broker, sink), FINAL)
        assert query.lastProgress is None
    Checkpoint(tmp_path / "c").discard_uncommitted()
    with running(spark, plan, replace(run, real_time=False), tmp_path / "c", {"availableNow": True}) as query:
        query.awaitTermination()
    assert folded(broker, sink) == FINAL


def test_a_real_time_query_goes_on_where_its_catch_up_ended(
    spark: SparkSession, broker: Broker, topic: MakeTopic, tmp_path: Path
) -> None:
    source, sink = topic("clicks"), topic("counts")
    plan = planned(source, sink, QUERIES["distinct counts of windows"])
    run = Run("1" * 8 + "-real-time", stores(broker))
    send(broker, source, EVENTS[:4])
    with running(spark, plan, run, tmp_path / "c", {"availableNow": True}) as query:
        query.awaitTermination()
    assert folded(broker, sink) == {"2023-11-14 22:13:20": (3, 2), "2023-11-14 22:13:30": (1, 1)}
    with running(spark, plan, replace(run, real_time=True), tmp_path / "c", {"realTime": "60 seconds"}):
        send(broker, source, EVENTS[4:])
        eventually(lambda: folded(broker, sink), FINAL, deadline=120)
