"""A first query that nobody asked for: what the JVM loads and compiles for it, the user's first query finds done."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import StreamingQuery

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import SessionContext, Store
from millpond.errors import MillpondError
from millpond.plan.nodes import Scan, Sink
from millpond.plan.planner import Planner
from millpond.plan.pruning import prune_scan
from millpond.plan.stages import Planned, RegisterRelation, Stage, StartQuery
from millpond.spark.codec import forget_query
from millpond.spark.run import Run
from millpond.spark.sink import start_writing
from millpond.spark.translate import Translator
from millpond.sql.parser import parse
from millpond.stores.access import StoreAccess

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=Stage)

STORE = "kafka"
QUERY_ID = "warm-up"
STATEMENTS = """
CREATE STREAM rows_in (at BIGINT, name VARCHAR)
WITH ('value.format' = 'json', 'timestamp' = 'at', 'topic.partitions' = 1);
CREATE MATERIALIZED VIEW counts AS SELECT name, COUNT(*) AS n FROM rows_in GROUP BY name
"""
NO_TOPIC = "millpond[.]warm-up[.].*"
IMPATIENT = {"request.timeout.ms": "5000", "default.api.timeout.ms": "5000"}
"""A broker that does not answer is not waited for as a real query would."""
ROWS = 10
DELAY_SECONDS = 2
"""A script that starts a query at once gets the machine to itself."""
REAL_TIME_SECONDS = 5
"""How long the real-time query is left alone: its first batch has begun by then, and would last for minutes."""
BATCH_SECONDS = 30
"""How long the first batch of the other one may take on a slow machine."""


class WarmUp:
    """Runs beside the start of the server, and ends by itself or as soon as there is a real query."""

    def __init__(self, spark: SparkSession, access: Callable[[], StoreAccess]) -> None:
        """`access` is how a Kafka store is reached; it may raise, which ends the warm-up."""
        self.spark, self.access = spark, access
        self.failed: Exception | None = None
        """Why it ended early; that is no harm."""
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._work, name="warm-up", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Leave the machine to others; what runs is ended soon."""
        self._enough.set()

    def join(self, seconds: float) -> bool:
        """Whether it has ended within `seconds`."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        if self._enough.wait(DELAY_SECONDS):
            return
        started = time.monotonic()
        try:
            plan, run = prune_scan(_count()), Run(QUERY_ID, {STORE: self.access()}, real_time=True)
            self._see_through(partial(self._nothing_in_real_time, plan, run), REAL_TIME_SECONDS)
            self._see_through(partial(self._a_few_rows, plan, run), BATCH_SECONDS)
            forget_query(QUERY_ID)
            logger.info("warmed up for %.1f s", time.monotonic() - started)
        except (MillpondError, PySparkException, Py4JError, OSError) as error:
            self.failed = error
            logger.info("the warm-up ended early: %s", str(error).partition("\n")[0])

    def _see_through(self, begin: Callable[[str], StreamingQuery], seconds: float) -> None:
        """Until the query's first batch has ended, or it has run for so many seconds, or it is enough."""
        if self._enough.is_set():
            return
        with TemporaryDirectory(prefix="millpond-warm-up-", ignore_cleanup_errors=True) as folder:
            query = begin(Path(folder).as_uri())
            until = time.monotonic() + seconds
            while query.lastProgress is None and time.monotonic() < until and not self._enough.wait(0.1):
                pass
            query.stop()

    def _nothing_in_real_time(self, plan: Sink, run: Run, checkpoint: str) -> StreamingQuery:
        """From topics that are not there to a topic that is not made, for no row comes."""
        frame = Translator(self.spark, run, _no_topic).translate(plan)
        return start_writing(plan, frame, run, checkpoint, {"realTime": "5 minutes"})

    def _a_few_rows(self, plan: Sink, run: Run, checkpoint: str) -> StreamingQuery:
        writer = Translator(self.spark, run, _made_up).translate(plan).writeStream.format("noop").outputMode("update")
        named = writer.queryName(f"{QUERY_ID}/catch-up").option("checkpointLocation", checkpoint)
        return named.trigger(processingTime="1 hour").start()


def _count() -> Sink:
    """What most first queries are: rows from JSON, counted by a name."""
    catalog = Catalog.in_memory()
    catalog.create_store(Store(STORE, "KAFKA", {}, "sysadmin", 0, 0))
    planner = Planner(catalog, SessionContext(), lambda store, topic: None)
    declared, counted = parse(STATEMENTS)
    relation = _stage(planner.plan(declared), RegisterRelation).relation
    catalog.create_relation(relation)
    return _stage(planner.plan(counted), StartQuery).plan


def _stage(planned: Planned, kind: type[T]) -> T:
    return next(stage for stage in planned.stages if isinstance(stage, kind))


def _no_topic(spark: SparkSession, scan: Scan, run: Run) -> DataFrame:
    options = {f"kafka.{key}": value for key, value in {**run.stores[STORE].options, **IMPATIENT}.items()}
    reader = spark.readStream.format("kafka").options(**options).option("subscribePattern", NO_TOPIC)
    return reader.option("startingOffsets", "earliest").load()


def _made_up(spark: SparkSession, scan: Scan, run: Run) -> DataFrame:
    number = F.col("value")
    value = F.to_json(F.struct(number.alias("at"), (number % 3).cast("string").alias("name")))
    record = {
        "key": F.lit(None).cast("binary"),
        "value": value.cast("binary"),
        "topic": F.lit(scan.relation.topic),
        "partition": F.lit(0),
        "offset": number,
        "timestamp": F.col("timestamp"),
    }
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).load()
    return source.select(*(column.alias(name) for name, column in record.items()))
