"""Millpond as users start it, `millpond server --embedded`, on a folder of our own."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from harness.processes import command, cpu_seconds, end, is_broker, tree
from harness.progress import progress
from millpond.embedded.ports import free_port
from millpond.watchdog import Watchdog

START_SECONDS = 180


class NotReadyError(Exception):
    """The server ended, or was not ready in time."""


class EmbeddedServer:
    """A server on `folder`; `start` and `stop` may take turns. Its ports stay the same."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        """`settings` are MILLPOND_* variables beside those of this process."""
        self.data_dir = folder / "data"
        self.port = free_port()
        self.kafka_port = free_port()
        self._environment = {**os.environ, **(settings or {})}
        self._log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: Watchdog | None = None

    @property
    def uris(self) -> str:
        """The broker list of its Kafka."""
        return f"127.0.0.1:{self.kafka_port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise NotReadyError("the server does not run")
        return self._process.pid

    def start(self) -> float:
        """Start it and wait until it is ready; the seconds that this took. Raises NotReadyError."""
        began = time.monotonic()
        self._launch()
        while not self._ready():
            self.check()
            if time.monotonic() - began > START_SECONDS:
                raise NotReadyError(f"not ready after {START_SECONDS} s: {self.last_words()}")
            time.sleep(0.05)
        took = time.monotonic() - began
        progress(f"Millpond is ready after {took:.1f} s")
        return took

    def stop(self) -> None:
        """End it and all its processes."""
        if self._process is not None:
            end(self._process)
        if self._watchdog is not None:
            self._watchdog.dismiss()
        self._process = self._watchdog = None

    def check(self) -> None:
        """Raises NotReadyError if the server has ended."""
        if self._process is None or self._process.poll() is not None:
            raise NotReadyError(f"the server ended: {self.last_words()}")

    def wait_to_say(self, text: str, seconds: float) -> float:
        """Wait until `text` is in its log; the seconds that this took. Raises NotReadyError after `seconds`."""
        began = time.monotonic()
        while text not in self._log.read_text(errors="replace"):
            self.check()
            if time.monotonic() - began > seconds:
                raise NotReadyError(f"no '{text}' after {seconds:g} s: {self.last_words()}")
            time.sleep(0.1)
        return time.monotonic() - began

    def engine_cpu(self) -> float:
        """CPU seconds so far of all its processes except the broker."""
        return cpu_seconds(self.pid, lambda pid: not is_broker(pid))

    def answering_cpu(self) -> float:
        """CPU seconds so far of the process that answers HTTP."""
        return cpu_seconds(self.pid, lambda pid: pid == self.pid)

    def broker_cpu(self) -> float:
        """CPU seconds so far of its broker."""
        return cpu_seconds(self.pid, is_broker)

    def processes(self) -> dict[int, str]:
        """What each of its processes is, by process id."""
        return {p.pid: _role(p.pid, self.pid) for p in tree(self.pid)}

    def _launch(self) -> None:
        options = [
            "--data-dir",
            str(self.data_dir),
            "--port",
            str(self.port),
            "--kafka-port",
            str(self.kafka_port),
            "--kinesis-port",
            "0",
        ]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "millpond.cli.main", "server", "--embedded", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
            )
        self._watchdog = Watchdog(self._process.pid, grace=30)

    def _ready(self) -> bool:
        asking = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            asking.request("GET", "/healthz")
            return asking.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            asking.close()

    def last_words(self) -> str:
        """The end of what it wrote, on one line."""
        lines = self._log.read_text(errors="replace").splitlines()
        return " | ".join(line for line in lines if line.strip())[-600:] or "it said nothing"


def _role(pid: int, root: int) -> str:
    """What a process of the server is, told by its command line."""
    words = command(pid)
    if is_broker(pid):
        return "Kafka broker (JVM)"
    if any("SparkSubmit" in word or "PythonGatewayServer" in word for word in words):
        return "Spark (JVM)"
    program = Path(words[0]).name if words else "?"
    if pid == root:
        return f"server ({program})"
    if program == "sh":
        return "shell (watchdog)"
    return words[words.index("-m") + 1] if "-m" in words[:-1] else program
