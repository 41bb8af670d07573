"""The topic that a new query writes into: what is said of it, what follows from the left-most source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.catalog.model import KAFKA_TYPES, RelationKind
from millpond.errors import MillpondError
from millpond.plan.nodes import Scan, Sink, scans_of
from millpond.plan.relations import TopicFacts, TopicLookup, sink_topic
from millpond.plan.stages import EnsureTopic

EXAMPLES = {"topic.partitions": 1, "topic.replicas": 1}


def new_topic(sink: Sink, scan: Scan, given: Mapping[str, Any], topics: TopicLookup) -> EnsureTopic:
    """One that is made has the partitions and replicas of `scan`'s topic, unless they are `given`.

    Raises MISSING_PROPERTY where the source says nothing about them, because its store is of another kind,
    TOPIC_TAKEN for a view, with which its topic goes, and FEEDS_ITSELF.
    """
    relation = sink.relation
    there = topics(relation.store, relation.topic)
    refuse_feeding_itself(sink)
    if there is not None and relation.kind is RelationKind.VIEW:
        raise MillpondError("TOPIC_TAKEN", topic=relation.topic, store=relation.store, name=relation.name)
    source = _inferred(sink, scan, topics) if there is None else None
    partitions = given.get("topic.partitions") or (source.partitions if source else None)
    replicas = given.get("topic.replicas") or (source.replicas if source else None)
    if there is None and source is None and not _alike(sink, scan) and relation.kind is not RelationKind.VIEW:
        _require(sink, {"topic.partitions": partitions, "topic.replicas": replicas})
    return sink_topic(relation, partitions, replicas, given)


def refuse_feeding_itself(sink: Sink) -> None:
    """Raises FEEDS_ITSELF for a query that would read for ever what it writes."""
    place = (sink.relation.store, sink.relation.topic)
    if any((scan.relation.store, scan.relation.topic) == place for scan in scans_of(sink)):
        raise MillpondError("FEEDS_ITSELF", name=sink.relation.name, topic=sink.relation.topic)


def _inferred(sink: Sink, scan: Scan, topics: TopicLookup) -> TopicFacts | None:
    return topics(scan.relation.store, scan.relation.topic) if _alike(sink, scan) else None


def _alike(sink: Sink, scan: Scan) -> bool:
    """Whether a topic of the one store can be modelled on one of the other."""
    return (sink.store_type in KAFKA_TYPES) == (scan.store_type in KAFKA_TYPES)


def _require(sink: Sink, wanted: Mapping[str, int | None]) -> None:
    for name, value in wanted.items():
        if value is None:
            statement = f"CREATE {sink.relation.kind.value.upper()} AS SELECT from another kind of store"
            raise MillpondError("MISSING_PROPERTY", statement=statement, name=name, example=EXAMPLES[name])
