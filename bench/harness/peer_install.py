"""What the peers need, fetched once into `build/bench`: jars by Ivy, Flink from PyPI; our Java compiled."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.folders import BUILD, PEERS
from harness.progress import progress
from millpond.jvm.locate import find_java, find_tool, pyspark_jars

FLINK = "apache-flink==2.3.0"
INSTALL_SECONDS = 1800

JAVA_PROGRAM = "Jobs"


class PeerUnavailableError(Exception):
    """A peer cannot be measured on this machine, and why."""


def jars(conf: str) -> list[Path]:
    """The jars of one configuration of `peers/ivy.xml`. Raises PeerUnavailableError."""
    folder = BUILD / "jars"
    _once(folder, PEERS / "ivy.xml", _fetch_jars)
    return sorted((folder / conf).glob("*.jar"))


def compiled_program() -> Path:
    """The folder with the classes of the Kafka Streams program. Raises PeerUnavailableError."""
    folder = BUILD / "classes"
    _once(folder, PEERS / f"{JAVA_PROGRAM}.java", _compile)
    return folder


def flink_python() -> Path:
    """The Python that has PyFlink; it brings Flink itself along. Raises PeerUnavailableError."""
    folder = BUILD / "flink-venv"
    mark = folder / "made-from"
    if not mark.is_file() or mark.read_text() != FLINK:
        _install_flink(folder)
        mark.write_text(FLINK)
    return folder / "bin" / "python"


def _once(folder: Path, source: Path, make: Callable[[Path, Path], None]) -> None:
    """Fill `folder` unless that was done from the present `source`; a mark, written last, says so."""
    mark, digest = folder / "made-from", hashlib.sha256(source.read_bytes()).hexdigest()
    if mark.is_file() and mark.read_text() == digest:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make(folder, source)
    mark.write_text(digest)


def _fetch_jars(folder: Path, ivy_xml: Path) -> None:
    progress("fetching the peers' jars")
    ivy = next(pyspark_jars().glob("ivy-*.jar"))
    where: list[str | Path] = ["-ivy", ivy_xml, "-cache", BUILD / "ivy-cache", "-confs", "streams", "flink"]
    pattern = f"{folder}/[conf]/[artifact]-[revision].[ext]"
    _run([find_java(), "-jar", ivy, *where, "-retrieve", pattern, "-types", "jar", "bundle"], "Ivy")


def _compile(folder: Path, source: Path) -> None:
    class_path = ":".join(map(str, jars("streams")))
    _run([find_tool("javac"), "-encoding", "UTF-8", "-cp", class_path, "-d", folder, source], "javac")


def _install_flink(folder: Path) -> None:
    progress(f"installing {FLINK} into a virtual environment of its own (some 850 MB)")
    _run([sys.executable, "-m", "venv", "--clear", folder], "venv")
    _run([folder / "bin" / "pip", "install", "--quiet", FLINK], "pip")


def _run(arguments: Sequence[str | Path], what: str) -> None:
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise PeerUnavailableError(f"{what}: {e}") from e
    if done.returncode:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        told = next((line for line in lines if "error" in line.lower() or "unresolved" in line.lower()), "")
        raise PeerUnavailableError(f"{what} failed: {told or (lines or ['it said nothing'])[-1]}")
