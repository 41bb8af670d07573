"""Kinesis as a source of Spark: a Python data source. It reads in one process beside the driver, shard by shard."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from millpond.clock import now_ms
from millpond.plan.nodes import Scan
from millpond.spark.run import Run
from millpond.stores.kinesis_batches import (
    BATCH_ROWS,
    BatchReader,
    BatchRecord,
    Position,
    Progress,
    first_position,
    note_progress,
    progress_file,
)

FORMAT = "millpond-kinesis"
SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, sequence_number STRING"
)
ARROW = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("sequence_number", pa.string()),
    ]
)
Offset: TypeAlias = dict[str, Position]
"""Stream -> position: what Spark writes into its checkpoint."""
PROGRESS_SECONDS = 0.3


class KinesisSource(DataSource):  # type: ignore[misc, unused-ignore]
    """The columns of Kafka's source, from a stream's records; `partition` is the shard's number.

    Options: `stream`, `starting`, `max.rows`, `to.tip`, `progress` (a file) and `store.secrets`, JSON.
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:  # noqa: N802
        return KinesisStreamReader(dict(self.options))


class KinesisStreamReader(SimpleDataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc, unused-ignore]
    """Spark asks it for the next batch, and after a crash for a batch that it had before."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options, self.stream = options, options["stream"]
        self.progress = Path(options["progress"])
        self.noted = 0.0
        self.told: Progress | None = None
        """How far the last batch reached: it is written when Spark asks for the next, and so is done with it."""

    def __getstate__(self) -> dict[str, Any]:
        """Spark sends it to workers, which read batches again: connections are each process's own."""
        return {name: value for name, value in self.__dict__.items() if name != "reader"}

    @cached_property
    def reader(self) -> BatchReader:
        rows = int(self.options.get("max.rows", BATCH_ROWS))
        to_tip = self.options["to.tip"] == "true"
        return BatchReader(json.loads(self.options["store.secrets"]), self.stream, rows, to_tip)

    def initialOffset(self) -> Offset:  # noqa: N802
        return {self.stream: first_position(self.options["starting"])}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self.reader.until_ms = now_ms()

    def read(self, start: Offset) -> tuple[Iterator[Any], Offset]:
        self._note()
        batch = self.reader.next(start[self.stream])
        self.told = self.reader.progress()
        if not batch.records:
            self._note()
        if not batch.records:
            return iter([]), start
        # Spark copies the iterator, which a generator does not allow.
        parts = [arrow(self.stream, part) for part in batched(batch.records, BATCH_ROWS)]
        return iter(parts), {self.stream: batch.end}

    def _note(self) -> None:
        if self.told is not None and time.monotonic() - self.noted > PROGRESS_SECONDS:
            self.noted = time.monotonic()
            note_progress(self.progress, self.told)

    def readBetweenOffsets(self, start: Offset, end: Offset) -> Iterator[Any]:  # noqa: N802
        for part in batched(self.reader.between(start[self.stream], end[self.stream]), BATCH_ROWS):
            yield arrow(self.stream, part)


def batched(records: Iterable[BatchRecord], size: int) -> Iterator[list[BatchRecord]]:
    """The records in parts of `size`."""
    left = iter(records)
    while part := list(islice(left, size)):
        yield part


def arrow(stream: str, records: Sequence[BatchRecord]) -> pa.RecordBatch:
    """The records in columns. Empty data is a null value: what deletes from a changelog."""
    columns = [
        [r.record.partition_key.encode() for r in records],
        [r.record.data or None for r in records],
        [stream] * len(records),
        [r.shard for r in records],
        [r.offset for r in records],
        [r.record.arrived * 1000 for r in records],
        [r.record.sequence for r in records],
    ]
    return pa.RecordBatch.from_arrays([pa.array(c, f.type) for c, f in zip(columns, ARROW, strict=True)], schema=ARROW)


def read_kinesis(spark: SparkSession, scan: Scan, run: Run) -> DataFrame:
    """The raw records of the scan's stream."""
    spark.dataSource.register(KinesisSource)
    options = {
        "stream": scan.relation.topic,
        "starting": run.starting_offsets.get(scan.number, "earliest"),
        "max.rows": str(min(run.max_rows or BATCH_ROWS, BATCH_ROWS)),
        "to.tip": str(scan.at_once).lower(),
        "progress": str(progress_file(run.folder, scan.number)),
        "store.secrets": json.dumps(dict(run.stores[scan.relation.store].options)),
    }
    return spark.readStream.format(FORMAT).options(**options).load()
