"""The server put together: what a failed start leaves behind, and the order of stopping."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from millpond import app
from millpond.app import Server, run_server
from millpond.catalog.catalog import Catalog
from millpond.config import Settings
from millpond.datadir import claim
from millpond.embedded.ports import free_port
from millpond.errors import MillpondError
from millpond.queries.registry import Queries
from millpond.serve.engine import StreamEngine
from millpond.stores.access import StoreAccess
from millpond.stores.connections import Connections
from tests.catalog.examples import QUERY
from tests.queries.fake_engine import FakeEngine


class Parts:
    """Stands for the broker, Spark and the views' writer: notes what starts and stops, and fails where told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.noted: list[str] = []
        self.warmed: list[str] = []
        """Types of the stores that a warm-up was started with."""
        self.broken = ""
        for name, made in (("Broker", self.broker), ("KinesisEmulator", self.kinesis), ("Keeper", self.keeper)):
            monkeypatch.setattr(app, name, made)
        monkeypatch.setattr(app, "SparkEngine", self.spark)
        monkeypatch.setattr(app, "ThreadPoolExecutor", InOrder)
        monkeypatch.setattr(app, "Supervisor", self.views)
        monkeypatch.setattr(app, "find_java", self.java)
        monkeypatch.setattr(app, "broker_classpath", list)
        for thing, method, name in (
            (Queries, "resume_all", "queries"),
            (Queries, "stop_all", "-queries"),
            (StreamEngine, "drain", "-statements"),
            (StreamEngine, "close", "-engine"),
            (Connections, "close", "-connections"),
            (Catalog, "close", "-catalog"),
        ):
            monkeypatch.setattr(thing, method, self.around(getattr(thing, method), name))

    def note(self, name: str) -> None:
        self.noted.append(name)
        if name == self.broken:
            raise MillpondError("JAVA_NOT_FOUND", where=name)

    def around(self, original: Callable[..., Any], name: str) -> Callable[..., Any]:
        def noted(*args: Any) -> Any:
            self.note(name)
            return original(*args)

        return noted

    def broker(self, *args: Any) -> Any:
        return Part(self, "broker", uris="localhost:1", alive=lambda: True)

    def java(self) -> Path:
        self.note("java")
        return Path("java")

    def kinesis(self, *args: Any) -> Any:
        return Unnoted(uris="http://localhost:2", alive=lambda: True)

    def keeper(self, child: Any, name: str) -> Any:
        return Unnoted() if isinstance(child, Unnoted) else Part(self, "keeper")

    def spark(self, *args: Any) -> Any:
        self.note("spark")
        return FakeSpark(self)

    def views(self, path: Path, store_of: Callable[[str], tuple[str, Mapping[str, str]]]) -> Any:
        return Part(
            self, "views", path=path, progress=lambda i: None, health=lambda: "ok", store_changed=lambda name: None
        )


class InOrder:
    """Stands for the thread in which Spark starts: here it has started when the others go on."""

    def __init__(self, *args: Any) -> None:
        pass

    def submit(self, make: Callable[..., Any], *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(make(*args))
        except MillpondError as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool) -> None:
        pass


class Part:
    def __init__(self, parts: Parts, name: str, **attributes: Any) -> None:
        self._parts, self._name = parts, name
        self.__dict__.update(attributes)

    def start(self, *args: Any, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._parts.note(self._name)
        meanwhile()

    def stop(self) -> None:
        self._parts.note(f"-{self._name}")


class Unnoted:
    """The emulator and its keeper, which nothing waits for."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def start(self) -> None: ...

    def stop(self) -> None: ...


class FakeSpark(FakeEngine):
    def __init__(self, parts: Parts) -> None:
        super().__init__()
        self._parts = parts

    def warm_up(self, access: Callable[[], StoreAccess]) -> None:
        self._parts.warmed.append(access().type)

    def stop(self) -> None:
        self._parts.note("-spark")


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    return Parts(monkeypatch)


def settings(folder: Path, **given: Any) -> Settings:
    return Settings(data_dir=folder / "data", **{"port": free_port(), "embedded": True, **given})


def failed(server: Server) -> MillpondError:
    with pytest.raises(MillpondError) as caught:
        server.start()
    return caught.value


def nothing_is_held(given: Settings) -> None:
    """Port and folder can be taken again."""
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind((given.host, given.port))
    claim(given.data_dir).release()


def test_a_used_port_is_said_before_anything_is_touched(parts: Parts, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        given = settings(tmp_path, port=taken.getsockname()[1])
        error = failed(Server(given))
    assert error.name == "PORT_IN_USE"
    assert str(given.port) in error.sentence and "--port" in error.hint
    assert parts.noted == []
    assert not given.data_dir.exists()


def test_a_folder_in_use_is_said_with_the_process_that_has_it(parts: Parts, tmp_path: Path) -> None:
    given = settings(tmp_path)
    with claim(given.data_dir):
        error = failed(Server(given))
    assert error.name == "DATA_DIR_IN_USE"
    assert str(os.getpid()) in error.sentence
    assert parts.noted == []
    nothing_is_held(given)


def test_a_full_disk_is_said(parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=5 << 20))
    given = settings(tmp_path)
    assert failed(Server(given)).name == "DISK_FULL"
    assert parts.noted == []
    nothing_is_held(given)


def test_without_a_broker_there_is_no_store(parts: Parts, tmp_path: Path) -> None:
    given = settings(tmp_path, embedded=False)
    assert failed(Server(given)).name == "NO_STORE"
    assert parts.noted == ["-catalog"]
    nothing_is_held(given)


STARTS = ["java", "broker", "spark", "keeper", "views", "queries"]
STOPS = ["-statements", "-queries", "-engine", "-spark", "-views", "-connections", "-catalog", "-keeper", "-broker"]
NOTED = {
    "java": STARTS[:1],
    "broker": STARTS[:2],
    "keeper": [*STARTS[:4], "-broker", "-spark"],
    "views": [*STARTS[:5], "-connections", "-catalog", "-keeper", "-broker", "-spark"],
    # What it says is heard when it is needed.
    "spark": [*STARTS[:5], "-views", "-connections", "-catalog", "-keeper", "-broker"],
    "queries": [*STARTS, *STOPS],
}
"""The part that does not start -> all that starts and stops."""


@pytest.mark.parametrize("broken", STARTS)
def test_a_part_that_does_not_start_is_named_and_the_others_are_stopped(
    broken: str, parts: Parts, tmp_path: Path
) -> None:
    parts.broken = broken
    given = settings(tmp_path)
    error = failed(Server(given))
    assert (error.name, error.params["where"]) == ("JAVA_NOT_FOUND", broken)
    assert parts.noted == NOTED[broken]
    nothing_is_held(given)


def test_a_server_starts_answers_and_stops_in_reverse(
    parts: Parts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = settings(tmp_path)
    server = Server(given)
    server.start()
    assert parts.noted == STARTS
    answers: list[int] = []

    def ready(url: str) -> None:
        def ask() -> None:
            with urllib.request.urlopen(f"{url}/healthz", timeout=10) as answer:
                answers.append(answer.status)
            server.end()

        threading.Thread(target=ask).start()

    server.run(ready)
    assert answers == [200]
    server.end()  # whoever comes late with it does no harm
    assert parts.noted == [*STARTS, *STOPS]
    assert "Stopping" in capsys.readouterr().err
    nothing_is_held(given)


@pytest.mark.parametrize(("wanted", "queries", "warmed"), [(True, 0, ["KAFKA"]), (False, 0, []), (True, 1, [])])
def test_a_server_without_queries_warms_itself_up(
    parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: bool, queries: int, warmed: list[str]
) -> None:
    monkeypatch.setattr(Catalog, "queries", lambda self: [QUERY] * queries)
    monkeypatch.setattr(Queries, "resume_all", lambda self: None)
    server = Server(settings(tmp_path, warm_up=wanted))
    server.start()
    with server.stack:
        assert parts.warmed == warmed


def test_a_part_that_fails_to_stop_does_not_keep_the_others_running(parts: Parts, tmp_path: Path) -> None:
    given = settings(tmp_path)
    server = Server(given)
    server.start()
    parts.broken = "-views"
    with pytest.raises(MillpondError), server.stack:
        pass
    assert parts.noted == [*STARTS, *STOPS]
    nothing_is_held(given)


def test_the_store_follows_the_port_of_the_broker(
    parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def uris() -> str:
        server = Server(settings(tmp_path))
        server.start()
        with server.stack:
            store = server.catalog.store("kafka")
            assert store is not None
            return store.properties["uris"]

    assert uris() == "localhost:1"
    moved = Part(parts, "broker", uris="localhost:2", alive=lambda: True)
    monkeypatch.setattr(app, "Broker", lambda *args: moved)
    assert uris() == "localhost:2"


def test_the_command_says_each_step(parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(app, "say", said.append)
    given = settings(tmp_path)

    def serve(self: Server, ready: Callable[[str], None]) -> None:
        with self.stack:
            ready("http://127.0.0.1:1")

    monkeypatch.setattr(Server, "run", serve)
    assert run_server(given) == 0
    assert [line.split()[0] for line in said] == ["Millpond", "Kafka", "catalog", "views", "Spark", "Millpond"]
    assert "is ready at http://127.0.0.1:1" in said[-1]
