"""How far a query says it is in a stream, from what Kinesis tells: ages, no counts."""

from __future__ import annotations

import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millpond.clock import now_ms
from millpond.queries.checkpoint import Checkpoint
from millpond.queries.kinesis_position import SLACK_MS, KinesisScanPosition
from millpond.queries.source_position import Lag, SourcePosition
from millpond.stores.kinesis_batches import BatchReader, Position, Progress, note_progress, progress_file
from millpond.stores.memory import MemoryLog
from millpond.stores.protocol import NewRecord
from tests.kinesis_emulators import open_kinesis, store_properties
from tests.waiting import eventually


def position(folder: Path, stream: str = "s") -> KinesisScanPosition:
    scan: Any = SimpleNamespace(number=0, relation=SimpleNamespace(topic=stream))
    log = MemoryLog()
    log.create(stream)
    return KinesisScanPosition(scan, None, log, Checkpoint(folder))


def told(folder: Path, age: int, behind_ms: int) -> Lag:
    """The lag after Kinesis said `behind_ms`, `age` milliseconds ago."""
    note_progress(progress_file(folder, 0), Progress(now_ms() - age, behind_ms))
    return SourcePosition([position(folder)]).lag()


def test_before_kinesis_has_told_nothing_is_known(tmp_path: Path) -> None:
    assert SourcePosition([position(tmp_path)]).lag() == (None, None)


def test_at_the_tip_no_rows_wait_and_behind_it_nobody_counts_them(tmp_path: Path) -> None:
    assert told(tmp_path, 0, 0) == (0, 0)
    assert told(tmp_path, 100, 7_000) == (None, 7_000)


def test_what_was_told_long_ago_counts_with_the_time_since(tmp_path: Path) -> None:
    found = told(tmp_path, SLACK_MS + 1_000, 500)
    assert found.rows is None
    assert found.milliseconds is not None and SLACK_MS + 1_500 <= found.milliseconds < SLACK_MS + 11_500


@pytest.mark.kinesis
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_lag_is_the_age_of_the_oldest_record_that_is_left(kinesis_url: str, tmp_path: Path) -> None:
    log, stream = open_kinesis(kinesis_url), f"lag-{uuid.uuid4().hex[:8]}"
    log.create(stream)
    written = now_ms()
    log.produce(stream, [NewRecord(b"k", b"%d" % n) for n in range(30)])
    eventually(lambda: now_ms() - written, lambda age: age > 1_500)
    reader = BatchReader(store_properties(kinesis_url), stream, max_rows=10)
    here: Position = {}
    lags: list[Lag] = []

    def read_on() -> int:
        nonlocal here
        here = reader.next(here).end
        if (progress := reader.progress()) is not None:
            note_progress(progress_file(tmp_path, 0), progress)
            lags.append(SourcePosition([position(tmp_path, stream)]).lag())
        return lags[-1].milliseconds if lags else None  # type: ignore[return-value]

    eventually(read_on, 0)
    assert lags[-1] == (0, 0)
    most = max(lag.milliseconds or 0 for lag in lags)
    assert 1_000 < most < 30_000, lags
    reader.close()
    log.close()
