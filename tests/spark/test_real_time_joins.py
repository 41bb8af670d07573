"""Joins in Spark's real-time mode, Kafka to Kafka, after their catch-up on the same checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millpond.embedded.broker import Broker
from millpond.plan.nodes import Sink
from millpond.plan.pruning import prune_scan
from millpond.spark.run import Run
from millpond.spark.sink import start_writing
from millpond.spark.translate import Translator
from millpond.stores.access import store_access
from tests.conftest import MakeTopic
from tests.kafka_records import Record, read, write
from tests.plan.planning import Session
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker]

KNOWN = """
CREATE STREAM clicks (at BIGINT, k VARCHAR, n VARCHAR)
  WITH ('topic' = '{clicks}', 'value.format' = 'json', 'timestamp' = 'at');
CREATE STREAM buys (at BIGINT, k VARCHAR, n VARCHAR)
  WITH ('topic' = '{buys}', 'value.format' = 'json', 'timestamp' = 'at');
CREATE CHANGELOG users (at BIGINT, k VARCHAR, n VARCHAR, PRIMARY KEY (k))
  WITH ('topic' = '{users}', 'value.format' = 'json', 'timestamp' = 'at');
"""


@pytest.fixture(autouse=True)
def one_task(spark: SparkSession) -> Iterator[None]:
    """One task after a shuffle, so that the session's slots are enough for all that runs at once."""
    usual = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", str(usual))


@dataclass
class Joined:
    """A join of this test's own topics, and its sink."""

    spark: SparkSession
    broker: Broker
    plan: Sink
    topics: dict[str, str]
    folder: Path

    def send(self, topic: str, *rows: tuple[int, str, str | None]) -> None:
        """(time, key, name) of each row; no name is a delete."""
        records = (
            Record(None if n is None else json.dumps({"at": at, "k": k, "n": n}).encode(), k.encode())
            for at, k, n in rows
        )
        write(self.broker.uris, self.topics[topic], records)

    def out(self) -> list[tuple[Any, Any]]:
        rows = [json.loads(r.value) for r in read(self.broker.uris, self.topics["out"]) if r.value]
        return sorted(((r["l"], r["r"]) for r in rows), key=str)

    def see(self, *rows: tuple[Any, Any], deadline: float = 60) -> None:
        eventually(self.out, sorted(rows, key=str), deadline=deadline)

    @contextmanager
    def running(self, real_time: bool, max_rows: int | None = None) -> Iterator[None]:
        run = Run("j" * 8 + self.folder.name, {"kafka": store_access("KAFKA", {"uris": self.broker.uris})})
        run = replace(run, real_time=real_time, max_rows=max_rows)
        trigger: dict[str, Any] = {"realTime": "60 seconds"} if real_time else {"availableNow": True}
        frame = Translator(self.spark, run).translate(self.plan)
        query = start_writing(self.plan, frame, run, (self.folder / "c").as_uri(), trigger)
        try:
            if not real_time:
                query.awaitTermination()
            yield
        finally:
            query.stop()


@pytest.fixture
def make(spark: SparkSession, broker: Broker, topic: MakeTopic, tmp_path: Path) -> Any:
    def made(joined: str) -> Joined:
        topics = {name: topic(name) for name in ("clicks", "buys", "users", "out")}
        sql = f"CREATE STREAM s WITH ('topic' = '{topics['out']}') AS SELECT {joined}"
        plan = prune_scan(Session().sink(KNOWN.format(**topics) + sql))
        return Joined(spark, broker, plan, topics, tmp_path)

    return made


def test_a_temporal_join_takes_turns_between_batches_and_real_time(make: Any) -> None:
    joined = make("clicks.n AS l, users.n AS r FROM clicks LEFT JOIN users ON clicks.k = users.k")
    joined.send("users", (10, "a", "old"), (20, "a", "new"))
    joined.send("clicks", (9, "a", "before"), (15, "a", "x"))
    with joined.running(real_time=False):
        joined.see(("before", None), ("x", "old"))
    with joined.running(real_time=True):
        joined.send("clicks", (25, "a", "y"), (25, "nobody", "z"))
        joined.see(("before", None), ("x", "old"), ("y", "new"), ("z", None), deadline=120)
        joined.send("users", (30, "a", "newest"))
        eventually(lambda: len(joined.out()), 4)
        joined.send("clicks", (29, "a", "p"), (31, "a", "q"))
        joined.see(("before", None), ("x", "old"), ("y", "new"), ("z", None), ("p", "new"), ("q", "newest"))
    joined.send("clicks", (40, "a", "end"))
    with joined.running(real_time=False):  # which repeats what the batch that was stopped had not committed
        assert len(set(joined.out())) == 7 and ("end", "newest") in joined.out()


def test_an_interval_join_pads_when_a_match_cannot_come_any_more(make: Any) -> None:
    within = "WITHIN 5 MINUTES GRACE PERIOD 1 MINUTE"
    joined = make(f"clicks.n AS l, buys.n AS r FROM clicks FULL JOIN buys {within} ON clicks.k = buys.k")
    joined.send("clicks", (1_000, "a", "x"))
    with joined.running(real_time=False):
        assert joined.out() == []
    with joined.running(real_time=True):
        joined.send("buys", (1_100, "a", "i"))
        joined.see(("x", "i"), deadline=120)
        joined.send("clicks", (2_000_000, "a", "alone"))
        joined.send("buys", (9_000_000, "a", "single"))
        joined.see(("x", "i"), ("alone", None))
        joined.send("clicks", (20_000_000, "b", "far"))
        joined.see(("x", "i"), ("alone", None), (None, "single"))


def test_two_days_of_history_meet_the_versions_of_their_time_however_fast_they_are_read(make: Any) -> None:
    """The changelog has ten times the stream's rows; a batch of the catch-up takes 40 of the stream's."""
    minute, two_days = 60_000, 2 * 24 * 60
    joined = make("clicks.n AS l, users.n AS r FROM clicks JOIN users ON clicks.k = users.k")
    joined.send("clicks", *((n * minute + 30_000, f"k{n % 7}", str(n)) for n in range(0, two_days, 20)))
    joined.send("users", *((n * minute, f"k{k}", str(n)) for n in range(0, two_days, 14) for k in range(7)))
    with joined.running(real_time=False, max_rows=40):
        expected = [(str(n), str(n - n % 14)) for n in range(0, two_days, 20)]
        assert joined.out() == sorted(expected, key=str)
