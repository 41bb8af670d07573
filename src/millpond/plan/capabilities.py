"""How each kind of node runs on Spark, as data: the planner compares, nothing asks by name elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from millpond.plan.nodes import (
    Aggregate,
    Filter,
    IntervalJoin,
    Join,
    Kind,
    Node,
    Project,
    Scan,
    Sink,
    TemporalJoin,
    Unnest,
    Window,
    walk,
)


class Mode(StrEnum):
    """A trigger: real-time answers in milliseconds, micro-batch in the batch's length."""

    REAL_TIME = "real-time"
    MICRO_BATCH = "micro-batch"


@dataclass(frozen=True, slots=True)
class Capability:
    """How a node of one kind runs: `how` for EXPLAIN, `modes` it can run in, `reason` where real time is missing."""

    how: str
    modes: frozenset[Mode] = frozenset(Mode)
    reason: str = ""
    advice: str = ""


NATIVE = Capability("native Spark")
CAPABILITIES: dict[tuple[type[Node], Kind], Capability] = {
    (Scan, Kind.APPEND): Capability("Kafka source, own decoder"),
    (Scan, Kind.UPSERT): Capability("Kafka source, own decoder; a null value is a delete"),
    (Filter, Kind.APPEND): NATIVE,
    (Project, Kind.APPEND): NATIVE,
    (Project, Kind.UPSERT): NATIVE,
    (Unnest, Kind.APPEND): NATIVE,
    (Window, Kind.APPEND): NATIVE,
    (TemporalJoin, Kind.APPEND): Capability("own operator; keeps the versions that an event may still meet"),
    (IntervalJoin, Kind.APPEND): Capability("own operator; keeps rows until no match can come"),
    (Aggregate, Kind.UPSERT): Capability("native Spark; COUNT(DISTINCT) by an own first-seen operator"),
    (Sink, Kind.APPEND): Capability("own encoder, Kafka sink; a replay skips what is written already"),
    (Sink, Kind.UPSERT): Capability("own encoder, Kafka sink; one record a change, null is a delete"),
}
COPY = "CREATE STREAM ... AS SELECT copies a stream into a Kafka store; what reads the copy runs in real time."
KINESIS_SOURCE = Capability(
    "Kinesis by a Python data source, own decoder",
    frozenset({Mode.MICRO_BATCH}),
    "Kinesis is read by a Python data source.",
    COPY,
)
KINESIS_SINK = Capability(
    "own encoder, Kinesis by a Python data source; a replay leaves out what is written already",
    frozenset({Mode.MICRO_BATCH}),
    "Kinesis is written by a Python data source.",
    "Write into a Kafka store to have each row in milliseconds.",
)
BY_STORE: dict[tuple[type[Node], str], Capability] = {
    (Scan, "KINESIS"): KINESIS_SOURCE,
    (Sink, "KINESIS"): KINESIS_SINK,
}
"""Where the kind of store decides."""

JOIN_OF_JOIN = "real-time mode cannot run a join of a join."
"""A join begins with a union, and Spark's real-time mode has no operator with state below one."""
JOIN_FIRST = "CREATE STREAM ... AS SELECT with the first join, then join that stream."


@dataclass(frozen=True, slots=True)
class Verdict:
    """The best mode that every node of a plan allows, and if that is not real time, why and what to change."""

    mode: Mode
    reason: str = ""
    advice: str = ""


def capability(node: Node) -> Capability:
    """The table's entry for `node`."""
    store_type = node.store_type if isinstance(node, Scan | Sink) else ""
    entry = BY_STORE.get((type(node), store_type)) or CAPABILITIES[type(node), node.kind]
    if isinstance(node, Join) and any(isinstance(below, Join) for side in node.inputs for below in walk(side)):
        return replace(entry, modes=frozenset({Mode.MICRO_BATCH}), reason=JOIN_OF_JOIN, advice=JOIN_FIRST)
    return entry


def verdict(plan: Node) -> Verdict:
    """Compare the modes of all nodes of `plan`."""
    for node in walk(plan):
        entry = capability(node)
        if Mode.REAL_TIME not in entry.modes:
            return Verdict(Mode.MICRO_BATCH, entry.reason, entry.advice)
    return Verdict(Mode.REAL_TIME)
