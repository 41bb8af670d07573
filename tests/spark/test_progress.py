"""What a query tells of itself while it runs: records read, positions, rows that came too late."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millpond.spark import codec
from millpond.types import VARCHAR, Column
from tests.waiting import eventually

pytestmark = pytest.mark.spark
COLUMNS = (Column("url", VARCHAR),)


def records(spark: SparkSession, offsets: range, partition: int = 0) -> DataFrame:
    """Records of the topic `a topic` as Kafka's source gives them; each fifth does not decode."""
    rows = spark.range(offsets.start, offsets.stop, 1, 1)
    value = F.when(F.col("id") % 5 == 4, F.lit("{")).otherwise(F.lit('{"url": "x"}')).cast("binary")
    return rows.select(
        F.lit(None).cast("binary").alias("key"),
        value.alias("value"),
        F.lit("a topic").alias("topic"),
        F.lit(partition).alias("partition"),
        F.col("id").alias("offset"),
    )


def read(frame: DataFrame, query_id: str) -> int:
    """Decode all of `frame` as the query does; how many rows there are."""
    decoded = codec.decode(COLUMNS, "json", query_id=query_id, error_handling="IGNORE")
    return int(frame.select(decoded.alias("row")).where("row IS NOT NULL").count())


def test_records_are_counted_and_positions_known_as_they_are_read(spark: SparkSession) -> None:
    codec.forget_positions("p1")
    assert (codec.rows_read("p1"), codec.read_positions("p1")) == (0, {})
    assert read(records(spark, range(10)), "p1") == 8
    assert read(records(spark, range(3, 7), partition=2), "p1") == 3
    assert codec.rows_read("p1") == 14
    assert codec.read_positions("p1") == {0: {0: 10, 2: 7}}


def test_a_new_start_begins_anew_with_positions_and_counts_on(spark: SparkSession) -> None:
    read(records(spark, range(10)), "p2")
    codec.forget_positions("p2")
    assert codec.read_positions("p2") == {}
    read(records(spark, range(5, 8)), "p2")
    assert codec.read_positions("p2") == {0: {0: 8}}
    assert codec.rows_read("p2") == 13
    codec.forget_query("p2")
    assert codec.rows_read("p2") == 0


def test_rows_that_the_watermark_drops_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    codec.watch_progress(spark)
    codec.forget_positions("late-one")
    for number, seconds in enumerate([100, 500, 10, 600, 20]):
        file = tmp_path / f"{number}.json"
        file.write_text(f'{{"at": {seconds}}}\n')
        os.utime(file, (number, number))  # Spark takes files in the order of their times
    lines = spark.readStream.schema("at BIGINT").option("maxFilesPerTrigger", "1").json(str(tmp_path))
    times = lines.select(F.timestamp_seconds("at").alias("at")).withWatermark("at", "0 seconds")
    counts = times.groupBy(F.window("at", "10 seconds")).count()
    writer = counts.writeStream.format("noop").outputMode("update").queryName("late-one/catch-up")
    query = writer.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert query.awaitTermination(120)
    eventually(lambda: codec.late_rows("late-one"), 2)
    assert codec.late_rows("another") == 0
    rows, memory = codec.state_size("late-one")
    assert rows == 1, "the watermark has passed the windows of 100 s and 500 s"
    assert memory > 0
    codec.forget_query("late-one")
    assert codec.state_size("late-one") == (0, 0)


def test_scans_of_one_topic_are_told_apart(spark: SparkSession) -> None:
    codec.forget_positions("p3")
    for scan, until in ((0, 3), (1, 5)):
        decoded = codec.decode(COLUMNS, "json", query_id="p3", scan=scan, error_handling="IGNORE")
        records(spark, range(until)).select(decoded.alias("row")).where("row IS NOT NULL").count()
    assert codec.read_positions("p3") == {0: {0: 3}, 1: {0: 5}}
    assert codec.rows_read("p3") == 8
