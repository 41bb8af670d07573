"""Each check of the doctor, on what is there and on what is not."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from millpond.cli import doctor
from millpond.config import Settings, load_settings
from millpond.errors import MillpondError


def settings(**given: Any) -> Settings:
    return load_settings(**given)


def test_python_is_new_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.python(settings()).ok
    monkeypatch.setattr(doctor, "MINIMUM_PYTHON", (4, 0))
    assert "Install Python 4.0" in doctor.python(settings()).remedy


def missing(*_: object) -> Path:
    raise MillpondError("JAVA_NOT_FOUND", where="the PATH")


@pytest.mark.parametrize(
    ("name", "check"),
    [("find_java", doctor.java), ("find_tool", doctor.compiler), ("spark_jars", doctor.jars)],
)
def test_what_the_jvm_lacks_comes_with_its_next_step(
    name: str, check: doctor.Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, name, missing)
    found = check(settings())
    error = MillpondError("JAVA_NOT_FOUND", where="the PATH")
    assert (found.ok, found.detail, found.remedy) == (False, error.sentence, error.hint)


def test_the_jars_of_the_broker_count_only_when_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "spark_jars", lambda: [Path("/j/a.jar")])
    monkeypatch.setattr(doctor, "broker_classpath", missing)
    assert doctor.jars(settings()).ok
    assert not doctor.jars(settings(embedded=True)).ok


def test_a_used_port_is_missing_and_a_free_one_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = doctor.http_port(settings(port=port))
        assert not found.ok
        assert "--port" in found.remedy
        assert not doctor.kafka_port(settings(kafka_port=port)).ok
        assert not doctor.kinesis_port(settings(kinesis_port=port, embedded=True)).ok
    assert doctor.http_port(settings(port=port)).ok
    assert doctor.http_port(settings(port=0)).ok


def test_the_data_folder_must_be_writable_and_have_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.data_dir(settings(data_dir=tmp_path / "new" / "deep")).ok
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("")
    assert "cannot be written" in doctor.data_dir(settings(data_dir=tmp_path / "file")).detail
    monkeypatch.setattr(doctor, "MINIMUM_FREE_DISK", 1 << 60)
    assert not doctor.data_dir(settings(data_dir=tmp_path)).ok


def test_memory_is_that_of_the_machine_or_the_container(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000 kB\nMemAvailable: 8000 kB\n")
    assert doctor.available_memory(meminfo, tmp_path) == 8_192_000
    (tmp_path / "memory.max").write_text("3000\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert doctor.available_memory(meminfo, tmp_path) == 2000
    (tmp_path / "memory.max").write_text("max\n")
    assert doctor.available_memory(meminfo, tmp_path) == 8_192_000
    assert doctor.available_memory(tmp_path / "nothing") is None


def test_little_memory_is_a_note_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "available_memory", lambda: 1)
    found = doctor.memory(settings())
    assert (found.ok, found.needed) == (False, False)


def test_the_store_must_be_configured_and_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "STORE_SECONDS", 0.3)
    assert doctor.store(settings(embedded=True)).ok
    assert "MILLPOND_KAFKA_URIS" in doctor.store(settings()).remedy
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        uris = f"127.0.0.1:{deaf.getsockname()[1]}"
    assert uris in doctor.store(settings(kafka_uris=uris)).detail


def test_chromium_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    found = doctor.chromium(settings())
    assert (found.ok, found.needed) == (False, False)
