"""An engine that the tests drive by hand, with the files that Spark leaves in a checkpoint."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millpond.plan.nodes import Scan, Sink, walk
from millpond.spark.run import QueryFailed, Run, Trigger
from millpond.stores.memory import MemoryLog
from millpond.stores.protocol import NewRecord


def commit(checkpoint: Path, offsets: Mapping[str, Mapping[int, int]], batch: int | None = None) -> int:
    """Write the files of a committed batch (the next one): what Spark leaves behind. Its number."""
    for folder in ("offsets", "commits"):
        (checkpoint / folder).mkdir(parents=True, exist_ok=True)
    number = batch if batch is not None else len(list((checkpoint / "commits").iterdir()))
    text = json.dumps({t: {str(p): o for p, o in parts.items()} for t, parts in offsets.items()})
    (checkpoint / "offsets" / str(number)).write_text(f"v1\n{{}}\n{text}")
    (checkpoint / "commits" / str(number)).write_text("v1\n{}")
    return number


@dataclass
class FakeRun:
    """One start of a query; also its handle. It goes on until `end`, `fail` or `stop`."""

    plan: Sink
    run: Run
    checkpoint: Path
    trigger: Trigger
    ended: threading.Event = field(default_factory=threading.Event)
    stopped: bool = False
    failure: str = ""

    @property
    def catches_up(self) -> bool:
        return "availableNow" in self.trigger

    @property
    def topic(self) -> str:
        return next(n for n in walk(self.plan) if isinstance(n, Scan)).relation.topic

    def wait(self, seconds: float) -> bool:
        ended = self.ended.wait(min(seconds, 0.01))
        if ended and self.failure and not self.stopped:
            raise QueryFailed(self.failure)
        return ended

    def stop(self) -> None:
        self.stopped = True
        self.ended.set()

    def fail(self, reason: str) -> None:
        self.failure = reason
        self.ended.set()

    def commit_to(self, offsets: Mapping[int, int]) -> int:
        return commit(self.checkpoint, {self.topic: offsets})

    def end(self, offsets: Mapping[int, int] | None = None) -> None:
        """End as `availableNow` does, with a batch committed up to `offsets`."""
        if offsets is not None:
            self.commit_to(offsets)
        self.ended.set()


class FakeEngine:
    """Notes every start. `on_start` may end or fail a run at once."""

    def __init__(self, slots: int = 64) -> None:
        self.slots = slots
        self.runs: list[FakeRun] = []
        self.written: dict[str, Mapping[int, Sequence[int]]] = {}
        self.read: dict[str, dict[int, dict[int, int]]] = {}
        self.counts: dict[str, dict[str, int]] = {}
        self.forgotten: list[str] = []
        self.on_start: Callable[[FakeRun], None] = lambda run: None

    @property
    def last(self) -> FakeRun:
        return self.runs[-1]

    def start(self, plan: Sink, run: Run, checkpoint: Path, trigger: Trigger) -> FakeRun:
        made = FakeRun(plan, run, checkpoint, trigger)
        self.on_start(made)
        self.runs.append(made)
        return made

    def remember_written(self, query_id: str, positions: Mapping[int, Sequence[int]]) -> None:
        self.written[query_id] = positions

    def figures(self, query_id: str) -> Mapping[str, int]:
        return self.counts.get(query_id, {})

    def positions(self, query_id: str) -> Mapping[int, Mapping[int, int]]:
        return self.read.get(query_id, {})

    def forget(self, query_id: str) -> None:
        self.forgotten.append(query_id)

    def healthy(self) -> bool:
        return True


def ends_at_once(log: MemoryLog) -> Callable[[FakeRun], None]:
    """An `on_start` whose catch-ups read everything that is there, and end."""

    def on_start(run: FakeRun) -> None:
        if run.catches_up:
            run.end(log.end_offsets(run.topic))

    return on_start


def rows(count: int) -> list[NewRecord]:
    return [NewRecord(None, b'{"url": "./home"}') for _ in range(count)]


def written_by(query_id: str, positions: Sequence[int], partition: int = 0) -> list[NewRecord]:
    """Records of a sink as the query writes them, from these positions of a source partition."""
    mine = ("mp.query", query_id[:8].encode())
    return [NewRecord(None, b"{}", (("mp.src", f"{partition}:{p}".encode()), mine)) for p in positions]
