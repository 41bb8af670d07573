"""COUNT(DISTINCT) by marks: FirstSeen against sets in Python, over the batches of a streaming query."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millpond.spark.codec import first_seen

pytestmark = pytest.mark.spark

SCHEMA = "at timestamp, g string, v bigint, extra array<int>"
START = datetime(2024, 1, 1)


def batches(seed: int, count: int, rows: int) -> Iterator[list[dict[str, Any]]]:
    """Rows of a few groups and values, a tenth of the values null, later batches at later times."""
    random = Random(seed)
    for batch in range(count):
        yield [
            {
                "at": (START + timedelta(seconds=batch * 10 + random.random() * 10)).isoformat(),
                "g": random.choice(["a", "b", None]),
                "v": random.choice([None, *range(9)]),
                "extra": [n],
            }
            for n in range(rows)
        ]


class Stream:
    """A streaming query over files, one file a batch, that starts anew each time that it is run."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.files = spark, folder, 0
        (folder / "in").mkdir()

    def input(self) -> DataFrame:
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1")
        return reader.json(str(self.folder / "in"))

    def add(self, rows: list[dict[str, Any]]) -> None:
        self.files += 1
        file = self.folder / "in" / f"{self.files:03}.json"
        file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        # Spark takes files by their age; these are written within one tick of its clock.
        os.utime(file, (START.timestamp() + self.files,) * 2)

    def run(self, frame: DataFrame) -> Any:
        """All there is to read; the last progress."""
        query = (
            frame.writeStream.foreachBatch(self._keep)
            .outputMode("update")
            .option("checkpointLocation", str(self.folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)
        assert query.exception() is None
        return query.lastProgress

    def _keep(self, frame: DataFrame, batch: int) -> None:
        frame.write.mode("overwrite").json(str(self.folder / "out" / f"{batch:03}"))

    def output(self) -> list[dict[str, Any]]:
        """All rows that came out, batch by batch."""
        files = sorted(self.folder.glob("out/*/*.json"))
        return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)


def distinct_values(rows: list[dict[str, Any]], *keys: str) -> dict[tuple[Any, ...], set[int]]:
    found: dict[tuple[Any, ...], set[int]] = {}
    for row in rows:
        values = found.setdefault(tuple(row.get(k) for k in keys), set())
        if row.get("v") is not None:
            values.add(row["v"])
    return found


def test_exactly_one_row_of_each_group_and_value_is_marked_across_restarts(stream: Stream) -> None:
    sent: list[dict[str, Any]] = []
    frame = first_seen(stream.input(), ["g", "v"], "v", "first")
    for rows in batches(seed=1, count=3, rows=60):
        stream.add(rows)
        sent += rows
        stream.run(frame)
    out = stream.output()
    marked = [(r.get("g"), r["v"]) for r in out if r["first"]]
    assert sorted(map(str, marked)) == sorted(
        str((g, v)) for (g,), vs in distinct_values(sent, "g").items() for v in vs
    )
    assert sorted(r["extra"] for r in out) == sorted(r["extra"] for r in sent)


def test_a_native_count_of_the_marks_is_count_distinct(stream: Stream) -> None:
    sent: list[dict[str, Any]] = []
    frame = first_seen(stream.input(), ["g"], "v", "first").groupBy("g").agg(F.count_if("first").alias("n"))
    for rows in batches(seed=2, count=3, rows=60):
        stream.add(rows)
        sent += rows
        stream.run(frame)
        last = {r.get("g"): r["n"] for r in stream.output()}
        assert last == {g: len(vs) for (g,), vs in distinct_values(sent, "g").items()}


def test_windows_count_their_own_values_and_leave_no_state_behind(stream: Stream) -> None:
    sent: list[dict[str, Any]] = []
    rows = stream.input().withWatermark("at", "1 second").withColumn("w", F.window("at", "10 seconds"))
    marked = first_seen(rows.drop("at"), ["w", "g"], "v", "first", expiry="w")
    counts = marked.groupBy("w", "g").agg(F.count_if("first").alias("n")).select("w.start", "g", "n")
    for batch in batches(seed=3, count=4, rows=60):
        stream.add(batch)
        sent += batch
    progress = stream.run(counts)
    windows = [{**r, "w": r["at"][:18] + "0"} for r in sent]
    last = {(r["start"][:19], r.get("g")): r["n"] for r in stream.output()}
    assert last == {key: len(vs) for key, vs in distinct_values(windows, "w", "g").items()}
    states = {s["operatorName"]: s["numRowsTotal"] for s in progress["stateOperators"]}
    per_window = max(len(vs) for vs in distinct_values(windows, "w", "g").values()) * 3
    assert 0 < states["transformWithStateExec"] <= 4 * per_window
