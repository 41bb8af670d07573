"""The life of one persistent query: catch up in micro-batch, then follow in real time, on one checkpoint.

1. Marker: the sink's end offsets before the first row is written.
2. Catch-up, `availableNow`: throttled only while the query has never run in real time. After a crash it is one batch
   over everything, so that no value goes backwards; a stream skips the rows that its sink holds already.
3. Follow: real-time batches if the plan and the free slots allow it, else short micro-batches.
A failure goes back to 2. A crash between any two steps does as well.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from millpond.catalog.model import PersistentQuery, QueryState
from millpond.config import Settings
from millpond.errors import MillpondError
from millpond.plan.capabilities import Mode, verdict
from millpond.plan.nodes import Aggregate, Kind, Scan, Sink, walk
from millpond.plan.planner import dead_letter_topic
from millpond.queries.checkpoint import Checkpoint, Marker, replay_start
from millpond.queries.replay import written_positions
from millpond.queries.slots import Slots
from millpond.spark.run import Engine, Handle, QueryFailed, Run, slots_needed
from millpond.stores.protocol import Log

logger = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
"""Seconds between attempts after a failure: doubling; a broker that is away is tried for ever."""
GIVE_UP_AFTER = 4
"""Failures in a row, none of them the store's, before a query is `errored`."""
WATCH_SECONDS = 1.0
STAGGER_SECONDS = 7
"""Real-time batches of queries differ by up to this, so that their boundaries do not fall together."""


@dataclass(frozen=True, slots=True)
class Status:
    """How a query stands."""

    state: QueryState
    mode: str = ""
    mode_reason: str = ""
    error: str = ""
    backfill_total: int = 0
    """Rows that were waiting when the first catch-up began."""
    backfill_done: int = 0
    caught_up: bool = False


class QueryLife:
    """One query's thread. `report` is called with each new `Status`."""

    def __init__(
        self,
        query: PersistentQuery,
        plan: Sink,
        engine: Engine,
        log: Log,
        bootstrap: str,
        checkpoint: Checkpoint,
        slots: Slots,
        settings: Settings,
        report: Callable[[Status], None],
    ) -> None:
        self.query, self.plan, self.engine, self.log = query, plan, engine, log
        self.bootstrap, self.checkpoint, self.slots, self.settings = bootstrap, checkpoint, slots, settings
        self.report = report
        self.status = Status(QueryState.STARTING)
        self.stopping = threading.Event()
        self.handle: Handle | None = None
        self.thread = threading.Thread(target=self._live, name=f"query-{query.id[:8]}", daemon=True)
        self.scan = next(n for n in walk(plan) if isinstance(n, Scan))

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        """Stop and wait until Spark has let go."""
        self.stopping.set()
        handle = self.handle
        if handle is not None:
            handle.stop()
        self.thread.join(timeout=30)

    def progress(self) -> Mapping[str, Any]:
        """Spark's last report; empty if there is none."""
        handle = self.handle
        return handle.progress() if handle else {}

    def _live(self) -> None:
        failures = 0
        while not self.stopping.is_set():
            try:
                self._catch_up()
                failures = 0
                self._follow()
            except QueryFailed as failure:
                failures = self._failed(failure.reason, failures)
            except MillpondError as error:
                failures = self._failed(str(error).splitlines()[0], failures, away=error.name == "STORE_UNREACHABLE")
            except Exception as error:  # a bug must show in DESCRIBE QUERY, not end a thread silently
                logger.exception("query %s", self.query.id)
                failures = self._failed(f"{type(error).__name__}: {error}".splitlines()[0][:500], failures)
            finally:
                self.handle = None
                self.slots.give_back(self.query.id)
            if self.status.state is QueryState.ERRORED:
                return

    def _failed(self, reason: str, failures: int, away: bool = False) -> int:
        """Note the failure and wait a moment; give up after a few that are not the store's."""
        if self.stopping.is_set():
            return failures
        failures += 0 if away or not self._reachable() else 1
        logger.warning("query %s failed: %s", self.query.id, reason)
        if failures >= GIVE_UP_AFTER:
            self._set(state=QueryState.ERRORED, error=reason, mode="")
            return failures
        self._set(error=reason)
        self.stopping.wait(min(FIRST_PAUSE * 2**failures, LONGEST_PAUSE))
        return failures

    def _reachable(self) -> bool:
        try:
            self.log.end_offsets(self.scan.relation.topic)
        except MillpondError as error:
            return error.name != "STORE_UNREACHABLE"
        return True

    # --- catching up ---

    def _catch_up(self) -> None:
        marker = self.checkpoint.marker()
        waiting = self._waiting()
        if marker is None:
            marker = Marker(positions=((-1, self.log.end_offsets(self.plan.relation.topic)),))
            self.checkpoint.write_marker(marker)
            self._set(backfill_total=waiting)
            if waiting <= self.settings.realtime_backlog_rows and self._mode()[0] is Mode.REAL_TIME:
                self._caught_up()
                return
        elif marker.caught_up:
            self._set(caught_up=True)
        else:
            self._set(backfill_total=waiting)
        self.checkpoint.discard_uncommitted()
        run = self._run(replace(self._base(), skip_written=self._remember_written(marker)))
        throttle = None if marker.real_time else self.settings.catchup_rows
        self._set(state=QueryState.RUNNING, mode=Mode.MICRO_BATCH.value, mode_reason="it is catching up")
        self._await(
            self.engine.start(self.plan, replace(run, max_rows=throttle), self.checkpoint.path, {"availableNow": True})
        )
        if not self.stopping.is_set():
            self._caught_up()

    def _caught_up(self) -> None:
        marker = self.checkpoint.marker()
        assert marker is not None
        self.checkpoint.write_marker(replace(marker, caught_up=True))
        self._set(caught_up=True, backfill_done=self.status.backfill_total, error="")

    def _waiting(self) -> int:
        """Rows in the source's topic behind the committed position."""
        topic = self.scan.relation.topic
        ends = self.log.end_offsets(topic)
        done = self.checkpoint.source_offsets().get(topic) or self._first_position()
        return sum(max(0, end - done.get(p, 0)) for p, end in ends.items())

    def _first_position(self) -> Mapping[int, int]:
        given = self.query.properties.get("starting.offsets")
        if given:
            return {int(p): int(o) for p, o in json.loads(given).items()}
        return self.log.first_offsets(self.scan.relation.topic)

    def _remember_written(self, marker: Marker) -> bool:
        """Tell the skip operator what a stream's sink holds already; a changelog may be written again."""
        if self.plan.kind is not Kind.APPEND:
            return False
        start = replay_start(marker, self.checkpoint.committed())
        found = written_positions(self.log, self.plan.relation.topic, start, self.query.id)
        self.engine.remember_written(self.query.id, found)
        return True

    # --- following ---

    def _follow(self) -> None:
        mode, reason = self._mode()
        if mode is Mode.REAL_TIME:
            reason = self.slots.take(self.query.id, self._slots())
            mode = Mode.MICRO_BATCH if reason else mode
        real_time = mode is Mode.REAL_TIME
        if real_time:
            marker = self.checkpoint.marker()
            assert marker is not None
            self.checkpoint.write_marker(replace(marker, real_time=True))
        trigger = (
            {"realTime": f"{self._batch_seconds()} seconds"} if real_time else {"processingTime": "200 milliseconds"}
        )
        run = replace(self._run(self._base()), real_time=real_time)
        self._set(state=QueryState.RUNNING, mode=mode.value, mode_reason=reason, error="")
        self._await(self.engine.start(self.plan, run, self.checkpoint.path, trigger))

    def _mode(self) -> tuple[Mode, str]:
        found = verdict(self.plan)
        return found.mode, " ".join(filter(None, (found.reason, found.advice)))

    def _slots(self) -> int:
        partitions = len(self.log.end_offsets(self.scan.relation.topic))
        stateful = 0
        for node in walk(self.plan):
            if isinstance(node, Aggregate):
                stateful += 1 + len({c.args for c in node.aggregates if c.distinct})
        return slots_needed(partitions, stateful)

    def _batch_seconds(self) -> int:
        spread = int(self.query.id.replace("-", "")[:6], 16) % STAGGER_SECONDS if self.query.id else 0
        return self.settings.realtime_batch_seconds + (spread if self.settings.realtime_batch_seconds > 20 else 0)

    # --- both ---

    def _base(self) -> Run:
        letters = dead_letter_topic(self.scan, self.plan.relation)
        return Run(self.query.id, self.bootstrap, dead_letter_topic=letters)

    def _run(self, base: Run) -> Run:
        given = self.query.properties.get("starting.offsets")
        topic = self.scan.relation.topic
        return replace(base, starting_offsets=f'{{"{topic}": {given}}}' if given else "earliest")

    def _await(self, handle: Handle) -> None:
        """Watch a Spark query until it ends or is to stop; meanwhile note how far its sink is."""
        self.handle = handle
        while not handle.wait(WATCH_SECONDS):
            if self.stopping.is_set():
                handle.stop()
                return
            self._note_position()
        self._note_position()

    def _note_position(self) -> None:
        """First the sink's end, then the committed batch: see `Marker`."""
        try:
            ends = self.log.end_offsets(self.plan.relation.topic)
            left = self._waiting() if not self.status.caught_up else 0
        except MillpondError:
            return
        batch = self.checkpoint.committed()
        marker = self.checkpoint.marker()
        if marker and (not marker.positions or marker.positions[-1][0] != batch):
            self.checkpoint.write_marker(replace(marker, positions=(*marker.positions, (batch, ends))))
        if not self.status.caught_up:
            self._set(backfill_done=max(0, self.status.backfill_total - left))

    def _set(self, **changes: Any) -> None:
        changed = replace(self.status, **changes)
        if changed != self.status:
            self.status = changed
            self.report(changed)
