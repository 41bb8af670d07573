"""Where the benchmarks keep things: `build/bench` what is fetched or measured, a temporary folder a run's."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
PEERS = BENCH / "peers"
BUILD = BENCH.parent / "build" / "bench"
"""Survives runs: the peers' jars, Flink's virtual environment, the results."""


@contextmanager
def run_folder(name: str) -> Iterator[Path]:
    """An empty folder for one run: data of servers and brokers, logs of processes. It goes with the run."""
    with tempfile.TemporaryDirectory(prefix=f"millpond-bench-{name}-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
