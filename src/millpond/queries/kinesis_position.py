"""How far a query is in a Kinesis stream. Kinesis counts nothing: it tells how old the next record is.

So the end of a stream is the moment at which it is asked for, and what is left to be read is 0 rows or "some", which
`before` gives as 1. The lag is a time.
"""

from __future__ import annotations

import json

from millpond.clock import now_ms
from millpond.plan.nodes import Scan
from millpond.queries.checkpoint import Checkpoint
from millpond.stores.kinesis_batches import noted_progress, progress_file
from millpond.stores.protocol import Log, Offsets

MOMENT = 0
"""The one "partition" of ends that are moments, epoch milliseconds. One task reads all shards."""
SLACK_MS = 3_000
"""The source notes its progress now and then: at the tip it has read until a moment ago."""


class KinesisScanPosition:
    """Answers as `ScanPosition` does. Calls may raise STORE_UNREACHABLE."""

    counts = False

    def __init__(self, scan: Scan, given: str | None, log: Log, checkpoint: Checkpoint) -> None:
        self.scan, self.given, self.log = scan, given, log
        self.file = progress_file(checkpoint.path, scan.number)
        self.stream = scan.relation.topic

    def spark_start(self) -> str:
        """Where the query begins, as Spark's `startingOffsets` has it."""
        return f"{{{json.dumps(self.stream)}: {self.given}}}" if self.given else "earliest"

    def ends(self) -> Offsets:
        """Now. Raises TOPIC_NOT_FOUND, so that a stream that is gone is found out here."""
        self.log.describe(self.stream)
        return {MOMENT: now_ms()}

    def rate(self) -> float:
        """Nothing that is known: real-time batches, which have a length, do not read Kinesis."""
        return 0.0

    def before(self, ends: Offsets) -> int:
        """1 if records may be left that had arrived by the moment `ends`, else 0."""
        told = noted_progress(self.file)
        if told is None:
            return 1
        at_tip = told.behind_ms == 0 and ends.get(MOMENT, 0) - told.at < SLACK_MS
        return 0 if at_tip or told.read_until >= ends.get(MOMENT, 0) else 1

    def behind_ms(self) -> int | None:
        """How old the oldest record is that is still to be read, 0 if none is; None before Kinesis has told.

        What it told longer ago than a moment counts with the time since: the query is stuck, or in a long batch.
        """
        told, now = noted_progress(self.file), now_ms()
        if told is None:
            return None
        return told.behind_ms if now - told.at < SLACK_MS else now - told.read_until

    def uncommitted_before(self, ends: Offsets) -> int:
        """The same: progress is noted when its batch is done."""
        return self.before(ends)
