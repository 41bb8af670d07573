"""The topic that a new query writes into: what is said of it, what follows from the left-most source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.catalog.model import KAFKA_TYPES, Relation, RelationKind
from millpond.catalog.store_kinds import STORE_KINDS
from millpond.errors import MillpondError, missing_properties
from millpond.plan.nodes import Scan, Sink, scans_of
from millpond.plan.relations import TopicFacts, TopicLookup
from millpond.plan.stages import EnsureTopic

COMPACTED = {"cleanup.policy": "compact", "segment.bytes": str(64 << 20), "segment.ms": str(3_600_000)}
"""Of a changelog's topic. Only closed segments are compacted: with Kafka's own sizes a small one never would be."""
EXAMPLES = {"topic.partitions": 1, "topic.replicas": 1, "topic.shards": 1}
OF_KAFKA, OF_KINESIS = ("topic.partitions", "topic.replicas"), ("topic.shards",)


def new_topic(sink: Sink, scan: Scan, given: Mapping[str, Any], topics: TopicLookup) -> EnsureTopic:
    """One that is made has the partitions and replicas, or the shards, of `scan`'s topic, unless they are `given`.

    Raises MISSING_PROPERTY where the source says nothing about them, because its store is of another kind,
    TOPIC_TAKEN for a view, with which its topic goes, and FEEDS_ITSELF.
    """
    relation = sink.relation
    _refuse_foreign(relation, sink.store_type, given)
    there = topics(relation.store, relation.topic)
    refuse_feeding_itself(sink)
    if there is not None and relation.kind is RelationKind.VIEW:
        raise MillpondError("TOPIC_TAKEN", topic=relation.topic, store=relation.store, name=relation.name)
    source = _inferred(sink, scan, topics) if there is None else None
    counts = STORE_KINDS[sink.store_type].partitions
    partitions = given.get(counts) or (source.partitions if source else None)
    replicas = given.get("topic.replicas") or (source.replicas if source else None)
    if there is None and source is None and not _alike(sink, scan) and relation.kind is not RelationKind.VIEW:
        kafka = sink.store_type in KAFKA_TYPES
        _require(sink, {counts: partitions, "topic.replicas": replicas} if kafka else {counts: partitions})
    return sink_topic(relation, sink.store_type, partitions, replicas, given)


def declared_topic(relation: Relation, store_type: str, given: Mapping[str, Any]) -> EnsureTopic:
    """That of a relation that is declared without a query."""
    partitions = given.get(STORE_KINDS[store_type].partitions)
    return sink_topic(relation, store_type, partitions, given.get("topic.replicas"), given)


def sink_topic(
    relation: Relation, store_type: str, partitions: int | None, replicas: int | None, given: Mapping[str, Any]
) -> EnsureTopic:
    """The relation's topic; that of a changelog or view is compacted if it is made, and its store can do that.

    Raises UNSUPPORTED for properties that are those of another kind of store.
    """
    _refuse_foreign(relation, store_type, given)
    compacts = relation.kind is not RelationKind.STREAM and STORE_KINDS[store_type].compacts
    settings = {k.removeprefix("kafka.topic."): str(v) for k, v in given.items() if k.startswith("kafka.topic.")}
    config = {**(COMPACTED if compacts else {}), **settings}
    return EnsureTopic(relation.store, relation.topic, partitions, replicas, config)


def _refuse_foreign(relation: Relation, store_type: str, given: Mapping[str, Any]) -> None:
    foreign = OF_KINESIS if store_type in KAFKA_TYPES else OF_KAFKA
    for name in given:
        if name in foreign or (name.startswith(("kafka.topic.", "kafka.producer.")) and foreign is OF_KAFKA):
            label, counts = STORE_KINDS[store_type].label, STORE_KINDS[store_type].partitions
            raise MillpondError(
                "UNSUPPORTED",
                feature=f"The property '{name}' for the {label} store '{relation.store}'",
                instead=f"Leave it out; '{counts}' says how many parts there are.",
            )


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
    if missing := {name: EXAMPLES[name] for name, value in wanted.items() if value is None}:
        statement = f"CREATE {sink.relation.kind.value.upper()} AS SELECT from another kind of store"
        raise missing_properties(statement, missing)
