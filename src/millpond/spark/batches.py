"""Which batches Spark runs besides those that have new rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from millpond.plan.nodes import Join, Node, walk

EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
_starting = threading.Lock()


def has_timers(plan: Node) -> bool:
    """Whether an operator of `plan` has timers of the wall clock."""
    return any(isinstance(node, Join) for node in walk(plan))


@contextmanager
def empty_batches(spark: SparkSession, wanted: bool) -> Iterator[None]:
    """Whether a query that is started in here may run batches without a row.

    An operator with timers asks for one batch after the other; a query that is to end must not be given them.
    A query takes the settings along that the session has when it starts.
    """
    with _starting:
        spark.conf.set(EMPTY_BATCHES, str(wanted).lower())
        try:
            yield
        finally:
            spark.conf.unset(EMPTY_BATCHES)
