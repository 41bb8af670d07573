"""Runs plans on Spark: the one door through which the life of queries reaches the engine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from millpond.config import Settings
from millpond.plan.nodes import Sink
from millpond.spark import codec
from millpond.spark.run import Handle, QueryFailed, Run, Trigger
from millpond.spark.session import jvm_pid, start_session
from millpond.spark.sink import start_writing
from millpond.spark.translate import Translator
from millpond.spark.warm_up import WarmUp
from millpond.stores.access import StoreAccess
from millpond.watchdog import Watchdog

STOP_SECONDS = 10


class SparkHandle:
    """A `StreamingQuery` of pyspark."""

    def __init__(self, query: StreamingQuery) -> None:
        self.query = query

    def wait(self, seconds: float) -> bool:
        try:
            return bool(self.query.awaitTermination(seconds))
        except StreamingQueryException as error:
            raise QueryFailed(_reason(str(error))) from None

    def stop(self) -> None:
        self.query.stop()


TRACEBACK = "Traceback (most recent call last):"
OUR_ERROR = re.compile(r"^millpond\.[\w.]+: (?=\[[A-Z_]+\] )")
SQLSTATE = re.compile(r"(?: SQLSTATE: \w{5})+$")
"""What Spark adds to a message that it passes on."""


def _reason(text: str) -> str:
    """The innermost cause's first line, be it Python's or Java's: what a reader of an error wants."""
    if raised := _raised_in_python(text):
        return raised[:500]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by:").strip() for line in lines if line.startswith("Caused by:")]
    return (causes or lines or ["unknown"])[-1 if causes else 0][:500]


def _raised_in_python(text: str) -> str:
    """The error below the last Python traceback in `text`, an error of ours without its class; empty if there is none.

    A traceback's frames are indented, and the message that follows them may have further lines.
    """
    _, found, below = text.rpartition(TRACEBACK)
    lines = below.splitlines()[1:] if found else []
    raised = next((line for line in lines if line.strip() and not line[0].isspace()), "")
    return OUR_ERROR.sub("", SQLSTATE.sub("", raised.strip()))


class SparkEngine:
    """The Spark session of the server, started once."""

    def __init__(self, settings: Settings, work_dir: Path) -> None:
        self.spark: SparkSession = start_session(settings, work_dir)
        self._watchdog = Watchdog(jvm_pid(), grace=0)
        self.slots = slots_of(settings.spark_master)
        codec.watch_progress(self.spark)
        self._warming: WarmUp | None = None

    def warm_up(self, access: Callable[[], StoreAccess]) -> None:
        """Run a query beside everything else, until there is a real one; `access` gives that of a Kafka store."""
        self._warming = WarmUp(self.spark, access)
        self._warming.start()

    def start(self, plan: Sink, run: Run, checkpoint: Path, trigger: Trigger) -> Handle:
        """Start `plan`; its state and positions are kept in `checkpoint`."""
        self._stop_warming()
        try:
            codec.forget_positions(run.query_id)
            if not run.real_time:
                codec.catches_up(run.query_id)
            frame = Translator(self.spark, run).translate(plan)
            return SparkHandle(start_writing(plan, frame, run, checkpoint.as_uri(), dict(trigger)))
        except (PySparkException, Py4JJavaError) as error:
            raise QueryFailed(_reason(str(error))) from None

    def remember_written(self, query_id: str, positions: Mapping[int, Sequence[int]]) -> None:
        """What the query's sink holds already: source partition -> positions."""
        codec.forget_written(query_id)
        codec.mark_written(query_id, positions)

    def figures(self, query_id: str) -> dict[str, int]:
        """Counts of a query since the server started, and the size of its state by the end of the last batch."""
        state_rows, state_bytes = codec.state_size(query_id)
        return {
            "rows_in": codec.rows_read(query_id),
            "late_rows": codec.late_rows(query_id),
            "state_rows": state_rows,
            "state_bytes": state_bytes,
            "dead_letters": codec.undecodable_count(query_id),
            "dead_letters_lost": codec.lost_dead_letters(query_id),
        }

    def positions(self, query_id: str) -> dict[int, dict[int, int]]:
        """Number of the scan -> partition -> the offset after the last record that the present run has decoded."""
        return codec.read_positions(query_id)

    def forget(self, query_id: str) -> None:
        """Free what is kept of a query that is gone."""
        codec.forget_query(query_id)

    def healthy(self) -> bool:
        """Whether the JVM still answers."""
        try:
            return not self.spark.sparkContext._jsc.sc().isStopped()
        except Exception:  # noqa: BLE001 - py4j raises anything when its JVM is gone
            return False

    def stop(self) -> None:
        self._stop_warming(wait=STOP_SECONDS)
        self.spark.stop()
        self._watchdog.dismiss()

    def _stop_warming(self, wait: float = 0) -> None:
        warming, self._warming = self._warming, None
        if warming is not None:
            warming.stop()
            warming.join(wait)


def slots_of(master: str) -> int:
    """Task slots of `local`, `local[N]` and `local[*]`; a cluster is taken to have enough."""
    if not master.startswith("local"):
        return 1_000_000
    inside = master.partition("[")[2].rstrip("]").partition(",")[0].strip()
    return (os.cpu_count() or 1) if inside == "*" else int(inside or 1)
