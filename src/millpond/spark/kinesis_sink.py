"""Kinesis as a sink of Spark: a Python task writes each batch. One task, so that what a crash left can be told apart.

It is a foreach writer: Spark's interface for Python sinks takes no updates, which is how aggregates come, and starts
a process for every commit.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import DataStreamWriter

from millpond.plan.nodes import Kind, Sink
from millpond.spark.run import Run
from millpond.stores.kinesis_delivery import Delivery, delivery_file

ROWS_AT_ONCE = 5_000
"""Rows that wait in memory: more keys to a call where some keys are frequent."""

_deliveries: dict[str, Delivery] = {}
"""Of this worker process, which serves batch after batch: the last run's, with its open connections."""


class KinesisRows:
    """What Spark calls in its worker with the rows of a batch. They are written when `close` returns."""

    def __init__(self, properties: Mapping[str, str], stream: str, file: Path, once: bool) -> None:
        self.secrets = json.dumps(dict(properties))
        self.stream, self.file, self.once, self.run = stream, file, once, uuid.uuid4().hex
        self.rows: list[tuple[bytes | None, bytes | None]] = []
        self.opened = False

    def open(self, partition_id: int, epoch_id: int) -> bool:
        """False: the batch is written already."""
        self.rows = []
        self.opened = self._delivery().begin(epoch_id)
        return self.opened

    def process(self, row: Row) -> None:
        self.rows.append((_bytes(row.key), _bytes(row.value)))
        if len(self.rows) >= ROWS_AT_ONCE:
            self._put()

    def close(self, error: Exception | None) -> None:
        if error is None and self.opened:
            self._put()
            self._delivery().finish()

    def _put(self) -> None:
        self._delivery().put(self.rows)
        self.rows = []

    def _delivery(self) -> Delivery:
        if self.run not in _deliveries:
            _deliveries.clear()
            _deliveries[self.run] = Delivery(json.loads(self.secrets), self.stream, self.file, self.run, self.once)
        return _deliveries[self.run]


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def kinesis_writer(node: Sink, frame: DataFrame, run: Run) -> DataStreamWriter:
    """One task for all rows: two could not share what a crash has left in the stream between them."""
    properties = run.stores[node.relation.store].options
    rows = KinesisRows(properties, node.relation.topic, delivery_file(run.folder), once=node.kind is Kind.APPEND)
    return frame.select("key", "value").repartition(1).writeStream.foreach(rows)
