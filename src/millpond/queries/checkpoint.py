"""What a query's checkpoint folder tells from outside: Spark's own files, and a marker of ours beside them."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

OFFSETS_HEADER = 2
"""Lines of an offsets file before the sources': the format and the batch's settings."""
NO_OFFSET = "-"
"""What stands for a source that had nothing yet."""
OURS = "millpond"
"""How the names of files begin that are not Spark's: the marker, and what sources and sinks of our own keep."""
KEPT_POSITIONS = 8
"""Sink positions kept in the marker: two would do, the rest forgives a slow observer."""


@dataclass(frozen=True, slots=True)
class Marker:
    """Survives a crash with the checkpoint.

    `positions`: (batch, sink end offsets) pairs; the offsets were read before it was seen that `batch` was committed,
    and perhaps before it was. Outputs of batch `batch + 2` and later lie at or behind them.
    `real_time`: the query has run in real time, so its sink may be ahead of its checkpoint by more than a batch: while
    it reads that again, no pairs are added.
    """

    real_time: bool = False
    caught_up: bool = False
    positions: tuple[tuple[int, Mapping[int, int]], ...] = ()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One query's folder."""

    path: Path
    marker_path: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "marker_path", self.path / "millpond.json")

    def committed(self) -> int:
        """Number of the last committed batch; -1 before the first."""
        return max(_numbers(self.path / "commits"), default=-1)

    def source_offsets(self, scan: int = 0) -> dict[str, dict[int, int]]:
        """Topic -> partition -> next offset of the scan with this number, as of the last committed batch."""
        sources = self.sources()
        return sources[scan] if scan < len(sources) else {}

    def sources(self) -> list[dict[str, dict[int, int]]]:
        """`source_offsets` of all scans, in the order of their numbers; empty before the first commit."""
        batch = self.committed()
        if batch < 0:
            return []
        try:
            lines = (self.path / "offsets" / str(batch)).read_text().splitlines()[OFFSETS_HEADER:]
        except FileNotFoundError:  # the query is being dropped, or Spark has tidied up since
            return []
        return [_offsets({} if line == NO_OFFSET else json.loads(line)) for line in lines]

    def discard_uncommitted(self) -> None:
        """Before the first commit nothing in the folder counts but our own files; Spark refuses what is left over."""
        if self.committed() >= 0 or not self.path.exists():
            return
        for entry in self.path.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif not entry.name.startswith(OURS):
                entry.unlink()

    def marker(self) -> Marker | None:
        """None: the query has never started. One that cannot be read (a damaged disk) says the worst of everything."""
        try:
            raw: dict[str, Any] = json.loads(self.marker_path.read_text())
            positions = tuple((int(b), {int(p): int(o) for p, o in ends.items()}) for b, ends in raw["positions"])
            return Marker(bool(raw["real_time"]), bool(raw["caught_up"]), positions)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            logger.warning("the marker '%s' is damaged: %s", self.marker_path, error)
            return Marker(real_time=True)

    def write_marker(self, marker: Marker) -> None:
        kept = marker.positions[:1] + marker.positions[1:][-KEPT_POSITIONS:]
        text = json.dumps({"real_time": marker.real_time, "caught_up": marker.caught_up, "positions": kept})
        replace_file(self.marker_path, text)


def replace_file(path: Path, text: str) -> None:
    """Replace a file at once: a crash leaves the old or the new one. Its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".new")
    with scratch.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)


def before_replay(marker: Marker, committed: int) -> Marker:
    """`marker` with the pairs that hold for what was written after batch `committed`, and the first one.

    A replay in several batches writes it before it begins: each of its batches is a part of what one batch had written,
    so that the later pairs say nothing of them.
    """
    first, *later = marker.positions or ((-1, {}),)
    return replace(marker, positions=(first, *(pair for pair in later if pair[0] + 2 <= committed + 1)))


def replay_start(marker: Marker, committed: int) -> Mapping[int, int]:
    """Sink offsets from which on everything lies that was written after batch `committed`."""
    return before_replay(marker, committed).positions[-1][1]


def _offsets(raw: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[int, int]]:
    """Kafka's offsets as they are; of a Kinesis stream how many records of each shard were read."""
    return {t: {int(p.rpartition("-")[2]): _offset(o) for p, o in parts.items()} for t, parts in raw.items()}


def _offset(raw: Any) -> int:
    return int(raw["count"] if isinstance(raw, dict) else raw)


def _numbers(folder: Path) -> list[int]:
    try:
        return [int(entry.name) for entry in folder.iterdir() if entry.name.isdigit()]
    except FileNotFoundError:
        return []
