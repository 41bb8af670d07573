"""One Spark session for the tests of this area."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millpond.config import Settings
from millpond.spark.session import start_session


@contextmanager
def quick_jvm() -> Iterator[None]:
    """A JVM that is started in here compiles little: a test's plans run but a few times each."""
    given = os.environ.get("JDK_JAVA_OPTIONS")
    os.environ["JDK_JAVA_OPTIONS"] = f"{given or ''} -XX:TieredStopAtLevel=1"
    try:
        yield
    finally:
        os.environ.pop("JDK_JAVA_OPTIONS")
        if given is not None:
            os.environ["JDK_JAVA_OPTIONS"] = given


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with two slots, as the server starts it; Python's local time is UTC, as Spark's is."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    with tempfile.TemporaryDirectory(prefix="millpond-spark-", ignore_cleanup_errors=True) as folder:
        with quick_jvm():
            session = start_session(Settings(spark_master="local[4]"), Path(folder))
        yield session
        session.stop()
