"""How far a query is in the topics that it reads."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from millpond.catalog.model import KAFKA_TYPES, PersistentQuery
from millpond.plan.nodes import Scan, Sink, scans_of
from millpond.queries.checkpoint import Checkpoint
from millpond.queries.kinesis_position import KinesisScanPosition
from millpond.spark.run import Engine
from millpond.stores.protocol import Log, Offsets

STARTING_OFFSETS = "starting.offsets"
"""The query's property that holds, as JSON, where its first scan was to begin when it was made; without it, at the
beginning. The property of a further scan has its number behind it."""

RATE_SECONDS = 60.0


def starting_offsets(plan: Sink, log: Callable[[str], Log]) -> dict[str, str]:
    """`starting.position` of each scan as partition -> offset in JSON, fixed when the query is made, by property."""
    found = {}
    for scan in scans_of(plan):
        store, topic, position = log(scan.relation.store), scan.relation.topic, scan.starting_position
        if position != "earliest":
            ends = store.end_offsets(topic) if position == "latest" else store.offsets_at(topic, int(position))
            found[_property(scan)] = json.dumps({str(p): o for p, o in ends.items()})
    return found


def _property(scan: Scan) -> str:
    return f"{STARTING_OFFSETS}.{scan.number}" if scan.number else STARTING_OFFSETS


class ScanPosition:
    """Where a query begins in one of its topics, and where it is. Calls may raise STORE_UNREACHABLE."""

    counts = True
    """Whether its rows are numbers; else 1 is "some"."""

    def __init__(self, query: PersistentQuery, scan: Scan, log: Log, engine: Engine, checkpoint: Checkpoint) -> None:
        self.query, self.scan, self.log, self.engine, self.checkpoint = query, scan, log, engine, checkpoint
        self.topic = scan.relation.topic
        self.given = query.properties.get(_property(scan))

    def spark_start(self) -> str:
        """Spark's `startingOffsets`."""
        return f"{{{json.dumps(self.topic)}: {self.given}}}" if self.given else "earliest"

    def first(self) -> Offsets:
        """Partition -> the offset at which the query begins."""
        if self.given:
            return {int(p): int(o) for p, o in json.loads(self.given).items()}
        return self.log.first_offsets(self.topic)

    def ends(self) -> Offsets:
        """Partition -> the offset of the next record to come."""
        return self.log.end_offsets(self.topic)

    def rate(self) -> float:
        """Records a second, as of the last `RATE_SECONDS`."""
        since = self.log.offsets_at(self.topic, int((time.time() - RATE_SECONDS) * 1000))
        return sum(end - since.get(p, 0) for p, end in self.ends().items()) / RATE_SECONDS

    def committed(self) -> Offsets:
        """Partition -> the offset after the last committed batch; empty before the first."""
        return self.checkpoint.source_offsets(self.scan.number).get(self.topic, {})

    def next(self) -> Offsets:
        """Partition -> the offset that is read next: as the decoder saw it last, else as of the last commit."""
        committed, read = self.committed(), self.engine.positions(self.query.id).get(self.scan.number, {})
        return {p: max(committed.get(p, 0), read.get(p, 0)) for p in committed.keys() | read.keys()}

    def before(self, ends: Offsets) -> int:
        """Rows that are still to be read up to `ends`."""
        return self._distance(self.next(), ends)

    def behind_ms(self) -> int | None:
        """Not told: rows are."""
        return None

    def uncommitted_before(self, ends: Offsets) -> int:
        """Rows up to `ends` that are not in a committed batch."""
        return self._distance(self.committed(), ends)

    def _distance(self, done: Offsets, ends: Offsets) -> int:
        if ends.keys() - done.keys():
            done = {**self.first(), **done}
        return sum(max(0, end - done.get(p, 0)) for p, end in ends.items())


class Lag(NamedTuple):
    """What is still to be read. None: not known; Kafka tells no ages, Kinesis counts no rows but 0."""

    rows: int | None
    milliseconds: int | None


AnyPosition: TypeAlias = ScanPosition | KinesisScanPosition


def scan_position(query: PersistentQuery, scan: Scan, log: Log, engine: Engine, checkpoint: Checkpoint) -> AnyPosition:
    """For the kind of store that `scan` reads."""
    if scan.store_type in KAFKA_TYPES:
        return ScanPosition(query, scan, log, engine, checkpoint)
    return KinesisScanPosition(scan, query.properties.get(_property(scan)), log, checkpoint)


class SourcePosition:
    """Where a query is in all of its topics. Ends are by the number of the scan. Calls may raise STORE_UNREACHABLE."""

    def __init__(self, scans: Sequence[AnyPosition]) -> None:
        self.scans = scans

    def spark_starts(self) -> dict[int, str]:
        """Spark's `startingOffsets` of each scan."""
        return {s.scan.number: s.spark_start() for s in self.scans}

    def ends(self) -> dict[int, Offsets]:
        return {s.scan.number: s.ends() for s in self.scans}

    def partitions(self) -> int:
        """How many partitions the query reads."""
        return sum(map(len, self.ends().values()))

    def rate(self) -> float:
        """Records a second that come into all of them."""
        return sum(s.rate() for s in self.scans)

    def rows(self) -> int:
        """Records that were ever written to them."""
        return sum(sum(ends.values()) for ends in self.ends().values())

    def before(self, ends: Mapping[int, Offsets]) -> int:
        """Rows that are still to be read up to `ends`."""
        return sum(s.before(ends.get(s.scan.number, {})) for s in self.scans)

    def uncommitted_before(self, ends: Mapping[int, Offsets]) -> int:
        """Rows up to `ends` that are not in a committed batch."""
        return sum(s.uncommitted_before(ends.get(s.scan.number, {})) for s in self.scans)

    def waiting(self) -> int:
        """Rows that are still to be read; 1 for "some" where they cannot be counted."""
        return self.before(self.ends())

    def lag(self, *, committed: bool = False) -> Lag:
        """Rows, and the age of the oldest one. `committed`: rows that were read since the last commit count, too."""
        ends = self.ends()
        left = [(s, (s.uncommitted_before if committed else s.before)(ends[s.scan.number])) for s in self.scans]
        counted = [rows for s, rows in left if s.counts or rows == 0]
        ages = [age for s in self.scans if (age := s.behind_ms()) is not None]
        return Lag(sum(counted) if counted else None, max(ages, default=None))
