"""The JVM that Spark runs in: what it prints, and what is said when it does not start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

START = """
from pathlib import Path
from millpond.config import Settings
from millpond.errors import MillpondError
from millpond.spark.session import start_session
try:
    spark = start_session(Settings(spark_master="local[2]", spark_memory={memory!r}), Path({folder!r}))
    print("rows", spark.range(3).count())
    spark.stop()
except MillpondError as error:
    print(error.name, error.sentence)
"""


def start(folder: Path, memory: str) -> subprocess.CompletedProcess[str]:
    script = START.format(memory=memory, folder=str(folder))
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)


def test_the_jvm_prints_into_its_file_and_not_to_the_terminal(tmp_path: Path) -> None:
    ran = start(tmp_path, "512m")
    assert (ran.stdout, ran.stderr) == ("rows 3\n", "")
    assert "jdk.incubator.vector" in (tmp_path / "jvm.out").read_text()


def test_a_jvm_that_does_not_start_is_named_with_its_last_words(tmp_path: Path) -> None:
    ran = start(tmp_path, "9999g")
    assert ran.stderr == ""
    name, _, sentence = ran.stdout.strip().partition(" ")
    assert name == "SPARK_NOT_STARTED"
    assert "did not start: " in sentence
    assert (tmp_path / "jvm.out").read_text() != ""
