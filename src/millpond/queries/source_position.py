"""How far a query is in the topic that it reads."""

from __future__ import annotations

import json
from collections.abc import Mapping

from millpond.catalog.model import PersistentQuery
from millpond.queries.checkpoint import Checkpoint
from millpond.spark.run import Engine
from millpond.stores.protocol import Log

STARTING_OFFSETS = "starting.offsets"
"""The query's property that holds, as JSON, where it was to begin when it was made; without it, at the beginning."""


class SourcePosition:
    """Where a query begins in its source's topic, and where it is. Calls may raise STORE_UNREACHABLE."""

    def __init__(self, query: PersistentQuery, topic: str, log: Log, engine: Engine, checkpoint: Checkpoint) -> None:
        self.query, self.topic, self.log, self.engine, self.checkpoint = query, topic, log, engine, checkpoint
        self.given = query.properties.get(STARTING_OFFSETS)

    def spark_start(self) -> str:
        """Spark's `startingOffsets`."""
        return f'{{"{self.topic}": {self.given}}}' if self.given else "earliest"

    def first(self) -> Mapping[int, int]:
        """Partition -> the offset at which the query begins."""
        if self.given:
            return {int(p): int(o) for p, o in json.loads(self.given).items()}
        return self.log.first_offsets(self.topic)

    def committed(self) -> Mapping[int, int]:
        """Partition -> the offset after the last committed batch; empty before the first."""
        return self.checkpoint.source_offsets().get(self.topic, {})

    def next(self) -> Mapping[int, int]:
        """Partition -> the offset that is read next: as the decoder saw it last, else as of the last commit."""
        committed, read = self.committed(), self.engine.positions(self.query.id).get(self.topic, {})
        return {p: max(committed.get(p, 0), read.get(p, 0)) for p in committed.keys() | read.keys()}

    def before(self, ends: Mapping[int, int]) -> int:
        """Rows that are still to be read up to `ends`."""
        return self._distance(self.next(), ends)

    def uncommitted_before(self, ends: Mapping[int, int]) -> int:
        """Rows up to `ends` that are not in a committed batch."""
        return self._distance(self.committed(), ends)

    def _distance(self, done: Mapping[int, int], ends: Mapping[int, int]) -> int:
        if ends.keys() - done.keys():
            done = {**self.first(), **done}
        return sum(max(0, end - done.get(p, 0)) for p, end in ends.items())

    def waiting(self) -> int:
        """Rows that are still to be read."""
        return self.before(self.log.end_offsets(self.topic))
