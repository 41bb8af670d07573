"""A Kinesis emulator of our own: a process on loopback that ends with us, and keeps its streams in a folder."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from millpond.embedded.ports import free_port, is_free
from millpond.embedded.settings import HOST
from millpond.errors import MillpondError
from millpond.watchdog import Watchdog

PROPERTIES = {"access_region": "us-east-1"}
"""Of the store `kinesis`, beside its 'uris'. The emulator takes any login."""
SECRETS = {"kinesis.access_key_id": "millpond", "kinesis.secret_access_key": "millpond"}


class KinesisEmulator:
    """moto with a journal in `data_dir`, listening on 127.0.0.1:`port` (0 takes a free one).

    `start` does not wait: the emulator answers after a second or two. `start` and `stop` may take turns.
    """

    def __init__(self, data_dir: Path, port: int) -> None:
        self.data_dir = data_dir.absolute()
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: Watchdog | None = None
        self._lock = threading.Lock()

    @property
    def uris(self) -> str:
        """Its address for clients."""
        return f"http://{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Its process, None while there is none."""
        return self._process.pid if self._process else None

    def alive(self) -> bool:
        """Whether the process runs (not: whether it answers)."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it; nothing happens if it is alive. Raises PORT_IN_USE."""
        with self._lock:
            if self.alive():
                return
            self._discard()
            if self.port and not self._becomes_free():
                what, option = "the embedded Kinesis emulator", "--kinesis-port"
                raise MillpondError("PORT_IN_USE", port=self.port, host=HOST, what=what, option=option)
            self.port = self.port or free_port()
            self._launch()

    def stop(self, timeout: float = 10) -> None:
        """End it: what it has answered is in its journal."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._process.terminate()
                try:
                    self._process.wait(timeout)
                except subprocess.TimeoutExpired:
                    self._process.kill()
                    self._process.wait()
            self._discard()

    def _becomes_free(self, seconds: float = 3.0) -> bool:
        """Whether the port is free, perhaps after the emulator of a server that was killed a moment ago has ended."""
        deadline = time.monotonic() + seconds
        while not (free := is_free(self.port)) and time.monotonic() < deadline:
            time.sleep(0.05)
        return free

    def _launch(self) -> None:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "millpond.embedded.kinesis_server", str(self.port)]
        with (self.data_dir / "emulator.out").open("wb") as out:
            self._process = subprocess.Popen(
                [*command, str(self.data_dir / "journal.jsonl")],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                # A Ctrl-C in the terminal is for the server, which then stops the emulator in its turn.
                start_new_session=True,
            )
        self._watchdog = Watchdog(self._process.pid)

    def _discard(self) -> None:
        if self._watchdog:
            self._watchdog.dismiss()
        self._process = self._watchdog = None
