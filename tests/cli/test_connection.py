"""The shell's side of POST /v2/stream."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from millpond.catalog.model import SessionContext
from millpond.cli.connection import Connection, StatementError
from millpond.errors import MillpondError
from millpond.serve.answers import Change
from millpond.types import BIGINT, VARCHAR
from tests.api.fake_engine import FakeEngine, FakeSubscription, columns, created, rows
from tests.waiting import eventually

VISITS = columns(url=VARCHAR, visits=BIGINT)


def test_it_reads_all_results_of_a_batch(connection: Connection, engine: FakeEngine) -> None:
    engine.answer("a; b;", created("a"), rows(VISITS, ("x", 1), (None, 2)))
    read = [(r.columns[0].name, r.live, [c.row for c in r.changes]) for r in connection.run("a; b;")]
    assert [(name, live) for name, live, _ in read] == [("Type", False), ("url", False)]
    assert read[1][2] == [("x", "1"), (None, "2")]


def test_results_that_are_not_read_are_skipped(connection: Connection, engine: FakeEngine) -> None:
    engine.answer("a; b;", rows(VISITS, ("x", 1)), created("a"))
    assert [r.columns[0].name for r in connection.run("a; b;")] == ["url", "Type"]


def test_the_context_and_the_session_go_with_the_next_statement(connection: Connection, engine: FakeEngine) -> None:
    context = SessionContext(database="d", settings={"k": "v"})
    engine.answer("USE DATABASE d;", created("d", context=context))
    engine.scripts["x"] = lambda call: [created("x", context=call.context)]
    for statement in ("USE DATABASE d;", "x"):
        list(connection.run(statement))
    assert (engine.calls[1].context.database, engine.calls[1].context.settings) == ("d", {"k": "v"})
    assert connection.context["database"] == "d"


def test_the_dialect_goes_with_each_statement(connection: Connection, engine: FakeEngine) -> None:
    engine.answer("x", created("x"))
    list(Connection(connection.url, "deltastream").run("x", resume="t1"))
    assert (engine.calls[0].context.dialect, engine.calls[0].resume) == ("deltastream", "t1")


def test_a_live_result_is_read_as_it_comes_and_closing_ends_it(connection: Connection, engine: FakeEngine) -> None:
    following = FakeSubscription(VISITS, [Change("upsert", ("x", 1), "t1"), Change("snapshot_end", (), "t2")])
    engine.answer("x", following)
    with closing(connection.run("x")) as results:
        result = next(results)
        assert result.live
        assert [next(result.changes).op for _ in range(2)] == ["upsert", "snapshot_end"]
    eventually(lambda: following.closed, True, deadline=5)


def test_an_error_of_the_statement_has_its_name_and_text(connection: Connection, engine: FakeEngine) -> None:
    error = MillpondError("RELATION_NOT_FOUND", name="v", suggestion="")
    engine.fail("x", error)
    with pytest.raises(StatementError) as raised:
        list(connection.run("x"))
    assert (raised.value.name, raised.value.message) == ("RELATION_NOT_FOUND", str(error))


def test_the_version(connection: Connection) -> None:
    assert connection.version() == "0.1.0"


LINES = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n"
HEAD = LINES + b"transfer-encoding: chunked\r\n\r\n"
COLUMNS = b'{"columns":[],"live":true}\n'


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@contextmanager
def listener(answer: bytes) -> Iterator[str]:
    """Something that takes one request, sends `answer` and hangs up."""

    def serve() -> None:
        accepted, _ = listening.accept()
        with accepted:
            accepted.recv(65536)
            accepted.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join(5)


def drain(connection: Connection) -> None:
    for result in connection.run("x"):
        list(result.changes)


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n", "NOT_A_MILLPOND_SERVER"),
        (b"", "NOT_A_MILLPOND_SERVER"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>", "NOT_A_MILLPOND_SERVER"),
        (LINES + b"content-length: 9\r\n\r\n{\"a\": 1}\n", "NOT_A_MILLPOND_SERVER"),
        (LINES + b"content-length: 9\r\n\r\nwhatever\n", "NOT_A_MILLPOND_SERVER"),
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}", "REFUSED_BY_SERVER"),
        (HEAD + chunk(COLUMNS), "SERVER_LOST"),
        (HEAD + chunk(COLUMNS) + b"0\r\n\r\n", "SERVER_LOST"),
        (HEAD + chunk(COLUMNS + b'{"op"'), "SERVER_LOST"),
        (HEAD + b"ff\r\n" + COLUMNS, "SERVER_LOST"),
    ],
)  # fmt: skip
def test_a_strange_or_broken_answer_is_named(answer: bytes, name: str) -> None:
    with listener(answer) as url, pytest.raises(MillpondError) as raised:
        drain(Connection(url))
    assert raised.value.name == name


def test_a_complete_answer_is_no_error() -> None:
    with listener(HEAD + chunk(COLUMNS + b'{"end":true}\n') + b"0\r\n\r\n") as url:
        drain(Connection(url))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@pytest.mark.parametrize(
    "url", [lambda: f"http://127.0.0.1:{free_port()}", lambda: "http://host.invalid", lambda: "http://h:x"]
)
def test_no_server_is_unreachable(url: Callable[[], str]) -> None:
    with pytest.raises(MillpondError) as raised:
        Connection(url()).version()
    assert raised.value.name == "SERVER_UNREACHABLE"
