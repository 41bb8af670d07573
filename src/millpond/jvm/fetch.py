"""The jars of `ivy.xml`, fetched by the Ivy in pyspark's wheel into `<jvm_dir>/lib/{spark,broker}`.

Order of effects: (1) Ivy fills its cache, (2) the jars are copied to `lib.part`, (3) they are tested and their
manifest is written, (4) `lib.part` becomes `lib`. A crash before (4) leaves no `lib`, or the old one; the next
run goes on from the cache.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from importlib.resources import as_file, files
from pathlib import Path

from millpond.errors import MillpondError
from millpond.jvm.ivy_cache import is_sound_jar, sweep
from millpond.jvm.locate import find_java, jvm_dir, pyspark_jars
from millpond.jvm.lock import Report
from millpond.jvm.manifest import digest, is_complete, write_manifest

CONFS = ("spark", "broker")

ATTEMPTS = 2
"""A jar that arrives broken is fetched once more; a mirror that serves it broken again needs a person."""

CAUSE = re.compile(r"refused|timed out|Unknown ?Host|Host .* not found|PKIX|No space")
"""A line that says why; the module that is "not found" then is only what follows from it."""

PROBLEM = re.compile(rf"unresolved dependency|UNRESOLVED|FAILED|not found|{CAUSE.pattern}")


def fetch(report: Report) -> bool:
    """Make sure that all jars are there and whole; whether any had to be fetched. Raises JVM_FETCH_FAILED."""
    folder = jvm_dir()
    source = _source()
    if is_complete(folder / "lib", source):
        return False
    for _ in range(ATTEMPTS):
        for name in sweep(folder / "ivy-cache"):
            report(f"'{name}' was broken and is fetched again")
        part = _fetched(folder, report)
        broken = [p.name for p in part.rglob("*.jar") if not is_sound_jar(p)]
        if not broken:
            write_manifest(part, source)
            _replace(folder / "lib", part)
            return True
    raise MillpondError("JVM_FETCH_FAILED", reason=f"'{broken[0]}' arrives broken", log=folder / "ivy.log")


def _source() -> str:
    return digest(files("millpond.jvm").joinpath("ivy.xml").read_bytes())


def _fetched(folder: Path, report: Report) -> Path:
    """Run Ivy; the folder with the jars of all configurations."""
    part = folder / "lib.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    with as_file(files("millpond.jvm").joinpath("ivy.xml")) as ivy_xml:
        _run_ivy(_command(ivy_xml, folder, part), folder / "ivy.log", report)
    empty = [conf for conf in CONFS if not any((part / conf).glob("*.jar"))]
    if empty:
        raise MillpondError("JVM_FETCH_FAILED", reason=f"no jars of '{empty[0]}' came", log=folder / "ivy.log")
    return part


def _command(ivy_xml: Path, folder: Path, part: Path) -> list[str]:
    ivy_jar = next(pyspark_jars().glob("ivy-*.jar"), None)
    if ivy_jar is None:
        raise MillpondError("JVM_PARTS_MISSING", path=pyspark_jars() / "ivy-*.jar")
    settings = os.environ.get("MILLPOND_IVY_SETTINGS")
    # Jars whose POM says "bundle" are of that type for Ivy; without it the broker lacks five of its jars.
    return [
        *(str(find_java()), "-Djava.net.useSystemProxies=true", "-jar", str(ivy_jar)),
        *(["-settings", settings] if settings else []),
        *("-ivy", str(ivy_xml), "-cache", str(folder / "ivy-cache"), "-confs", *CONFS),
        *("-retrieve", f"{part}/[conf]/[artifact]-[revision].[ext]", "-types", "jar", "bundle"),
    ]


def _run_ivy(command: list[str], log: Path, report: Report) -> None:
    """Raises JVM_FETCH_FAILED with the line of Ivy's output that says most."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as ivy:
        assert ivy.stdout is not None
        with log.open("w", encoding="utf-8") as file:
            problems = list(_followed(ivy.stdout, file.write, report))
    if ivy.returncode != 0:
        problems.append(f"Ivy ended with {ivy.returncode}")
        reason = next(filter(CAUSE.search, problems), problems[0])
        raise MillpondError("JVM_FETCH_FAILED", reason=reason, log=log)


def _followed(lines: Iterable[str], write: Report, report: Report) -> Iterator[str]:
    """Copies Ivy's output to the log, reports its progress, and yields the lines that tell of a problem."""
    modules = jars = 0
    for line in lines:
        write(line)
        words = line.split()
        if words[:1] == ["found"]:
            modules += 1
            report(f"resolved {modules}: {_module(words[1])}")
        elif words[:1] == ["downloading"]:
            jars += 1
            report(f"downloading {jars} of {max(modules, jars)}: {words[1].rsplit('/', 1)[-1]}")
        elif PROBLEM.search(line):
            yield line.strip().strip(":").strip()


def _module(coordinates: str) -> str:
    return coordinates.rsplit("#", 1)[-1].replace(";", " ")


def _replace(folder: Path, part: Path) -> None:
    old = folder.with_name("lib.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    part.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
