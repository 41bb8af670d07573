"""The real server as a process: started, asked, killed, started again."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millpond.embedded.ports import free_port
from tests.waiting import eventually

START_SECONDS = 180


class SqlError(Exception):
    """An answer with an SQLSTATE; `name` is the error's name in the table."""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(f"{sqlstate} {message}")
        self.sqlstate = sqlstate
        self.name = message.partition("]")[0].removeprefix("[")


@dataclass
class ServerProcess:
    """`millpond server --embedded` on free ports and a folder of its own."""

    data_dir: Path
    port: int = field(default_factory=free_port)
    kafka_port: int = field(default_factory=free_port)
    kinesis_port: int = field(default_factory=free_port)
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def kafka(self) -> str:
        return f"127.0.0.1:{self.kafka_port}"

    @property
    def kinesis(self) -> str:
        return f"http://127.0.0.1:{self.kinesis_port}"

    @property
    def log(self) -> str:
        return (self.data_dir.parent / f"{self.data_dir.name}.log").read_text(errors="replace")

    def start(self) -> ServerProcess:
        """Start and wait until /healthz says 200."""
        command = [sys.executable, "-m", "millpond.cli.main", "server", "--embedded"]
        command += ["--data-dir", str(self.data_dir), "--port", str(self.port), "--kafka-port", str(self.kafka_port)]
        command += ["--kinesis-port", str(self.kinesis_port)]
        with (self.data_dir.parent / f"{self.data_dir.name}.log").open("ab") as out:
            environment = {**os.environ, **self.environment}
            self.process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
        deadline = time.monotonic() + START_SECONDS
        while not self.healthy():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the server did not start:\n{self.log[-3000:]}")
            time.sleep(0.2)
        return self

    def healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def kill(self) -> None:
        """kill -9 of the server; its broker and its writer end by themselves."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    # --- asking ---

    def post(self, statement: str, **context: Any) -> dict[str, Any]:
        """The server's answer. Raises OSError for one that is cut off, too: a kill may come between head and body."""
        body = json.dumps({"statement": statement, **context}).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self.url}/v2/statements", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                parsed: dict[str, Any] = json.load(answer)
        except http.client.HTTPException as error:
            raise ConnectionError("the server went away while it answered") from error
        return parsed

    def sql(self, statement: str, **context: Any) -> list[list[str | None]]:
        """Rows of text. Raises SqlError."""
        answer = self.post(statement, **context)
        if answer["sqlState"] != "00000":
            raise SqlError(answer["sqlState"], answer["message"])
        rows: list[list[str | None]] = answer["data"]
        return rows

    def rows_when_ready(self, statement: str) -> list[list[str | None]] | None:
        """`sql`, but None while a view is not ready."""
        try:
            return self.sql(statement)
        except SqlError as error:
            if error.name in ("VIEW_NOT_READY", "VIEW_STORE_FAILED"):
                return None
            raise

    def wait_for(self, statement: str, expected: list[list[str | None]], deadline: float = 90) -> None:
        """Wait until the statement's rows are `expected`."""
        eventually(lambda: self.rows_when_ready(statement), expected, deadline)

    def follow(self, statement: str, resume: str | None = None) -> Iterator[dict[str, Any]]:
        """Lines of a push query, heartbeats left out; close the generator to disconnect."""
        body = json.dumps({"statement": statement, **({"resume": resume} if resume else {})}).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self.url}/v2/stream", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            for line in answer:
                parsed = json.loads(line)
                if "heartbeat" not in parsed:
                    yield parsed
