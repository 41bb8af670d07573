"""The writer as a process of its own, on a real broker: started, killed, lost, told and heard."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from millpond.catalog.model import Relation
from millpond.errors import MillpondError
from millpond.stores.connect import open_log
from millpond.stores.protocol import Log
from millpond.views import supervisor as supervisor_module
from millpond.views.progress import ViewProgress
from millpond.views.reader import ViewReader
from millpond.views.schema import ViewIndex, table_name
from millpond.views.supervisor import Supervisor, Wanted
from millpond.views.wire import relation_from_json, relation_to_json
from tests.views.relations import VISITS, upsert
from tests.views.test_store import EVERY
from tests.waiting import eventually

WAIT = 30.0


@pytest.fixture
def log(broker: Any) -> Iterator[Log]:
    made = open_log("KAFKA", {"uris": broker.uris})
    yield made
    made.close()


@pytest.fixture
def view(log: Log) -> Relation:
    topic = f"visits-{uuid.uuid4().hex[:8]}"
    log.create(topic, 2, 1, {"cleanup.policy": "compact"})
    return replace(VISITS, id=str(uuid.uuid4()), topic=topic)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "views" / "views.db"


@pytest.fixture
def supervisor(broker: Any, path: Path) -> Iterator[Supervisor]:
    made = Supervisor(path, lambda name: ("KAFKA", {"uris": broker.uris}))
    yield made
    made.stop()


@pytest.fixture
def reader(path: Path) -> Iterator[ViewReader]:
    made = ViewReader(path)
    yield made
    made.close()


def rows(reader: ViewReader, view: Relation) -> dict[str, int]:
    return dict(reader.query(f"SELECT url, visits FROM {table_name(view.id)}"))


def caught_up(progress: ViewProgress) -> bool:
    return not progress.loading and progress.lag == 0


def test_a_relation_survives_the_wire() -> None:
    assert relation_from_json(relation_to_json(EVERY)) == EVERY


@pytest.mark.broker
def test_views_follow_their_topics(log: Log, view: Relation, supervisor: Supervisor, reader: ViewReader) -> None:
    log.produce(view.topic, [upsert("a", 1), upsert("b", 1)])
    supervisor.start([(view, [ViewIndex("by_visits", ("visits",))])])
    assert supervisor.wait(caught_up, view.id, WAIT)
    assert rows(reader, view) == {"a": 1, "b": 1}
    log.produce(view.topic, [upsert("a", 2), upsert("b", None)])
    eventually(lambda: rows(reader, view), {"a": 2})
    assert supervisor.health() == "ok"
    assert supervisor.wait(lambda p: p.offsets_read == 4 and p.rows == 1, view.id, WAIT)


@pytest.mark.broker
def test_views_and_indexes_come_and_go(log: Log, view: Relation, supervisor: Supervisor, reader: ViewReader) -> None:
    supervisor.start()
    eventually(lambda: supervisor.pid is not None, True)
    supervisor.add(view)
    assert rows(reader, view) == {}, "its table is there when add returns"
    supervisor.add_index(view.id, "one", ("visits",))
    query = "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%.one'"
    assert reader.query(query) == [(1,)]
    with pytest.raises(MillpondError) as caught:
        supervisor.add_index(view.id, "two", ("no such column' x",))
    assert caught.value.name == "VIEW_INDEX_FAILED"
    supervisor.remove_index(view.id, "one")
    assert reader.query(query) == [(0,)]
    supervisor.remove(view.id)
    assert reader.query("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'v\\_%' ESCAPE '\\'") == [(0,)]
    assert supervisor.progress(view.id) is None


@pytest.mark.broker
def test_a_killed_writer_is_started_again_and_reads_only_what_is_new(
    log: Log, view: Relation, supervisor: Supervisor, reader: ViewReader
) -> None:
    log.produce(view.topic, [upsert(f"u{n}", n) for n in range(50)])
    supervisor.start([(view, [])])
    assert supervisor.wait(caught_up, view.id, WAIT)
    assert supervisor.pid is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    log.produce(view.topic, [upsert("u1", 1000)])
    eventually(lambda: rows(reader, view).get("u1"), 1000)
    assert supervisor.starts == 2
    assert supervisor.wait(lambda p: p.offsets_read == 1, view.id, WAIT)
    assert len(rows(reader, view)) == 50


@pytest.mark.broker
@pytest.mark.parametrize("damage", [Path.unlink, lambda p: p.write_bytes(b"rubbish" * 10_000)])
def test_a_lost_or_damaged_file_is_built_again(
    log: Log, view: Relation, supervisor: Supervisor, reader: ViewReader, path: Path, damage: Any
) -> None:
    log.produce(view.topic, [upsert(f"u{n}", n) for n in range(50)])
    supervisor.start([(view, [])])
    assert supervisor.wait(caught_up, view.id, WAIT)
    damage(path)
    log.produce(view.topic, [upsert("new", 7)])
    eventually(lambda: rows(reader, view), {**{f"u{n}": n for n in range(50)}, "new": 7})


@pytest.mark.broker
def test_a_topic_made_anew_is_followed_from_its_beginning(
    log: Log, view: Relation, supervisor: Supervisor, reader: ViewReader
) -> None:
    log.produce(view.topic, [upsert(f"u{n}", n) for n in range(50)])
    supervisor.start([(view, [])])
    assert supervisor.wait(caught_up, view.id, WAIT)
    log.delete(view.topic)
    log.create(view.topic, 2)
    log.produce(view.topic, [upsert("new", 7)])
    eventually(lambda: rows(reader, view), {"new": 7})


PARENT = """
    import sys, threading
    from pathlib import Path
    from tests.waiting import eventually
    from millpond.views.supervisor import Supervisor
    supervisor = Supervisor(Path(sys.argv[1]), lambda name: ("KAFKA", {}))
    supervisor.start()
    print(eventually(lambda: supervisor.pid, lambda pid: pid is not None), flush=True)
    threading.Event().wait()
"""


def test_the_writer_ends_with_a_server_that_is_killed(path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(PARENT), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        writer = int(server.stdout.readline())
        assert alive(writer)
        server.kill()
    eventually(lambda: alive(writer), False)


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_a_writer_without_views_starts_and_stops(path: Path) -> None:
    supervisor = Supervisor(path, lambda name: ("KAFKA", {}))
    assert supervisor.health() != "ok"
    supervisor.start()
    eventually(supervisor.health, "ok")
    supervisor.refresh()
    supervisor.stop()
    assert supervisor.pid is None
    with pytest.raises(MillpondError) as caught:
        supervisor.remove("x")
    assert caught.value.name == "VIEW_WRITER_STOPPED"


def test_a_broker_that_is_not_there_is_reported_and_the_view_can_be_queried(path: Path, reader: ViewReader) -> None:
    supervisor = Supervisor(path, lambda name: ("KAFKA", {"uris": "127.0.0.1:1"}))
    supervisor.start()
    eventually(lambda: supervisor.pid is not None, True)
    supervisor.add(VISITS)
    assert rows(reader, VISITS) == {}
    assert supervisor.wait(
        lambda p: p.loading and p.fault is not None and p.fault.name == "STORE_UNREACHABLE", VISITS.id, WAIT
    )
    supervisor.stop()


class Stores:
    """What a store's name stands for; `fault` is raised instead while it is there."""

    def __init__(self, fault: MillpondError | None = None) -> None:
        self.fault = fault
        self.type = "KAFKA"
        self.properties = {"uris": "127.0.0.1:1"}

    def __call__(self, name: str) -> tuple[str, dict[str, str]]:
        if self.fault is not None:
            raise self.fault
        return self.type, self.properties


def has_fault(name: str) -> Any:
    return lambda p: p.loading and p.fault is not None and p.fault.name == name


def unreadable() -> MillpondError:
    return MillpondError("SECRETS_UNREADABLE", what="the store", name="kafka", path="secret.key")


def test_a_store_whose_secrets_cannot_be_read_is_the_fault_of_its_views_and_tried_again(path: Path) -> None:
    stores = Stores(unreadable())
    supervisor = Supervisor(path, stores)
    supervisor.start([(VISITS, [])])
    assert supervisor.wait(has_fault("SECRETS_UNREADABLE"), VISITS.id, WAIT)
    eventually(supervisor.health, "ok")
    stores.fault = None
    assert supervisor.wait(has_fault("STORE_UNREACHABLE"), VISITS.id, WAIT)
    assert supervisor.starts == 1
    supervisor.stop()


def test_a_store_that_the_writer_cannot_connect_to_is_tried_again(path: Path) -> None:
    stores = Stores()
    stores.type = "NONSENSE"
    supervisor = Supervisor(path, stores)
    supervisor.start([(VISITS, [])])
    assert supervisor.wait(has_fault("UNSUPPORTED"), VISITS.id, WAIT)
    stores.type = "KAFKA"
    assert supervisor.wait(has_fault("STORE_UNREACHABLE"), VISITS.id, WAIT)
    supervisor.stop()


class Told:
    """A process that takes commands and answers none."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.stdin = io.BytesIO()
        process: Any = self
        supervisor._process = process

    def commands(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.stdin.getvalue().splitlines()]


def test_the_views_of_a_store_that_was_changed_are_told_again(path: Path) -> None:
    stores = Stores()
    supervisor = Supervisor(path, stores)
    elsewhere = replace(VISITS, id=str(uuid.uuid4()), store="elsewhere")
    supervisor._wanted = {r.id: Wanted(r) for r in (VISITS, elsewhere)}
    told = Told(supervisor)
    stores.properties = {"uris": "127.0.0.1:2"}
    supervisor.store_changed(VISITS.store)
    (command,) = told.commands()
    assert (command["do"], command["relation"]["id"]) == ("add", VISITS.id)
    assert command["store"]["properties"] == stores.properties
    stores.fault = unreadable()
    supervisor.store_changed(VISITS.store)
    found = supervisor.progress(VISITS.id)
    assert found is not None
    assert found.fault is not None
    assert found.fault.name == "SECRETS_UNREADABLE"


def test_an_index_that_takes_too_long_is_taken_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor_module, "ANSWER_SECONDS", 0.01)
    supervisor = Supervisor(path, Stores())
    supervisor._wanted = {VISITS.id: Wanted(VISITS)}
    told = Told(supervisor)
    with pytest.raises(MillpondError) as caught:
        supervisor.add_index(VISITS.id, "one", ("visits",))
    assert caught.value.name == "VIEW_WRITER_SLOW"
    assert [c["do"] for c in told.commands()] == ["create_index", "drop_index"]
    assert supervisor._wanted[VISITS.id].indexes == {}
