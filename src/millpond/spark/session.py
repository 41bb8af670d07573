"""The one Spark session of a server: `local[N]` with many slots, because a slot is a thread that mostly sleeps."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from millpond.config import Settings
from millpond.errors import MillpondError
from millpond.jvm.compile import compile_operators
from millpond.jvm.locate import find_java, operators_jar, spark_jars
from millpond.spark.run import SHUFFLE_PARTITIONS

FIXED = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # Names are matched by the planner, exactly first: to Spark each is what it is.
    "spark.sql.caseSensitive": "true",
    "spark.sql.timeType.enabled": "true",
    # Bad data gives NULL instead of ending a query that runs for ever.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.shuffle.partitions": str(SHUFFLE_PARTITIONS),
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Real-time mode refuses format 1: a re-executed batch could take the state files of one that failed.
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # The whole difference between 30 ms and 3 ms for an aggregate: how long a shuffled row waits for company.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
    # Hadoop forks a `chmod` for every file it makes; these set permissions in the process itself.
    "spark.hadoop.fs.file.impl": "io.millpond.fs.NioLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "io.millpond.fs.NioLocalFs",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}

SCRATCH = "tmp"
"""Folder of the session's working files: nothing in it outlives the JVM."""


def start_session(settings: Settings, work_dir: Path) -> SparkSession:
    """Start the JVM and the session. Raises JAVA_NOT_FOUND, JAVA_TOO_OLD, JVM_PARTS_MISSING,
    JVM_COMPILE_FAILED, JDK_NOT_FOUND, SPARK_NOT_STARTED."""
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.parent.parent)
    # Python data sources run in workers: in our Python, which has what they import, not in the first on the path.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    work_dir.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(work_dir / SCRATCH, ignore_errors=True)  # a JVM that was killed left its copies of states there
    operators_jar()
    compile_operators()  # nothing to do, unless the sources are newer than the installation
    given = _configuration(settings, work_dir)
    _start_jvm(given, work_dir / "jvm.out")
    builder = SparkSession.builder.appName("millpond").master(settings.spark_master)
    for key, value in given.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def jvm_pid() -> int:
    """The process of the JVM; there is a session."""
    return int(SparkContext._gateway.proc.pid)


def _configuration(settings: Settings, work_dir: Path) -> dict[str, str]:
    jars: Sequence[Path] = [*spark_jars(), operators_jar()]
    return {
        **FIXED,
        "spark.jars": ",".join(map(str, jars)),
        "spark.driver.extraClassPath": str(operators_jar()),
        "spark.driver.memory": settings.spark_memory,
        "spark.local.dir": str(work_dir / SCRATCH),
        "spark.driver.extraJavaOptions": _java_options(work_dir),
    }


def _start_jvm(given: Mapping[str, str], out: Path) -> None:
    """Start the JVM of this process, if it has none yet; what it prints goes to `out`, not to the user's terminal.

    pyspark would have it print wherever Python prints: its warnings, and what it says when it cannot start.
    Raises SPARK_NOT_STARTED with its last words.
    """
    if SparkContext._gateway is not None:
        return
    conf = SparkConf(loadDefaults=False)
    for key, value in given.items():
        conf.set(key, value)
    try:
        with out.open("wb") as printed:
            gateway = launch_gateway(conf, {"stdout": printed, "stderr": subprocess.STDOUT})
    except PySparkRuntimeError as error:
        said = [line.strip() for line in out.read_text("utf-8", "replace").splitlines() if line.strip()]
        reason = (said or [str(error)])[-1].removesuffix(".")
        raise MillpondError("SPARK_NOT_STARTED", reason=reason, log=out) from error
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


def _java_options(work_dir: Path) -> str:
    """Spark's log goes to a file of its own: stopped real-time readers are logged as errors there, harmlessly.

    Spark's classes alone pass the first four sizes of metaspace at which Java stops for a full collection.
    """
    config = Path(__file__).with_name("log4j2.properties")
    crash = f"-XX:ErrorFile={work_dir / 'jvm-crash.log'}"
    log = f"-Dlog4j2.configurationFile={config.as_uri()} -Dmillpond.log={work_dir / 'spark.log'}"
    return f"-XX:+UseParallelGC -XX:MetaspaceSize=256m {crash} {log}"
