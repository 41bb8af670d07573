"""What a query's sink holds: from where on, how much, and what a crash may have left in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from millpond.catalog.model import KAFKA_TYPES
from millpond.plan.nodes import Sink
from millpond.queries.checkpoint import Checkpoint, Marker, replay_start
from millpond.queries.replay import written_positions
from millpond.stores.kinesis_delivery import delivered, delivery_file
from millpond.stores.protocol import Log, Offsets


class SinkPosition(Protocol):
    """Calls may raise STORE_UNREACHABLE."""

    def ends(self) -> Offsets:
        """Where the sink ends now, for the marker. Raises TOPIC_NOT_FOUND."""
        ...

    def rows(self, marker: Marker) -> int:
        """Records in the sink since the query began."""
        ...

    def written(self, marker: Marker, query_id: str, abandoned: Callable[[], bool]) -> Mapping[int, list[int]] | None:
        """Source partition -> positions of rows that may be met again and are in the sink; None: it sees to that."""
        ...


class KafkaSink:
    """A topic: it can be asked for its ends, and its records say in headers where they come from."""

    def __init__(self, log: Log, topic: str, checkpoint: Checkpoint) -> None:
        self.log, self.topic, self.checkpoint = log, topic, checkpoint

    def ends(self) -> Offsets:
        return self.log.end_offsets(self.topic)

    def rows(self, marker: Marker) -> int:
        first = marker.positions[0][1] if marker.positions else {}
        return sum(end - first.get(p, 0) for p, end in self.ends().items())

    def written(self, marker: Marker, query_id: str, abandoned: Callable[[], bool]) -> Mapping[int, list[int]] | None:
        start = replay_start(marker, self.checkpoint.committed())
        return written_positions(self.log, self.topic, start, query_id, abandoned)


class KinesisSink:
    """A stream: its writer notes itself what is written (`stores.kinesis_delivery`)."""

    def __init__(self, log: Log, topic: str, checkpoint: Checkpoint) -> None:
        self.log, self.topic, self.file = log, topic, delivery_file(checkpoint.path)

    def ends(self) -> Offsets:
        """Nothing that the marker must know; only that the stream is there."""
        self.log.describe(self.topic)
        return {}

    def rows(self, marker: Marker) -> int:
        noted = delivered(self.file)
        return noted.rows if noted else 0

    def written(self, marker: Marker, query_id: str, abandoned: Callable[[], bool]) -> Mapping[int, list[int]] | None:
        return None


KINDS: Mapping[str, Callable[[Log, str, Checkpoint], SinkPosition]] = {
    **dict.fromkeys(KAFKA_TYPES, KafkaSink),
    "KINESIS": KinesisSink,
}


def sink_position(plan: Sink, log: Log, checkpoint: Checkpoint) -> SinkPosition:
    """For the kind of store that `plan` writes to."""
    return KINDS[plan.store_type](log, plan.relation.topic, checkpoint)
