"""Our Java operators: compiled by javac against pyspark's jars into one jar, again only when something changed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from millpond.errors import MillpondError
from millpond.jvm.locate import OPERATORS_JAR, find_tool, jvm_dir, pyspark_jars, spark_jars

KEY = "META-INF/millpond.key"
"""An entry of the jar: what it was compiled from. In the jar, so that the two cannot differ."""

RELEASE = "17"

FORM = 2
"""Raised when the jar is made in another way from the same sources."""


def compile_operators() -> bool:
    """Make sure that the operators' jar is that of the present sources; whether it had to be compiled.

    Raises JVM_COMPILE_FAILED, JDK_NOT_FOUND.
    """
    jar = jvm_dir() / OPERATORS_JAR
    sources = java_sources()
    classpath = [*sorted(pyspark_jars().glob("*.jar")), *spark_jars()]
    key = _key(sources, classpath)
    if _compiled_key(jar) == key:
        return False
    with tempfile.TemporaryDirectory(dir=jar.parent, prefix="classes-") as folder:
        _javac(sources, Path(folder), classpath)
        _pack(Path(folder), key, jar, spark_jars())
    return True


def java_sources() -> list[Path]:
    """All Java files of the operators, sorted."""
    return sorted(Path(str(files("millpond.spark"))).joinpath("operators", "java").rglob("*.java"))


def _key(sources: Iterable[Path], classpath: Iterable[Path]) -> str:
    """Sources by content; jars by name and size: their names carry their versions."""
    hashed = hashlib.sha256(f"{FORM} {RELEASE}".encode())
    for source in sources:
        hashed.update(source.name.encode() + source.read_bytes())
    for jar in classpath:
        hashed.update(f"{jar.name} {jar.stat().st_size}\n".encode())
    return hashed.hexdigest()


def _compiled_key(jar: Path) -> str | None:
    try:
        with zipfile.ZipFile(jar) as packed:
            return packed.read(KEY).decode() if packed.testzip() is None else None
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None


def _javac(sources: list[Path], folder: Path, classpath: list[Path]) -> None:
    joined = os.pathsep.join(map(str, classpath))
    options = ["--release", RELEASE, "-encoding", "UTF-8", "-proc:none", "-Xlint:-options", "-d", str(folder)]
    arguments = folder.parent / f"{folder.name}.args"
    arguments.write_text("\n".join(_argument(a) for a in [*options, "-cp", joined, *map(str, sources)]), "utf-8")
    try:
        done = subprocess.run([find_tool("javac"), f"@{arguments}"], capture_output=True, text=True, errors="replace")
    finally:
        arguments.unlink()
    if done.returncode != 0:
        raise MillpondError("JVM_COMPILE_FAILED", reason=_first_error(done.stderr + done.stdout))


def _argument(text: str) -> str:
    """As a line of javac's argument file."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _first_error(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return next((line for line in lines if "error:" in line), lines[0] if lines else "javac said nothing")


def _pack(folder: Path, key: str, jar: Path, needed: Iterable[Path]) -> None:
    """A jar of all classes; it takes the old one's place in one step."""
    part = jar.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("META-INF/MANIFEST.MF", _jar_manifest(jar.parent, needed))
        packed.writestr(KEY, key)
        for path in sorted(folder.rglob("*.class")):
            packed.write(path, path.relative_to(folder).as_posix())
    part.replace(jar)


def _jar_manifest(folder: Path, needed: Iterable[Path]) -> str:
    """Names the jars that the classes need, relative to the jar: whoever loads it finds Kafka's classes too.

    The file system's classes must be on the driver's own class path, which does not see `spark.jars`.
    """
    class_path = " ".join(quote(path.relative_to(folder).as_posix()) for path in needed)
    line = f"Class-Path: {class_path}"
    # A line has at most 72 bytes; one that starts with a blank goes on the one before.
    wrapped = [line[:70], *(f" {line[i : i + 69]}" for i in range(70, len(line), 69))]
    return "\r\n".join(["Manifest-Version: 1.0", *wrapped, "", ""])
