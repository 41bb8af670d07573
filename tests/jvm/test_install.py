"""Fetching and compiling: a second run is instant, what is broken heals, what fails says so in one line."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from millpond.errors import MillpondError
from millpond.jvm import compile as compiling
from millpond.jvm import install, locate
from millpond.jvm.fetch import fetch
from millpond.jvm.ivy_cache import sweep
from millpond.jvm.lock import install_lock
from millpond.jvm.manifest import is_complete, write_manifest

FAKE_IVY = """#!{python}
# Stands for `java -jar ivy.jar`: keeps a cache, retrieves from it, talks as Ivy does.
import json, pathlib, shutil, sys, zipfile
args = sys.argv[1:]
plan = json.loads(pathlib.Path({plan!r}).read_text())
plan["runs"] += 1
pathlib.Path({plan!r}).write_text(json.dumps(plan))
if plan.get("fail"):
    print(plan["fail"])
    sys.exit(1)
cache = pathlib.Path(args[args.index("-cache") + 1])
pattern = args[args.index("-retrieve") + 1]
for conf, name in (("spark", "clients"), ("broker", "kafka")):
    print(f"\\tfound org.x#{{name}};1.0 in public")
    jar = cache / "org.x" / name / "jars" / f"{{name}}-1.0.jar"
    if not jar.exists():
        print(f"downloading https://mirror/{{name}}-1.0.jar ...")
        jar.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(jar, "w") as z:
            z.writestr("A.class", "x" * 100)
        if plan.get("broken", 0) > 0:
            plan["broken"] -= 1
            pathlib.Path({plan!r}).write_text(json.dumps(plan))
            jar.write_bytes(jar.read_bytes()[:50])
    to = pathlib.Path(pattern.replace("[conf]", conf).replace("[artifact]", name).replace("[revision]", "1.0")
                      .replace("[ext]", "jar"))
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(jar, to)
"""


class FakeIvy:
    """A JAVA_HOME whose `java` is a small Ivy; `plan` says how it behaves."""

    def __init__(self, folder: Path) -> None:
        self.plan_file = folder / "plan.json"
        self.home = folder / "jdk"
        (self.home / "bin").mkdir(parents=True)
        (self.home / "release").write_text('JAVA_VERSION="21.0.1"\n')
        java = self.home / "bin" / "java"
        java.write_text(FAKE_IVY.format(python=sys.executable, plan=str(self.plan_file)))
        java.chmod(java.stat().st_mode | stat.S_IXUSR)
        self.set()

    def set(self, **plan: object) -> None:
        self.plan_file.write_text(json.dumps({"runs": 0, **plan}))

    @property
    def runs(self) -> int:
        return int(json.loads(self.plan_file.read_text())["runs"])


@pytest.fixture
def jvm_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MILLPOND_JVM_DIR", str(tmp_path / "jvm"))
    return tmp_path / "jvm"


@pytest.fixture
def ivy(tmp_path: Path, jvm_dir: Path, monkeypatch: pytest.MonkeyPatch) -> FakeIvy:
    fake = FakeIvy(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(fake.home))
    return fake


def names(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*.jar"))


def test_the_first_run_fetches_and_says_what_and_the_second_does_nothing(ivy: FakeIvy, jvm_dir: Path) -> None:
    lines: list[str] = []
    assert fetch(lines.append) is True
    assert names(jvm_dir / "lib") == ["broker/kafka-1.0.jar", "spark/clients-1.0.jar"]
    assert "resolved 2: kafka 1.0" in lines
    assert "downloading 2 of 2: kafka-1.0.jar" in lines
    assert fetch(lines.append) is False
    assert ivy.runs == 1
    assert not (jvm_dir / "lib.part").exists()


@pytest.mark.parametrize("damage", ["cut", "gone", "stained", "manifest", "lib"])
def test_whatever_is_broken_in_the_library_is_fetched_again(ivy: FakeIvy, jvm_dir: Path, damage: str) -> None:
    fetch(lambda line: None)
    jar = jvm_dir / "lib" / "spark" / "clients-1.0.jar"
    whole = jar.read_bytes()
    match damage:
        case "cut":
            jar.write_bytes(whole[:20])
        case "stained":
            jar.write_bytes(whole.replace(b"xxxx", b"xyxx", 1))
        case "gone":
            jar.unlink()
        case "manifest":
            (jvm_dir / "lib" / "manifest.json").write_text("{")
        case "lib":
            (jvm_dir / "lib").rename(jvm_dir / "lib.old")
    assert fetch(lambda line: None) is True
    assert jar.read_bytes() == whole
    assert fetch(lambda line: None) is False


def test_a_broken_jar_in_ivy_s_cache_goes_with_its_module(ivy: FakeIvy, jvm_dir: Path) -> None:
    fetch(lambda line: None)
    cached = jvm_dir / "ivy-cache" / "org.x" / "kafka" / "jars" / "kafka-1.0.jar"
    cached.write_bytes(b"PK half")
    (jvm_dir / "lib" / "broker" / "kafka-1.0.jar").unlink()
    lines: list[str] = []
    fetch(lines.append)
    assert "'kafka-1.0.jar' was broken and is fetched again" in lines
    assert "downloading 1 of 2: kafka-1.0.jar" in lines
    assert is_complete(jvm_dir / "lib", json.loads((jvm_dir / "lib" / "manifest.json").read_text())["source"])


def test_a_jar_that_arrives_broken_is_fetched_once_more(ivy: FakeIvy, jvm_dir: Path) -> None:
    ivy.set(broken=1)
    assert fetch(lambda line: None) is True
    assert ivy.runs == 2


def test_a_jar_that_always_arrives_broken_is_an_error_and_no_library(ivy: FakeIvy, jvm_dir: Path) -> None:
    ivy.set(broken=99)
    with pytest.raises(MillpondError) as failed:
        fetch(lambda line: None)
    assert failed.value.name == "JVM_FETCH_FAILED"
    assert not (jvm_dir / "lib").exists()


def test_a_fetch_that_fails_says_what_ivy_said(
    ivy: FakeIvy, jvm_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ivy.set(fail=":: unresolved dependency: org.x#kafka;1.0: not found")
    (ivy.home / "bin" / "javac").touch(mode=0o755)
    assert install.main() == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "[JVM_FETCH_FAILED]" in error
    assert "unresolved dependency: org.x#kafka;1.0: not found" in error
    assert str(jvm_dir / "ivy.log") in error


def test_descriptors_and_halves_of_downloads_are_swept_too(tmp_path: Path) -> None:
    (tmp_path / "o" / "m" / "jars").mkdir(parents=True)
    (tmp_path / "o" / "n").mkdir(parents=True)
    (tmp_path / "o" / "m" / "jars" / "m-1.jar.part").write_bytes(b"PK")
    (tmp_path / "o" / "n" / "ivy-1.xml").write_text("<ivy-module>")
    (tmp_path / "resolved.xml").write_text("")
    (tmp_path / "resolved.properties").write_text("a=b")
    assert sorted(sweep(tmp_path)) == ["ivy-1.xml", "m-1.jar.part", "resolved.xml"]
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["resolved.properties"]


def test_a_manifest_of_another_list_is_not_complete(tmp_path: Path) -> None:
    write_manifest(tmp_path, "one")
    assert is_complete(tmp_path, "one")
    assert not is_complete(tmp_path, "other")


def test_the_second_installation_waits_for_the_first(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib\nfrom millpond.jvm.lock import install_lock\n"
        "with install_lock(pathlib.Path(sys.argv[1]), lambda line: print(line, flush=True)): print('in', flush=True)"
    )
    with install_lock(tmp_path, lambda line: None):
        other = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert other.stdout is not None
        assert other.stdout.readline() == "another installation is running: waiting for it\n"
        assert other.poll() is None
    rest, _ = other.communicate(timeout=30)
    assert (rest, other.returncode) == ("in\n", 0)


def jdk(folder: Path, version: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").touch(mode=0o755)
    if version:
        (folder / "release").write_text(f'JAVA_VERSION="{version}"\n')
    monkeypatch.setenv("JAVA_HOME", str(folder))


@pytest.mark.parametrize(("version", "major"), [("1.8.0_402", 8), ("11.0.2", 11), ("17.0.15", 17), ("25-ea", 25)])
def test_the_version_of_java_is_read_from_its_release_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, major: int
) -> None:
    jdk(tmp_path, version, monkeypatch)
    assert locate.java_version(tmp_path / "bin" / "java") == major


def test_an_old_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jdk(tmp_path, "11.0.2", monkeypatch)
    with pytest.raises(MillpondError) as refused:
        locate.find_java()
    assert refused.value.name == "JAVA_TOO_OLD"
    assert refused.value.params["version"] == 11


@pytest.mark.parametrize("home", ["/nowhere", None])
def test_no_java_is_said_so(monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    monkeypatch.setenv("PATH", "")
    if home:
        monkeypatch.setenv("JAVA_HOME", home)
    else:
        monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(MillpondError) as missing:
        locate.find_java()
    assert missing.value.name == "JAVA_NOT_FOUND"


def test_a_runtime_without_compiler_is_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jdk(tmp_path, "17.0.1", monkeypatch)
    with pytest.raises(MillpondError) as missing:
        locate.find_tool("javac")
    assert missing.value.name == "JDK_NOT_FOUND"


@pytest.mark.parametrize("part", [locate.spark_jars, locate.broker_classpath, locate.operators_jar])
def test_what_was_not_installed_names_the_command(jvm_dir: Path, part: object) -> None:
    with pytest.raises(MillpondError) as missing:
        part()  # type: ignore[operator]
    assert missing.value.name == "JVM_PARTS_MISSING"
    assert "make install" in missing.value.hint


@pytest.mark.spark
class TestCompiling:
    """With the real javac, on one small class."""

    @pytest.fixture
    def source(self, jvm_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        (jvm_dir / "lib" / "spark").mkdir(parents=True)
        with zipfile.ZipFile(jvm_dir / "lib" / "spark" / ("needed-" + "x" * 80 + ".jar"), "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        file = tmp_path / "A.java"
        file.write_text("class A {}")
        monkeypatch.setattr(compiling, "java_sources", lambda: [file])
        return file

    def test_it_compiles_only_what_changed(self, source: Path) -> None:
        assert compiling.compile_operators() is True
        assert compiling.compile_operators() is False
        source.write_text("class A { int x; }")
        assert compiling.compile_operators() is True

    def test_a_broken_jar_is_compiled_again(self, source: Path) -> None:
        compiling.compile_operators()
        locate.operators_jar().write_bytes(b"PK")
        assert compiling.compile_operators() is True
        assert compiling.compile_operators() is False

    def test_the_jar_names_the_jars_that_it_needs(self, source: Path) -> None:
        compiling.compile_operators()
        with zipfile.ZipFile(locate.operators_jar()) as jar:
            assert "A.class" in jar.namelist()
            text = jar.read("META-INF/MANIFEST.MF").decode()
        assert all(len(line) <= 70 for line in text.splitlines())
        assert f"Class-Path: lib/spark/needed-{'x' * 80}.jar" in text.replace("\r\n ", "")

    def test_a_source_that_does_not_compile_says_where_and_leaves_no_jar(self, source: Path) -> None:
        source.write_text("class A { int }")
        with pytest.raises(MillpondError) as failed:
            compiling.compile_operators()
        assert failed.value.name == "JVM_COMPILE_FAILED"
        assert "A.java:1: error:" in failed.value.sentence
        with pytest.raises(MillpondError):
            locate.operators_jar()
