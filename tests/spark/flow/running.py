"""A query on real Spark without a broker: Kafka's columns come from files, the records of its sink go to a list."""

from __future__ import annotations

import base64
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import StreamingQuery

from millpond.plan.nodes import Scan, Sink, scans_of
from millpond.plan.pruning import prune_scan
from millpond.spark.batches import empty_batches, has_timers
from millpond.spark.codec import forget_written, late_rows, mark_written, undecodable_count
from millpond.spark.run import Run
from millpond.spark.translate import Translator

RAW = "key string, value string, topic string, partition int, offset bigint, timestamp bigint"


@dataclass(frozen=True)
class Given:
    """A record of the source. `timestamp` is epoch milliseconds."""

    key: bytes | None
    value: bytes | None
    partition: int
    offset: int
    timestamp: int
    topic: str = ""
    """Empty: that of the query's only source."""


@dataclass(frozen=True)
class Written:
    """A record of the sink."""

    key: bytes | None
    value: bytes | None
    headers: Mapping[str, str]

    @property
    def row(self) -> Any:
        return None if self.value is None else json.loads(self.value)


@dataclass
class FileRun:
    """One query over the files of `folder`, each file a micro-batch; it can be started again on its checkpoint."""

    spark: SparkSession
    plan: Sink
    folder: Path
    query_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    written: list[Written] = field(default_factory=list)
    dropped: int = 0
    """Rows that Spark left out because their window was over."""
    files: int = 0

    def __post_init__(self) -> None:
        self.plan = prune_scan(self.plan)
        self.source, self.checkpoint = self.folder / "source", self.folder / "checkpoint"
        self.topics = sorted({scan.relation.topic for scan in scans_of(self.plan)})
        for topic in self.topics:
            (self.source / topic).mkdir(parents=True)

    @property
    def undecodable(self) -> int:
        return undecodable_count(self.query_id)

    def feed(self, *batches: Sequence[Given]) -> FileRun:
        """One more file of each topic for each of `batches`, in order."""
        for records in batches:
            self.files += 1
            for topic in self.topics:
                path = self.folder / f"{self.files:04}.json"
                mine = [r for r in records if r.topic in ("", topic)]
                path.write_text("".join(_line(r) + "\n" for r in mine), "utf-8")
                os.utime(path, (self.files, self.files))
                path.rename(self.source / topic / path.name)
        return self

    def run(self, *, skip_written: bool = False) -> FileRun:
        """Run over what is there, until all of it is committed."""
        if skip_written:
            forget_written(self.query_id)
            mark_written(self.query_id, self._positions())
        run = Run(self.query_id, skip_written=skip_written)
        frame = Translator(self.spark, run, self._read).translate(self.plan)
        query = self._start(frame)
        query.awaitTermination()
        for progress in query.recentProgress:
            report = json.loads(progress.json) if hasattr(progress, "json") else progress
            self.dropped += sum(o["numRowsDroppedByWatermark"] for o in report["stateOperators"])
        return self

    @property
    def late(self) -> int:
        """Rows that came too late, to windows and to joins."""
        return self.dropped + late_rows(self.query_id)

    def forget_last_commit(self) -> FileRun:
        """As a crash between the sink and the commit: the last batch runs again."""
        commits = self.checkpoint / "commits"
        last = max(int(p.name) for p in commits.iterdir() if p.name.isdigit())
        for path in (commits / str(last), commits / f".{last}.crc"):
            path.unlink(missing_ok=True)
        return self

    def _read(self, spark: SparkSession, scan: Scan, run: Run) -> DataFrame:
        folder = (self.source / scan.relation.topic).as_uri()
        raw = spark.readStream.schema(RAW).option("maxFilesPerTrigger", 1).json(folder)
        return raw.select(
            F.unbase64("key").alias("key"),
            F.unbase64("value").alias("value"),
            "topic",
            "partition",
            "offset",
            F.timestamp_millis("timestamp").alias("timestamp"),
        )

    def _start(self, frame: DataFrame) -> StreamingQuery:
        writer = frame.writeStream.foreachBatch(self._take).outputMode("update")
        writer = writer.option("checkpointLocation", self.checkpoint.as_uri()).trigger(availableNow=True)
        with empty_batches(self.spark, not has_timers(self.plan)):
            return writer.start()

    def _take(self, batch: DataFrame, number: int) -> None:
        for row in batch.collect():
            headers = {h["key"]: bytes(h["value"]).decode() for h in row["headers"]}
            self.written.append(Written(_bytes(row["key"]), _bytes(row["value"]), headers))

    def _positions(self) -> dict[int, list[int]]:
        """Source partition -> positions that the sink holds."""
        found: dict[int, list[int]] = {}
        for record in self.written:
            partition, position = record.headers["mp.src"].split(":")
            found.setdefault(int(partition), []).append(int(position))
        return found

    def fold(self) -> dict[bytes | None, Any]:
        """Key -> row, as a reader of the changelog has it at the end."""
        rows: dict[bytes | None, Any] = {}
        for record in self.written:
            if record.value is None:
                rows.pop(record.key, None)
            else:
                rows[record.key] = record.row
        return rows


def _line(record: Given) -> str:
    return json.dumps(
        {
            **replace(record).__dict__,
            "key": _text(record.key),
            "value": _text(record.value),
            "topic": record.topic or "t",
        }
    )


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _bytes(data: bytearray | None) -> bytes | None:
    return None if data is None else bytes(data)
