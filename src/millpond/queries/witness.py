"""Whether a query's topics are still those that it began with: what it has not committed, it must find there again.

A batch in real time lasts for minutes, and a query that is stopped or killed reads its rows once more. Without them its
state would begin anew in silence: a count would fall back. So what each topic was is kept beside the checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from millpond.errors import MillpondError
from millpond.queries.checkpoint import Checkpoint, replace_file
from millpond.queries.source_position import AnyPosition, ScanPosition
from millpond.stores.protocol import Log, Offsets

FILE = "millpond-topics.json"
SINK = "sink"
MISSING_LOOKS = 3
"""A topic that is not there so many times in a row is gone: a broker that has just come back may not know it yet."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A topic as the query found it; `offsets`: where it began to read, partition -> offset."""

    topic_id: str
    offsets: Offsets


class Witness:
    """The topics of one query, those in Kafka: a Kinesis source finds out by itself (STREAM_RECORDS_LOST)."""

    def __init__(self, checkpoint: Checkpoint, sources: Sequence[AnyPosition], sink: tuple[Log, str] | None) -> None:
        """`sink`: the topic that the query writes, if it is in Kafka."""
        self.file = checkpoint.path / FILE
        self.sources = {str(s.scan.number): s for s in sources if isinstance(s, ScanPosition)}
        self.topics: Mapping[str, tuple[Log, str]] = {name: (s.log, s.topic) for name, s in self.sources.items()}
        if sink is not None:
            self.topics = {**self.topics, SINK: sink}
        self.missing = 0

    def check(self) -> None:
        """Before a run. Raises TOPIC_REPLACED, TOPIC_RECORDS_LOST, TOPIC_NOT_FOUND, STORE_UNREACHABLE.

        Notes what it has not seen yet: the topics of a query that has never run.
        """
        kept = self._kept()
        seen = {name: self._same(name, kept.get(name)) for name in self.topics}
        for name, source in self.sources.items():
            _check_records(source, {**seen[name].offsets, **source.committed()})
        self.missing = 0
        if seen != kept:
            raw = {name: asdict(topic) for name, topic in seen.items()}
            replace_file(self.file, json.dumps(raw))

    def look(self) -> None:
        """During a run, now and then. Raises TOPIC_REPLACED and, when it has been so for a while, TOPIC_NOT_FOUND.

        What the run has read needs not be there any more, until it is read again.
        """
        kept = self._kept()
        try:
            for name in kept.keys() & self.topics.keys():
                self._same(name, kept[name])
            self.missing = 0
        except MillpondError as error:
            if error.name == "TOPIC_NOT_FOUND":
                self.missing += 1
            if error.name == "TOPIC_REPLACED" or self.missing >= MISSING_LOOKS:
                raise

    def _same(self, name: str, kept: Seen | None) -> Seen:
        log, topic = self.topics[name]
        topic_id = log.describe(topic).id
        if kept is None:
            return Seen(topic_id, self.sources[name].first() if name in self.sources else {})
        if kept.topic_id != topic_id:
            raise MillpondError("TOPIC_REPLACED", topic=topic)
        return kept

    def _kept(self) -> dict[str, Seen]:
        try:
            raw = json.loads(self.file.read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return {n: Seen(t["topic_id"], {int(p): o for p, o in t["offsets"].items()}) for n, t in raw.items()}


def _check_records(source: ScanPosition, needed: Offsets) -> None:
    first = source.log.first_offsets(source.topic)
    for partition, offset in sorted(needed.items()):
        if first.get(partition, 0) > offset:
            raise MillpondError(
                "TOPIC_RECORDS_LOST", topic=source.topic, partition=partition, offset=offset, first=first[partition]
            )
