"""Starts the process that writes the views, keeps it alive, and tells it what to do."""

from __future__ import annotations

import itertools
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from millpond.catalog.model import Relation
from millpond.clock import now_ms
from millpond.errors import MillpondError
from millpond.views.progress import Fault, ViewProgress
from millpond.views.schema import ViewIndex
from millpond.views.wire import error_from_json, relation_to_json

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds before a process that died is started again: doubled while it keeps dying."""
STEADY_SECONDS = 30.0
"""A process that lived this long did not die of its start."""
ANSWER_SECONDS = 60.0
"""Longest wait for a command: an index over a large view takes a while."""
RETRY_SECONDS = 2.0
"""Pause before a view that the writer could not be told of, or did not take, is tried again."""
STOP_SECONDS = 10.0

StoreOf = Callable[[str], tuple[str, Mapping[str, str]]]
"""A store's name -> its type and properties, secrets among them."""


@dataclass(slots=True)
class Wanted:
    """A view that the writer is to keep; `indexes` by name."""

    relation: Relation
    indexes: dict[str, ViewIndex] = field(default_factory=dict)


class Supervisor:
    """The server's side of the writer. Thread-safe. Satisfies what the runner asks of views."""

    def __init__(self, path: Path, store_of: StoreOf) -> None:
        self.path = path
        self._store_of = store_of
        self._wanted: dict[str, Wanted] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)
        self._open: dict[int, Future[None]] = {}
        self._progress: dict[str, ViewProgress] = {}
        self._fault: Fault | None = None
        self._faults: dict[str, Fault] = {}
        """By view: why the writer does not keep it. It is tried again."""
        self._tried = 0.0
        self._heard = threading.Condition()
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep_alive, name="view-writer", daemon=True)
        self.starts = 0
        """How often the process was started."""

    def start(self, views: Iterable[tuple[Relation, Iterable[ViewIndex]]] = ()) -> None:
        """Start the writer with exactly these views; what the store has of others is dropped."""
        self._wanted = {r.id: Wanted(r, {i.name: i for i in indexes}) for r, indexes in views}
        self._thread.start()

    def stop(self) -> None:
        """End the process and wait for it."""
        self._stopping.set()
        with self._lock:
            process = self._process
        if process is not None and process.stdin is not None:
            process.stdin.close()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        self._thread.join()

    def add(self, relation: Relation) -> None:
        """Keep a view from now on; returns when its table is there. Raises VIEW_STORE_*."""
        self._wanted[relation.id] = wanted = Wanted(relation)
        try:
            self._ask(f"keep the view '{relation.name}'", self._add_command(wanted))
        except MillpondError as error:
            if error.name != "VIEW_WRITER_STOPPED":  # else the next process is told
                del self._wanted[relation.id]
                self._send("drop a view", {"do": "drop", "relation": relation.id})
                raise

    def remove(self, relation_id: str) -> None:
        """Forget a view and its rows."""
        self._wanted.pop(relation_id, None)
        self._faults.pop(relation_id, None)
        self._progress.pop(relation_id, None)
        self._ask("drop a view", {"do": "drop", "relation": relation_id})

    def add_index(self, relation_id: str, name: str, columns: tuple[str, ...]) -> None:
        """Build an index; returns when it is there.

        Raises VIEW_INDEX_FAILED, VIEW_STORE_*, VIEW_WRITER_STOPPED, and VIEW_WRITER_SLOW: then it is taken back.
        """
        command = {"do": "create_index", "relation": relation_id, "name": name, "columns": columns}
        try:
            self._ask(f"build the index '{name}'", command)
        except MillpondError as error:
            if error.name == "VIEW_WRITER_SLOW":  # it may still be built: the next command finds it
                self._send("drop an index", {"do": "drop_index", "relation": relation_id, "name": name})
            raise
        self._wanted[relation_id].indexes[name] = ViewIndex(name, columns)

    def remove_index(self, relation_id: str, name: str) -> None:
        """Drop an index; nothing if it is not there."""
        if relation_id in self._wanted:
            self._wanted[relation_id].indexes.pop(name, None)
        self._ask("drop an index", {"do": "drop_index", "relation": relation_id, "name": name})

    def store_changed(self, store: str) -> None:
        """Have the views of a store follow it as it is now; returns at once, a trouble becomes the view's fault."""
        for wanted in list(self._wanted.values()):
            if wanted.relation.store == store:
                self._begin(wanted)

    def progress(self, relation_id: str) -> ViewProgress | None:
        """How far a view is, at most a fifth of a second old; None before the first report."""
        return self._progress.get(relation_id)

    def refresh(self) -> None:
        """Have everything reported now."""
        self._ask("report", {"do": "report"})

    def wait(self, condition: Callable[[ViewProgress], bool], relation_id: str, timeout: float) -> bool:
        """Wait until a view's progress is so; False after `timeout` seconds."""

        def met() -> bool:
            found = self._progress.get(relation_id)
            return found is not None and condition(found)

        with self._heard:
            return self._heard.wait_for(met, timeout)

    def health(self) -> str:
        """'ok', or what is wrong with the view store."""
        if not self._alive():
            return "the process that writes the views is not running"
        return "ok" if self._fault is None else self._fault.sentence

    @property
    def pid(self) -> int | None:
        """Of the process, while it runs."""
        return self._process.pid if self._process is not None and self._alive() else None

    def _alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    # --- asking ---

    def _add_command(self, wanted: Wanted) -> dict[str, Any]:
        type_, properties = self._store_of(wanted.relation.store)
        return {
            "do": "add",
            "relation": relation_to_json(wanted.relation),
            "store": {"type": type_, "properties": dict(properties)},
            "indexes": [[i.name, i.columns] for i in wanted.indexes.values()],
        }

    def _ask(self, what: str, command: Mapping[str, Any]) -> None:
        future = self._send(what, command)
        try:
            future.result(ANSWER_SECONDS)
        except FutureTimeoutError:
            raise MillpondError("VIEW_WRITER_SLOW", what=what, seconds=f"{ANSWER_SECONDS:g}") from None

    def _send(self, what: str, command: Mapping[str, Any]) -> Future[None]:
        number = next(self._numbers)
        future: Future[None] = Future()
        line = orjson.dumps({"id": number, **command}) + b"\n"
        with self._lock:
            try:
                if self._process is None or self._process.stdin is None:
                    raise BrokenPipeError
                self._open[number] = future
                self._process.stdin.write(line)
                self._process.stdin.flush()
            except (OSError, ValueError):
                self._open.pop(number, None)
                future.set_exception(MillpondError("VIEW_WRITER_STOPPED", what=what))
        return future

    # --- keeping it alive ---

    def _keep_alive(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            started = time.monotonic()
            self._run_once()
            if self._stopping.is_set():
                return
            pause = FIRST_PAUSE if time.monotonic() - started > STEADY_SECONDS else pause
            log.warning("the process that writes the views has ended; it is started again in %.1f s", pause)
            self._stopping.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _run_once(self) -> None:
        """One life of the process: start it, tell it what is wanted, hear it until it ends."""
        command = [sys.executable, "-m", "millpond.views.folder", str(self.path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            self.starts += 1
            with self._lock:
                self._process = process
                kept = self._send("begin", {"do": "keep_only", "relations": list(self._wanted)})
                kept.add_done_callback(_log_error)
                for wanted in list(self._wanted.values()):
                    self._begin(wanted)
            if self._stopping.is_set() and process.stdin is not None:
                process.stdin.close()
            assert process.stdout is not None
            for line in process.stdout:
                self._hear(orjson.loads(line))
        self._forsake()

    def _begin(self, wanted: Wanted) -> None:
        """Have a view kept. What is in the way is that view's fault alone."""
        with self._lock:
            if self._wanted.get(wanted.relation.id) is not wanted:
                return
            try:
                begun = self._send("begin", self._add_command(wanted))
            except MillpondError as error:
                begun = Future()
                begun.set_exception(error)
        begun.add_done_callback(partial(self._begun, wanted))

    def _begun(self, wanted: Wanted, future: Future[None]) -> None:
        error, relation_id = future.exception(), wanted.relation.id
        if self._wanted.get(relation_id) is not wanted:
            return
        if error is None:
            self._faults.pop(relation_id, None)
        elif isinstance(error, MillpondError) and error.name != "VIEW_WRITER_STOPPED":  # else the next is told
            log.warning("the view %s is not followed: %s", wanted.relation.fqn, error.sentence)
            self._faults[relation_id] = Fault(error.name, error.sentence)
            with self._heard:
                self._progress = self._with_faults(self._progress)
                self._heard.notify_all()

    def _try_again(self) -> None:
        now = time.monotonic()
        if self._faults and now - self._tried > RETRY_SECONDS:
            self._tried = now
            for wanted in [w for w in map(self._wanted.get, list(self._faults)) if w is not None]:
                self._begin(wanted)

    def _with_faults(self, progress: Mapping[str, ViewProgress]) -> dict[str, ViewProgress]:
        found = dict(progress)
        for relation_id, fault in list(self._faults.items()):
            known = found.get(relation_id) or ViewProgress(relation_id, loading=True, reported_at=now_ms())
            found[relation_id] = replace(known, fault=fault)
        return found

    def _hear(self, message: Mapping[str, Any]) -> None:
        if "progress" in message:
            found = [ViewProgress.from_json(p) for p in message["progress"]]
            with self._heard:
                self._progress = self._with_faults({p.relation: p for p in found if p.relation in self._wanted})
                self._fault = Fault(**message["fault"]) if message["fault"] else None
                self._heard.notify_all()
            self._try_again()
        else:
            future = self._open.pop(message["done"], None)
            error = message.get("error")
            if future is not None and error:
                future.set_exception(error_from_json(error))
            elif future is not None:
                future.set_result(None)

    def _forsake(self) -> None:
        """Nobody will answer any more."""
        with self._lock:
            self._process = None
            unanswered, self._open = self._open, {}
        for future in unanswered.values():
            future.set_exception(MillpondError("VIEW_WRITER_STOPPED", what="answer"))


def _log_error(future: Future[None]) -> None:
    error = future.exception()
    if error is not None:
        log.warning("the process that writes the views could not begin: %s", error)
