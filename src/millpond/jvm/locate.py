"""Where the JVM parts are: Java itself, pyspark's jars, the fetched jars and our own operators' jar."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from millpond.errors import MillpondError

MINIMUM_JAVA = 17
"""Spark 4 is compiled for Java 17; an older one dies with UnsupportedClassVersionError."""

OPERATORS_JAR = "millpond-operators.jar"


def jvm_dir() -> Path:
    """Where everything fetched and compiled is kept: MILLPOND_JVM_DIR, else beside the virtual environment."""
    given = os.environ.get("MILLPOND_JVM_DIR")
    return Path(given).absolute() if given else Path(sys.prefix) / "share" / "millpond" / "jvm"


def spark_jars() -> list[Path]:
    """The fetched jars that a Spark session needs besides pyspark's own and `operators_jar`: Kafka's connector."""
    return fetched_jars("spark")


def broker_classpath() -> list[Path]:
    """The jars of the embedded Kafka broker."""
    return fetched_jars("broker")


def operators_jar() -> Path:
    """The jar of `millpond/spark/operators/java`."""
    jar = jvm_dir() / OPERATORS_JAR
    if not jar.is_file():
        raise MillpondError("JVM_PARTS_MISSING", path=jar)
    return jar


def fetched_jars(conf: str) -> list[Path]:
    """The jars of one configuration of `ivy.xml` (spark, broker), sorted by name."""
    folder = jvm_dir() / "lib" / conf
    jars = sorted(folder.glob("*.jar"))
    if not jars:
        raise MillpondError("JVM_PARTS_MISSING", path=folder)
    return jars


def pyspark_jars() -> Path:
    """The folder of the jars in pyspark's wheel; pyspark itself is not imported."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise MillpondError("JVM_PARTS_MISSING", path="pyspark")
    return Path(spec.origin).parent / "jars"


def find_java() -> Path:
    """The `java` program, of version 17 or newer: of JAVA_HOME if that is set, else of the PATH."""
    java = _candidate()
    if java is None:
        raise MillpondError("JAVA_NOT_FOUND", where=os.environ.get("JAVA_HOME") or "the PATH")
    version = java_version(java)
    if version < MINIMUM_JAVA:
        raise MillpondError("JAVA_TOO_OLD", path=java, version=version, needed=MINIMUM_JAVA)
    return java


def find_tool(name: str) -> Path:
    """A program of the JDK beside `java`, e.g. javac: a runtime without the compiler lacks it."""
    tool = find_java().with_name(name)
    if not tool.is_file():
        raise MillpondError("JDK_NOT_FOUND", tool=name, path=tool.parent)
    return tool


def _candidate() -> Path | None:
    """JAVA_HOME that is set but wrong is not silently replaced by another Java."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    return Path(found).resolve() if found else None


@cache
def java_version(java: Path) -> int:
    """The major version of a `java` program; 0 if it does not say one."""
    release = java.parent.parent / "release"
    text = release.read_text("utf-8", "replace") if release.is_file() else _asked_version(java)
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else 0


def _asked_version(java: Path) -> str:
    try:
        return subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return ""
