"""The logical plan: frozen values, no engine types in them. Each node knows its columns and its kind.

Besides its visible columns every node below a sink carries the hidden ones of `HIDDEN`: where a row came from and when.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from millpond.catalog.model import Relation
from millpond.plan.expressions import AggregateCall, Expr
from millpond.types import BIGINT, BYTES, INTEGER, TIMESTAMP_LTZ, VARCHAR, Column


class Kind(StrEnum):
    """How a plan's rows are to be read."""

    APPEND = "append"
    """Every row is a fact (a stream)."""
    UPSERT = "upsert"
    """The last row per key counts, a null value deletes it (a changelog)."""


ROWTIME = Column("__rowtime", TIMESTAMP_LTZ)
"""Event time of the row: the relation's timestamp column, else the record's timestamp."""
INGESTED = Column("__ingested", BIGINT)
"""The record's own timestamp in the source, epoch milliseconds: freshness is measured from it."""
PARTITION = Column("__partition", INTEGER)
OFFSET = Column("__offset", BIGINT)
KEY = Column("__key", BYTES)
TOPIC = Column("__topic", VARCHAR)
SEQUENCE = Column("__sequence", VARCHAR)
"""The sequence number of a record of Kinesis; the others have none."""
HIDDEN = (ROWTIME, INGESTED, PARTITION, OFFSET, KEY, TOPIC, SEQUENCE)


@dataclass(frozen=True, slots=True)
class Node:
    """A step of the plan."""

    columns: tuple[Column, ...]
    """The visible output columns, names unique."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @property
    def kind(self) -> Kind:
        return self.inputs[0].kind


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """Reads a relation's topic. `needed` are the columns that something above uses (None: all of them)."""

    relation: Relation
    starting_position: str
    """earliest, latest, or epoch milliseconds as text."""
    timestamp_column: str | None = None
    allowed_latency_ms: int | None = None
    """None: late rows always count, and window state is kept for ever."""
    error_handling: str = "LOG"
    """TERMINATE, IGNORE or LOG (a dead letter; the default)."""
    dead_letter_topic: str | None = None
    needed: frozenset[str] | None = None
    dead_letter_store: str | None = None
    store_type: str = "KAFKA"
    """That of the relation's store."""
    idle_timeout_ms: int | None = None
    """How long a quiet partition holds a join back; None: the join's own default."""
    at_once: bool = False
    """A batch takes all there is, whatever its limit: a changelog must not fall behind the stream beside it."""
    number: int = 0
    """The scan's place among those of its plan, from the left: two may read one topic."""

    @property
    def kind(self) -> Kind:
        return Kind.APPEND if self.relation.kind == "stream" else Kind.UPSERT


@dataclass(frozen=True, slots=True)
class Filter(Node):
    input: Node
    condition: Expr

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class Project(Node):
    """`exprs` are parallel to `columns`."""

    input: Node
    exprs: tuple[Expr, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class Unnest(Node):
    """CROSS JOIN UNNEST(array) [WITH ORDINALITY]: the input's columns and `element` (and `ordinality`)."""

    input: Node
    array: Expr
    element: str
    ordinality: str | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class Window(Node):
    """Adds `window_start` and `window_end`; a row is repeated for each window that it falls into. Milliseconds."""

    input: Node
    function: str
    """TUMBLE, HOP or CUMULATE."""
    size_ms: int
    step_ms: int
    allowed_latency_ms: int | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """GROUP BY: first the group columns, then one column for each aggregate; a changelog keyed by the groups."""

    input: Node
    groups: tuple[Expr, ...]
    aggregates: tuple[AggregateCall, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def kind(self) -> Kind:
        return Kind.UPSERT


class JoinType(StrEnum):
    """Whose rows come out without a match, too."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"


@dataclass(frozen=True, slots=True)
class Join(Node):
    """Rows of two inputs with equal keys. The columns are those of `left` and then of `right`, renamed.

    `left_keys` and `right_keys` are parallel, over the columns of their own input; a NULL among them matches nothing.
    The result is a stream with the keys of `left`'s records.
    """

    left: Node
    right: Node
    left_keys: tuple[Expr, ...]
    right_keys: tuple[Expr, ...]
    join_type: JoinType
    idle_timeout_ms: int
    """After how long without a record a partition does not hold the join back."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def kind(self) -> Kind:
        return Kind.APPEND


@dataclass(frozen=True, slots=True)
class TemporalJoin(Join):
    """A row of a stream meets the version of a changelog's row that was valid at its own time: the result's, too."""

    allowed_latency_ms: int | None
    """How far an event may lag behind the latest and still meet its version; None: the default, and none is dropped."""


@dataclass(frozen=True, slots=True)
class IntervalJoin(Join):
    """A row of `right` is at most `before_ms` earlier and `after_ms` later than that of `left`; the result's time is
    the later one."""

    before_ms: int
    after_ms: int
    grace_ms: int
    """How much later than its turn a row may come and still find those that it matches."""


@dataclass(frozen=True, slots=True)
class Sink(Node):
    """Writes to a relation's topic. `key` are the columns of `input` that make the record's key, in order.

    `having`: an upsert row that does not satisfy it is written as a delete of its key.
    """

    input: Node
    relation: Relation
    key: tuple[str, ...]
    having: Expr | None = None
    exclude: tuple[str, ...] = ()
    """Columns left out of the value (value.columns.exclude)."""
    producer: tuple[tuple[str, str], ...] = field(default=())
    """kafka.producer.* overrides."""
    store_type: str = "KAFKA"
    """That of the relation's store."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


def scans_of(node: Node) -> tuple[Scan, ...]:
    """The scans at or below `node`, from the left."""
    return tuple(n for n in walk(node) if isinstance(n, Scan))


def walk(node: Node) -> Iterator[Node]:
    """`node` and everything below it, sink first."""
    yield node
    for child in node.inputs:
        yield from walk(child)
