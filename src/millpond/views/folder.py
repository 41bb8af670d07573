"""The process that writes the views: `python -m millpond.views.folder STORE`.

It is told what to do over standard input and reports over standard output, in JSON lines (see `wire`). It
ends when its standard input does: a server that was killed leaves no writer behind.

Told:    {"id": 1, "do": "add", "relation": {...}, "store": {"type": "KAFKA", "properties": {...}},
          "indexes": [["name", ["column"]]]}
         {"id": 2, "do": "drop" | "keep_only" | "create_index" | "drop_index" | "report", ...}
Answers: {"done": 1} or {"done": 1, "error": {...}}; and {"progress": [...], "fault": ...} about every 200 ms.
"""

from __future__ import annotations

import fcntl
import gc
import os
import queue
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import orjson

from millpond.errors import MillpondError
from millpond.stores.connect import open_log
from millpond.stores.protocol import Log
from millpond.views.folding import Folder
from millpond.views.followed import StoreAddress
from millpond.views.schema import ViewIndex
from millpond.views.wire import error_to_json, relation_from_json

POLL_SECONDS = 0.05
"""How long a command may wait for the end of a poll. Records never wait: a poll returns with the first."""
REPORT_SECONDS = 0.2
HEARTBEAT_SECONDS = 2.0
"""A report is sent this often even if nothing has changed: so the server sees a life sign."""
STORE_SECONDS = 3.0
"""Time limit of a question to a store: while it waits, no view is folded."""
LINGER_SECONDS = 5.0
"""How long a transaction may take to end after the server has gone."""


class FolderProcess:
    """Commands in, reports out, folding in between."""

    def __init__(self, path: Path, commands: queue.Queue[Mapping[str, Any]], out: TextIO) -> None:
        self.folder = Folder(path, connect)
        self.commands = commands
        self.out = out
        self._said: bytes = b""
        self._said_at = 0.0

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set."""
        try:
            while not stop.is_set():
                self._obey()
                self.folder.step(POLL_SECONDS)
                if time.monotonic() - self._said_at >= REPORT_SECONDS:
                    self._report()
        finally:
            self.folder.close()

    def _obey(self) -> None:
        while True:
            try:
                command = self.commands.get_nowait()
            except queue.Empty:
                return
            try:
                self._do(command)
            except MillpondError as error:
                self._say({"done": command["id"], "error": error_to_json(error)})
            else:
                self._say({"done": command["id"]})

    def _do(self, command: Mapping[str, Any]) -> None:
        match command["do"]:
            case "add":
                store = command["store"]
                address = StoreAddress(store["type"], tuple(sorted(store["properties"].items())))
                indexes = [ViewIndex(name, tuple(columns)) for name, columns in command["indexes"]]
                self.folder.add(relation_from_json(command["relation"]), address, indexes)
            case "drop":
                self.folder.drop(command["relation"])
            case "keep_only":
                self.folder.keep_only(command["relations"])
            case "create_index":
                index = ViewIndex(command["name"], tuple(command["columns"]))
                self.folder.create_index(command["relation"], index)
            case "drop_index":
                self.folder.drop_index(command["relation"], command["name"])
            case "report":
                self._report(force=True)

    def _report(self, *, force: bool = False) -> None:
        views = [p.to_json() for p in self.folder.progress()]
        fault = self.folder.fault
        what = orjson.dumps([{**v, "reported_at": 0} for v in views], option=orjson.OPT_NON_STR_KEYS)
        now = time.monotonic()
        if force or what != self._said or now - self._said_at > HEARTBEAT_SECONDS:
            self._said, self._said_at = what, now
            self._say({"progress": views, "fault": fault and {"name": fault.name, "sentence": fault.sentence}})

    def _say(self, message: Mapping[str, Any]) -> None:
        self.out.write(orjson.dumps(message, option=orjson.OPT_NON_STR_KEYS).decode() + "\n")
        self.out.flush()


def connect(address: StoreAddress) -> Log:
    """The log at an address."""
    return open_log(address.type, dict(address.properties), timeout=STORE_SECONDS)


def hold(path: Path) -> TextIO:
    """Wait until no other process writes this store; it is held while the returned file is open."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(path.name + "-lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def listen(commands: queue.Queue[Mapping[str, Any]], stop: threading.Event) -> None:
    """Take commands from standard input until it ends; then the process ends, soon."""
    for line in sys.stdin.buffer:
        commands.put(orjson.loads(line))
    stop.set()
    threading.Event().wait(LINGER_SECONDS)
    os._exit(0)


def main() -> None:
    """See the module."""
    commands: queue.Queue[Mapping[str, Any]] = queue.Queue()
    stop = threading.Event()
    path = Path(sys.argv[1])
    threading.Thread(target=listen, args=(commands, stop), name="commands", daemon=True).start()
    with hold(path):
        # Parsed rows are many and hold no cycles: looking at them for garbage again and again is lost time.
        gc.freeze()
        gc.set_threshold(200_000, 50, 50)
        FolderProcess(path, commands, sys.stdout).run(stop)


if __name__ == "__main__":
    main()
