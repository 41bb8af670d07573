"""A Kafka broker of our own: one KRaft node on loopback, in a folder of its own, that ends with us."""

from __future__ import annotations

import base64
import fcntl
import os
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from millpond.datadir import check_space
from millpond.embedded.ports import free_port, is_free
from millpond.embedded.settings import HOST, jvm_flags, server_properties
from millpond.errors import MillpondError
from millpond.watchdog import Watchdog

MINIMUM_SPACE = 256 << 20
"""Bytes that must be free to start: below it a broker starts, then dies when a segment cannot be made."""


class Broker:
    """Kafka 4.1 in `data_dir`, listening on 127.0.0.1:`port` (0 takes a free one, known after `start`).

    `classpath` holds the broker's jars, `java` is the program that runs them, `memory` its heap for -Xmx.
    `start` and `stop` may take turns any number of times; what was acknowledged stays, even after kill -9.
    """

    def __init__(self, data_dir: Path, port: int, classpath: Sequence[Path], java: Path, memory: str = "256m") -> None:
        self.data_dir = data_dir.absolute()
        self.port = port
        self.log_dir = self.data_dir / "logs"
        self._classpath = os.pathsep.join(map(str, classpath))
        self._java = str(java)
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: Watchdog | None = None
        self._lock = threading.Lock()

    @property
    def uris(self) -> str:
        """The broker list for clients."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The broker's process, None while there is none."""
        return self._process.pid if self._process else None

    def alive(self) -> bool:
        """Whether the process runs (not: whether it answers)."""
        return self._process is not None and self._process.poll() is None

    def start(self, timeout: float = 60, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Start the broker and wait until it answers; nothing happens if it is alive.

        `meanwhile` is called when nothing but its JVM's start is to be waited for.
        Raises PORT_IN_USE, DATA_DIR_IN_USE (an earlier broker on the folder will not end), DISK_FULL,
        BROKER_NOT_STARTED.
        """
        with self._lock:
            if self.alive():
                return
            self._discard()
            deadline = time.monotonic() + timeout
            self.log_dir.mkdir(parents=True, exist_ok=True)
            check_space(self.data_dir, MINIMUM_SPACE)
            with self._claim(deadline) as lock:
                self._take_ports()
                cluster = self._format()
                self._launch(lock)
            try:
                meanwhile()
                self._wait_until_it_answers(cluster, deadline)
            except BaseException:
                self._end(5)
                raise

    def stop(self, timeout: float = 20) -> None:
        """End the broker: SIGTERM, and SIGKILL once `timeout` seconds have passed."""
        with self._lock:
            self._end(timeout)

    def _end(self, timeout: float) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._discard()

    def _discard(self) -> None:
        if self._watchdog:
            self._watchdog.dismiss()
        self._process = self._watchdog = None

    def _claim(self, deadline: float) -> BinaryIO:
        """The lock of the broker's folder. The JVM inherits it, so that it lasts exactly as long as the JVM.

        Waits for the broker of a server that was killed a moment ago: it takes a second or two to end.
        """
        lock = (self.data_dir / "broker.lock").open("ab+")
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except BlockingIOError:
                if time.monotonic() > deadline:
                    lock.seek(0)
                    pid = lock.read().decode().strip() or "unknown"
                    lock.close()
                    raise MillpondError("DATA_DIR_IN_USE", path=self.data_dir, pid=pid) from None
                time.sleep(0.05)

    def _take_ports(self) -> None:
        if self.port and not is_free(self.port):
            raise MillpondError(
                "PORT_IN_USE",
                port=self.port,
                host=HOST,
                what="the embedded Kafka broker",
                option="--kafka-port",
            )
        self.port = self.port or free_port()
        self._controller_port = remembered(self.data_dir / "controller.port", lambda: str(free_port()))
        if self._controller_port == str(self.port) or not is_free(int(self._controller_port)):
            (self.data_dir / "controller.port").unlink()
            self._controller_port = remembered(self.data_dir / "controller.port", lambda: str(free_port()))

    def _format(self) -> str:
        """Write the settings, give the storage its identity the first time; the cluster id."""
        logs = self.data_dir / "topics"
        config = self.data_dir / "server.properties"
        config.write_text(server_properties(logs, self.port, int(self._controller_port)))
        cluster = remembered(self.data_dir / "cluster.id", new_cluster_id)
        if not (logs / "meta.properties").exists():
            done = subprocess.run(
                self._command("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(config), "-g"),
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise self._not_started(last_line(done.stderr or done.stdout))
        return cluster

    def _launch(self, lock: BinaryIO) -> None:
        with (self.log_dir / "broker.out").open("wb") as out:
            self._process = subprocess.Popen(
                self._command("kafka.Kafka", str(self.data_dir / "server.properties")),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                pass_fds=(lock.fileno(),),
                # A Ctrl-C in the terminal is for the server, which then stops the broker in its turn.
                start_new_session=True,
            )
        self._watchdog = Watchdog(self._process.pid)
        lock.truncate(0)
        lock.write(str(self._process.pid).encode())
        lock.flush()

    def _command(self, main: str, *args: str) -> list[str]:
        flags = jvm_flags(self._memory, self.log_dir, Path(__file__).with_name("log4j2.properties"))
        return [self._java, *flags, "-cp", self._classpath, main, *args]

    def _wait_until_it_answers(self, cluster: str, deadline: float) -> None:
        while not answers(self.uris, cluster):
            if not self.alive():
                raise self._not_started(self._last_words())
            if time.monotonic() > deadline:
                raise self._not_started("it gave no answer in time")
            time.sleep(0.05)

    def _last_words(self) -> str:
        texts = [(self.log_dir / name) for name in ("broker.log", "broker.out")]
        lines = [line for t in texts if t.exists() for line in t.read_text(errors="replace").splitlines()]
        faults = [x for x in lines if "Exception" in x or "Error" in x or " ERROR " in x or " FATAL " in x]
        return (faults or lines or ["it ended at once"])[-1].strip()

    def _not_started(self, reason: str) -> MillpondError:
        return MillpondError("BROKER_NOT_STARTED", reason=reason, log=self.log_dir / "broker.log")


def answers(uris: str, cluster: str) -> bool:
    """Whether the broker at `uris` answers a metadata request, and is the one of `cluster`."""
    host, port = uris.split(":")
    try:
        socket.create_connection((host, int(port)), 0.5).close()
    except OSError:
        return False
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": uris, "log_level": 0, "socket.connection.setup.timeout.ms": 2000})
    try:
        metadata = admin.list_topics(timeout=2)
    except KafkaException:
        return False
    return bool(metadata.brokers) and metadata.cluster_id == cluster


def remembered(path: Path, make: Callable[[], str]) -> str:
    """The text in `path`, or `make()`, written there for the next time; a power cut leaves all of it or nothing."""
    known = path.read_text().strip() if path.exists() else ""
    if known:
        return known
    text, scratch = make(), path.with_name(path.name + ".new")
    with scratch.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
    return text


def new_cluster_id() -> str:
    """A random id in Kafka's spelling: 16 bytes, base64 for URLs, never starting with a dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def last_line(text: str) -> str:
    """The last line of `text` that is not empty."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"
