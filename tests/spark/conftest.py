"""One Spark session for the tests of this area."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millpond.config import Settings
from millpond.spark.session import start_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with two slots, as the server starts it; Python's local time is UTC, as Spark's is."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    with tempfile.TemporaryDirectory(prefix="millpond-spark-", ignore_cleanup_errors=True) as folder:
        session = start_session(Settings(spark_master="local[4]"), Path(folder))
        session.conf.set("spark.sql.timeType.enabled", "true")
        yield session
        session.stop()
