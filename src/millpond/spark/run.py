"""What starting a plan on Spark takes and gives, without Spark: the life of queries is written against this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from millpond.errors import MillpondError
from millpond.plan.dead_letters import DeadLetterPlace
from millpond.plan.nodes import Sink
from millpond.stores.access import StoreAccess
from millpond.stores.registry import RegistryAccess

SHUFFLE_PARTITIONS = 2
"""Tasks after a shuffle: each holds a slot for as long as its query runs; more cores want more."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one start of a query needs to know besides its plan."""

    query_id: str
    stores: Mapping[str, StoreAccess] = field(default_factory=dict)
    """Every store that the plan or its dead letters name."""
    starting_offsets: Mapping[int, str] = field(default_factory=dict)
    """Spark's startingOffsets by the number of the scan: earliest (if it is not in here), latest, or JSON.

    Only the very first start looks at it.
    """
    max_rows: int | None = None
    """Rows that one micro-batch takes at most; None: everything that is there, and always in real time."""
    real_time: bool = False
    skip_written: bool = False
    """This run may meet rows that were written before a crash: leave them out of the sink."""
    folder: Path = Path()
    """The query's checkpoint: sources and sinks of our own keep what must survive with it in files `millpond-*`."""
    dead_letters: Mapping[int, DeadLetterPlace] = field(default_factory=dict)
    """By the number of the scan; one that is not in here keeps none."""

    def registry(self, store: str, form: str) -> RegistryAccess:
        """Where the schemas of a store's topics are. Raises NO_SCHEMA_REGISTRY."""
        found = self.stores[store].registry
        if found is None:
            raise MillpondError("NO_SCHEMA_REGISTRY", store=store, format=form)
        return found


Trigger = Mapping[str, Any]
"""Spark's trigger: {'availableNow': True}, {'realTime': '60 seconds'} or {'processingTime': '500 milliseconds'}."""


class Handle(Protocol):
    """A running Spark query."""

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within `seconds`; raises QueryFailed if it ended by an error."""
        ...

    def stop(self) -> None: ...


class QueryFailed(Exception):
    """A Spark query ended by an error; `reason` is one line."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Engine(Protocol):
    """Starts plans. `slots` are the tasks that can run at the same time."""

    slots: int

    def start(self, plan: Sink, run: Run, checkpoint: Path, trigger: Trigger) -> Handle:
        """Start `plan`; its state and positions are kept in `checkpoint`."""
        ...

    def remember_written(self, query_id: str, positions: Mapping[int, Sequence[int]]) -> None:
        """What the query's sink holds already: source partition -> positions."""
        ...

    def figures(self, query_id: str) -> Mapping[str, int]:
        """Since the start: rows_in, late_rows, dead_letters, dead_letters_lost; now: state_rows, state_bytes."""
        ...

    def positions(self, query_id: str) -> Mapping[int, Mapping[int, int]]:
        """Number of the scan -> partition -> the offset after the last record that the present run has decoded."""
        ...

    def forget(self, query_id: str) -> None:
        """Free what is kept of a query that is gone."""
        ...

    def healthy(self) -> bool: ...


def slots_needed(source_partitions: int, stateful: int) -> int:
    """Slots that a real-time query holds: one for each source partition and for each task after each shuffle."""
    return source_partitions + stateful * SHUFFLE_PARTITIONS
