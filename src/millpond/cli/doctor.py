"""`millpond doctor`: what this machine has, what it lacks, and what to do about it.

A check takes the settings and gives a finding; it never raises and changes nothing.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from millpond.config import Settings
from millpond.datadir import check_space
from millpond.errors import MillpondError
from millpond.jvm.locate import broker_classpath, find_java, find_tool, java_version, spark_jars

MINIMUM_PYTHON: Final = (3, 11)
MINIMUM_FREE_DISK: Final = 1 << 30
"""Checkpoints, a small view's changelog and Spark's files: with less the disk is soon full."""

MINIMUM_MEMORY: Final = 1_500 << 20
"""What the idle embedded server and its JVMs take."""

STORE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found. `needed`: without it Millpond does not run. `remedy` is the next step."""

    subject: str
    ok: bool
    detail: str
    remedy: str = ""
    needed: bool = True


Check: TypeAlias = Callable[[Settings], Finding]


def examine(settings: Settings) -> list[Finding]:
    """All findings, in the order in which one would put things right."""
    return [check(settings) for check in CHECKS]


def python(settings: Settings) -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    wanted = ".".join(map(str, MINIMUM_PYTHON))
    ok = sys.version_info >= MINIMUM_PYTHON
    return Finding("Python", ok, found, "" if ok else f"Install Python {wanted} or newer.")


def java(settings: Settings) -> Finding:
    return _found("Java", lambda: f"{java_version(find_java())} at {find_java()}")


def compiler(settings: Settings) -> Finding:
    return _found("Java compiler", lambda: str(find_tool("javac")))


def jars(settings: Settings) -> Finding:
    def count() -> str:
        wanted = [*spark_jars(), *(broker_classpath() if settings.embedded else [])]
        return f"{len(wanted)} jars in {wanted[0].parent}"

    return _found("JVM parts", count)


def http_port(settings: Settings) -> Finding:
    return _port("HTTP port", settings.host, settings.port, "--port")


def kafka_port(settings: Settings) -> Finding:
    return _port("Kafka port", "127.0.0.1", settings.kafka_port, "--kafka-port")


def kinesis_port(settings: Settings) -> Finding:
    if not settings.embedded:
        return Finding("Kinesis port", True, "comes with the embedded server only", needed=False)
    return _port("Kinesis port", "127.0.0.1", settings.kinesis_port, "--kinesis-port")


def data_dir(settings: Settings) -> Finding:
    """Writable and with room; a folder that is not there yet is judged by where it will be."""
    path = settings.data_dir.absolute()
    place = next(p for p in (path, *path.parents) if p.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        remedy = "Choose another folder with --data-dir, or give yourself the right to write there."
        return Finding("Data folder", False, f"'{path}' cannot be written", remedy)
    return _found("Data folder", lambda: _room(path, place))


def memory(settings: Settings) -> Finding:
    available = available_memory()
    if available is None:
        return Finding("Memory", True, "cannot be measured here", needed=False)
    ok = available >= MINIMUM_MEMORY
    remedy = "" if ok else "Stop other programs, or lower MILLPOND_SPARK_MEMORY and MILLPOND_BROKER_MEMORY."
    return Finding("Memory", ok, f"{available >> 20} MB are free", remedy, needed=False)


def store(settings: Settings) -> Finding:
    """The broker that is configured; an embedded server brings its own."""
    if settings.embedded:
        return Finding("Store 'kafka'", True, "comes with the embedded server")
    if not settings.kafka_uris:
        remedy = "Set MILLPOND_KAFKA_URIS to a broker list, or use --embedded."
        return Finding("Store 'kafka'", False, "no broker is configured", remedy)
    return _found("Store 'kafka'", lambda: _ask_broker(settings.kafka_uris))


def chromium(settings: Settings) -> Finding:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    remedy = "" if found else "Only the browser tests need it: apt-get install chromium."
    return Finding("Chromium", found is not None, found or "not installed", remedy, needed=False)


CHECKS: Final[tuple[Check, ...]] = (
    python, java, compiler, jars, http_port, kafka_port, kinesis_port, data_dir, memory, store, chromium
)  # fmt: skip


def _found(subject: str, look: Callable[[], str]) -> Finding:
    """What `look` says, or its error as what is missing."""
    try:
        return Finding(subject, True, look())
    except MillpondError as error:
        return Finding(subject, False, error.sentence, error.hint)


def _port(subject: str, host: str, port: int, option: str) -> Finding:
    if port == 0:
        return Finding(subject, True, "a free one is taken")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            detail = f"{port} on '{host}' cannot be used: {error.strerror or error}"
            return Finding(subject, False, detail, f"Stop the program that has it, or choose another with {option}.")
    return Finding(subject, True, f"{port} is free")


def _room(path: Path, place: Path) -> str:
    check_space(path, MINIMUM_FREE_DISK)
    return f"'{path}', {shutil.disk_usage(place).free >> 20} MB free"


def available_memory(meminfo: Path = Path("/proc/meminfo"), cgroup: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes that a new program may use: of the machine, or of the container if that is less."""
    try:
        lines = meminfo.read_text().splitlines()
        machine = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None
    try:
        limit = int((cgroup / "memory.max").read_text())
        return min(machine, limit - int((cgroup / "memory.current").read_text()))
    except (OSError, ValueError):
        return machine


def _ask_broker(uris: str) -> str:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        quiet = {"bootstrap.servers": uris, "log_level": 0}
        brokers = len(AdminClient(quiet).list_topics(timeout=STORE_SECONDS).brokers)
    except KafkaException as error:
        raise MillpondError("STORE_UNREACHABLE", store=uris, reason=error.args[0].str()) from None
    return f"{brokers} {'broker' if brokers == 1 else 'brokers'} at '{uris}'"
