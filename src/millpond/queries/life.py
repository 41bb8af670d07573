"""The life of one persistent query: catch up in micro-batch, then follow in real time, on one checkpoint.

1. The topics are those that it began with (`Witness`). Marker: the sink's end offsets before the first row is written.
2. Catch-up, `availableNow`, throttled. Only after a crash of a changelog's query that ran in real time it is one batch
   over everything, so that no value goes backwards. A stream skips the rows that its sink holds already; until it has
   read again what the run before had read, the marker stays: the sink is ahead of each batch.
   A new query with a small backlog leaves it out, so that every single update is a record of the changelog.
3. Follow: real-time batches if the plan and the free slots allow it, else short micro-batches.
A failure goes back to 2. A crash between any two steps does as well.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from millpond.catalog.model import KAFKA_TYPES, PersistentQuery, QueryState
from millpond.config import Settings
from millpond.errors import MillpondError
from millpond.plan.capabilities import Mode, verdict
from millpond.plan.dead_letters import dead_letter_place
from millpond.plan.nodes import Aggregate, Join, Kind, Sink, scans_of, walk
from millpond.queries.batch_length import BatchLength
from millpond.queries.checkpoint import Checkpoint, Marker, before_replay
from millpond.queries.sink_position import sink_position
from millpond.queries.slots import Slots
from millpond.queries.source_position import Lag, SourcePosition, scan_position
from millpond.queries.witness import Witness
from millpond.spark.run import Engine, Handle, QueryFailed, Run, Trigger, slots_needed
from millpond.stores.access import StoreAccess
from millpond.stores.protocol import Log, Offsets

logger = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
"""Seconds between attempts after a failure: doubling; a broker that is away is tried for ever."""
AWAY = ("STORE_UNREACHABLE", "STORE_THROTTLED", "REGISTRY_UNREACHABLE")
"""Errors of a store that pass by themselves, however long that takes."""
PASSING = (
    "SchemaRegistry$Away",
    "Python worker failed to connect back",
    "Timed out while waiting for the Python worker to connect back",
    *(f"[{name}]" for name in AWAY),
)
"""Parts of the engine's own errors that say the same: a registry did not answer, a worker process did not start in
time on a machine that is busy, a store was away for the reader or writer in such a process."""
GIVE_UP_AFTER = 4
"""Failures in a row, none of which passes by itself, before a query is `errored`."""
STEADY_SECONDS = 60.0
"""A query that ran this long before it failed did not fail for the reason that it failed for before."""
WATCH_SECONDS, FILLING_WATCH_SECONDS = 1.0, 0.2
"""Between two looks at how far a query is; a view that is being filled is waited for by somebody."""
STOP_SECONDS = 30.0
LOST = ("TOPIC_REPLACED", "TOPIC_RECORDS_LOST")
"""Errors that no further attempt mends."""
LOOK_SECONDS = 10.0
"""Between two looks whether the topics are still the same."""
AVAILABLE_NOW: Trigger = {"availableNow": True}
SHORT_BATCHES: Trigger = {"processingTime": "200 milliseconds"}


def real_time_batches(seconds: int) -> Trigger:
    return {"realTime": f"{seconds} seconds"}


@dataclass(frozen=True, slots=True)
class Status:
    """How a query stands."""

    state: QueryState
    mode: str = ""
    mode_reason: str = ""
    error: str = ""
    """What went wrong last, while it is being tried again, or why it was given up."""
    backfill_total: int = 0
    """Rows that were waiting when the first catch-up began."""
    backfill_done: int = 0
    caught_up: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a query's life needs besides the query: the engine, the stores, and what it shares with others."""

    engine: Engine
    log: Callable[[str], Log]
    access: Callable[[str], StoreAccess]
    """Both by the store's name; raise STORE_NOT_FOUND."""
    slots: Slots
    settings: Settings
    clock: Callable[[], float] = time.monotonic


class QueryLife:
    """One query's thread. `report` is called with each new `Status`, and must not raise."""

    def __init__(
        self,
        query: PersistentQuery,
        plan: Sink,
        checkpoint: Checkpoint,
        surroundings: Surroundings,
        report: Callable[[Status], None],
    ) -> None:
        self.query, self.plan, self.checkpoint, self.report = query, plan, checkpoint, report
        self.engine, self.access, self.slots = surroundings.engine, surroundings.access, surroundings.slots
        self.settings, self.clock = surroundings.settings, surroundings.clock
        self.sink = sink_position(plan, surroundings.log(plan.relation.store), checkpoint)
        self.status = Status(QueryState.STARTING)
        self.failures = self.attempts = 0
        """In a row; failures that pass by themselves are not counted among the first."""
        self.stopping = threading.Event()
        self.replaying = False
        """The sink may be ahead of the batch that runs, by more than one batch."""
        self.handle: Handle | None = None
        self.thread = threading.Thread(target=self._live, name=f"query-{query.id[:8]}", daemon=True)
        self.source = SourcePosition(
            [
                scan_position(query, scan, surroundings.log(scan.relation.store), self.engine, checkpoint)
                for scan in scans_of(plan)
            ]
        )
        writes = surroundings.log(plan.relation.store), plan.relation.topic
        self.witness = Witness(checkpoint, self.source.scans, writes if plan.store_type in KAFKA_TYPES else None)
        self.target: Mapping[int, Offsets] = {}
        """End offsets of the sources at the start of the first catch-up: there, the query has caught up."""

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> bool:
        """Stop and wait until Spark has let go; False if it has not within `STOP_SECONDS`: it will, later."""
        self.stopping.set()
        handle = self.handle
        if handle is not None:
            handle.stop()
        self.thread.join(timeout=STOP_SECONDS)
        if self.thread.is_alive():
            logger.warning("query %s does not stop", self.query.id)
        return not self.thread.is_alive()

    def lag(self) -> Lag:
        """What is in the sources' topics that the query has not read. Raises STORE_UNREACHABLE.

        Between two runs those after the last commit count: what a failed run had read more, it reads again.
        """
        return self.source.lag(committed=not self.handle)

    def unread(self) -> int:
        """Rows of it; 1 for "some" where they cannot be counted. Raises STORE_UNREACHABLE."""
        return self.source.waiting() if self.handle else self.source.uncommitted_before(self.source.ends())

    def rows_out(self) -> int:
        """Records in the sink's topic since the query began. Raises STORE_UNREACHABLE."""
        marker = self.checkpoint.marker()
        return 0 if marker is None else self.sink.rows(marker)

    # --- again and again ---

    def _live(self) -> None:
        while not self.stopping.is_set() and self.failures < GIVE_UP_AFTER:
            began = self.clock()
            try:
                self._catch_up()
                if not self.stopping.is_set():
                    self._follow()
            except Exception as error:  # noqa: BLE001 - a bug must show in DESCRIBE QUERY, not end a thread silently
                if self.clock() - began > STEADY_SECONDS:
                    self.failures = self.attempts = 0
                if not self.stopping.is_set():
                    self._failed(error)
            finally:
                self.handle = None
                self.slots.give_back(self.query.id)

    def _failed(self, error: Exception) -> None:
        """Note the failure and wait a moment; give up after a few that do not pass by themselves."""
        reason = _reason(error)
        log = logger.warning if isinstance(error, QueryFailed | MillpondError) else logger.exception
        log("query %s failed: %s", self.query.id, reason)
        if _is_lost(error):
            self.failures = GIVE_UP_AFTER
        elif not _passes(error) and self._reachable():
            self.failures += 1
        if self.failures >= GIVE_UP_AFTER:
            self._set(state=QueryState.ERRORED, error=reason, mode="", mode_reason="")
            return
        self._set(error=reason)
        self.stopping.wait(min(FIRST_PAUSE * 2 ** min(self.attempts, 10), LONGEST_PAUSE))
        self.attempts += 1

    def _reachable(self) -> bool:
        try:
            self.source.ends()
            self.sink.ends()
        except MillpondError as error:
            return error.name not in AWAY
        return True

    # --- catching up ---

    def _catch_up(self) -> None:
        self.witness.check()
        marker = self.checkpoint.marker()
        if marker is None or not marker.caught_up:
            self._measure_backlog()
        else:
            self._set(caught_up=True)
        if marker is None:
            marker = Marker(positions=((-1, self.sink.ends()),))
            self.checkpoint.write_marker(marker)
            if self._small_backlog():
                return
        self.checkpoint.discard_uncommitted()
        self.replaying = marker.real_time
        if self.replaying:
            marker = before_replay(marker, self.checkpoint.committed())
            self.checkpoint.write_marker(marker)
        at_once = self.replaying and self.plan.kind is not Kind.APPEND
        throttle = None if at_once else self.settings.catchup_rows
        run = replace(self._run(), max_rows=throttle, skip_written=self._remember_written(marker))
        self._set(state=QueryState.RUNNING, mode=Mode.MICRO_BATCH.value, mode_reason="it is catching up")
        self._watch(run, AVAILABLE_NOW)
        if not self.stopping.is_set():
            self._caught_up()
            self.replaying = False

    def _measure_backlog(self) -> None:
        self.target = self.source.ends()
        self._set(backfill_total=self.source.before(self.target))

    def _small_backlog(self) -> bool:
        """Whether a new query may start in real time at once."""
        small = self.status.backfill_total <= self.settings.realtime_backlog_rows
        if any(isinstance(node, Join) for node in walk(self.plan)):
            return False  # a batch over all that is there, and only then row by row: see JoinProgress.java
        if not small or self._mode()[0] is not Mode.REAL_TIME:
            return False
        if self.status.backfill_total == 0:
            self._caught_up()
        return True

    def _caught_up(self) -> None:
        marker = self.checkpoint.marker()
        assert marker is not None
        self.checkpoint.write_marker(replace(marker, caught_up=True))
        self._set(caught_up=True, backfill_done=self.status.backfill_total, error="")

    def _remember_written(self, marker: Marker) -> bool:
        """Tell the skip operator what a stream's sink holds already; a changelog may be written again."""
        if self.plan.kind is not Kind.APPEND:
            return False
        found = self.sink.written(marker, self.query.id, self.stopping.is_set)
        if found is None:
            return False
        self.engine.remember_written(self.query.id, found)
        return True

    # --- following ---

    def _follow(self) -> None:
        mode, reason = self._mode()
        slots = self._slots()
        if mode is Mode.REAL_TIME and (reason := self.slots.take(self.query.id, slots)):
            mode = Mode.MICRO_BATCH
        real_time = mode is Mode.REAL_TIME
        if real_time:
            marker = self.checkpoint.marker()
            assert marker is not None
            self.checkpoint.write_marker(replace(marker, real_time=True))
        self._set(state=QueryState.RUNNING, mode=mode.value, mode_reason=reason)
        if real_time:
            fixed = self.settings.realtime_batch_seconds
            length = BatchLength(self.source.rate, self.source.rows, self.query.id, fixed, self.clock)
            self._watch(replace(self._run(), real_time=True), real_time_batches(length.seconds), length.misfits)
        else:
            waits_for_slots = self._mode()[0] is not mode
            self._watch(self._run(), SHORT_BATCHES, lambda: waits_for_slots and self._fits(slots))

    def _mode(self) -> tuple[Mode, str]:
        found = verdict(self.plan)
        return found.mode, " ".join(filter(None, (found.reason, found.advice)))

    def _fits(self, slots: int) -> bool:
        return self.slots.free() >= slots

    def _slots(self) -> int:
        stateful = 0
        for node in walk(self.plan):
            if isinstance(node, Join):
                stateful += 1
            if isinstance(node, Aggregate):
                stateful += 1 + len({c.args for c in node.aggregates if c.distinct})
        return slots_needed(self.source.partitions(), stateful)

    # --- both ---

    def _run(self) -> Run:
        scans = scans_of(self.plan)
        letters = {s.number: dead_letter_place(s, self.plan) for s in scans if s.error_handling == "LOG"}
        names = {self.plan.relation.store, *(s.relation.store for s in scans), *(p.store for p in letters.values())}
        stores = {name: self.access(name) for name in sorted(names)}
        starts = self.source.spark_starts()
        return Run(self.query.id, stores, starting_offsets=starts, folder=self.checkpoint.path, dead_letters=letters)

    def _watch(self, run: Run, trigger: Trigger, enough: Callable[[], bool] = lambda: False) -> None:
        """Run it on Spark until it ends, is to stop, or `enough`; meanwhile note how far it is."""
        if self.stopping.is_set():
            return
        self.handle = handle = self.engine.start(self.plan, run, self.checkpoint.path, trigger)
        looked = self.clock()
        try:
            while not handle.wait(WATCH_SECONDS if self.status.caught_up else FILLING_WATCH_SECONDS):
                if self.stopping.is_set() or enough():
                    return
                self._set(error="")
                self._note(run)
                if self.clock() - looked > LOOK_SECONDS:
                    self.witness.look()
                    looked = self.clock()
        finally:
            handle.stop()
        self._note(run)
        if trigger is not AVAILABLE_NOW and not self.stopping.is_set():
            raise QueryFailed("it ended by itself")

    def _note(self, run: Run) -> None:
        """First the sink's end, then the committed batch: see `Marker`."""
        try:
            ends = self.sink.ends()
        except MillpondError:
            return
        if self.plan.kind is Kind.APPEND and not self.replaying:
            self._note_position(ends)
        if not self.status.caught_up:
            left = self.source.before(self.target)
            self._set(backfill_done=max(0, self.status.backfill_total - left))
            if left == 0 and (run.real_time or self.source.uncommitted_before(self.target) == 0):
                self._caught_up()

    def _note_position(self, ends: Mapping[int, int]) -> None:
        batch = self.checkpoint.committed()
        marker = self.checkpoint.marker()
        if marker and (not marker.positions or marker.positions[-1][0] != batch):
            self.checkpoint.write_marker(replace(marker, positions=(*marker.positions, (batch, ends))))

    def _set(self, **changes: Any) -> None:
        changed = replace(self.status, **changes)
        if changed != self.status:
            self.status = changed
            self.report(changed)


def _is_lost(error: Exception) -> bool:
    return isinstance(error, MillpondError) and error.name in LOST


def _passes(error: Exception) -> bool:
    """Whether trying again is enough, however often: what it needs is away, or has not started yet."""
    if isinstance(error, MillpondError):
        return error.name in AWAY
    return isinstance(error, QueryFailed) and any(part in error.reason for part in PASSING)


def _reason(error: Exception) -> str:
    """One line for DESCRIBE QUERY."""
    if isinstance(error, QueryFailed):
        return error.reason
    if isinstance(error, MillpondError):
        return str(error).splitlines()[0]
    return f"{type(error).__name__}: {error}".splitlines()[0][:500]
