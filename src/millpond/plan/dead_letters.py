"""Where the records of a query go that do not decode."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.catalog.model import KAFKA_TYPES
from millpond.plan.nodes import Scan, Sink, scans_of
from millpond.plan.relations import kafka_name

LAST_RESORT = "kafka"
"""The store for dead letters of a query that neither reads from nor writes to Kafka."""


@dataclass(frozen=True, slots=True, order=True)
class DeadLetterPlace:
    """A topic of a Kafka store."""

    store: str
    topic: str


def dead_letter_place(scan: Scan, sink: Sink) -> DeadLetterPlace:
    """The source's own choice, else one topic for each sink: in its store, or in the nearest one that is Kafka's."""
    target = sink.relation
    topic = scan.dead_letter_topic or kafka_name("dead-letters", target.database, target.schema, target.name)
    return DeadLetterPlace(scan.dead_letter_store or _kafka_store(scan, sink), topic)


def dead_letter_places(sink: Sink) -> tuple[DeadLetterPlace, ...]:
    """Those of all scans of a plan that keep dead letters, each once."""
    return tuple(sorted({dead_letter_place(s, sink) for s in scans_of(sink) if s.error_handling == "LOG"}))


def _kafka_store(scan: Scan, sink: Sink) -> str:
    if sink.store_type in KAFKA_TYPES:
        return sink.relation.store
    return scan.relation.store if scan.store_type in KAFKA_TYPES else LAST_RESORT
