"""POST /v2/stream: results as lines, push queries until the client goes."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient

from millpond.api.app import MillpondApp
from millpond.errors import MillpondError, Position
from millpond.serve.answers import Change
from millpond.types import BIGINT, VARCHAR
from tests.api.conftest import RunningServer
from tests.api.fake_engine import FakeEngine, FakeSubscription, columns, created, rows
from tests.waiting import eventually

VISITS = columns(url=VARCHAR, visits=BIGINT)
CHANGES = [
    Change("upsert", ("./home", 3), "t1", 1_700_000_000_000),
    Change("snapshot_end", (), "t2"),
    Change("delete", ("./home", None), "t3"),
]


def lines(client: TestClient, statement: str, **more: Any) -> list[dict[str, Any]]:
    answer = client.post("/v2/stream", json={"statement": statement, **more})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    *found, last = [json.loads(line) for line in answer.text.splitlines()]
    assert "end" in last or "error" in last
    return found if "end" in last else [*found, last]


def test_an_answer_is_a_header_and_its_rows(client: TestClient, engine: FakeEngine) -> None:
    engine.answer("a; b;", created("a"), rows(VISITS, ("./home", 3), (None, 1)))
    first, row, second, *rest = lines(client, "a; b;")
    assert (first["statement"], first["live"], row["row"][1]) == ("CREATE_STREAM", False, "a")
    assert [c["name"] for c in second["columns"]] == ["url", "visits"]
    assert second["context"]["databaseName"] == "default"
    assert rest == [{"op": "insert", "row": ["./home", "3"]}, {"op": "insert", "row": [None, "1"]}]


def test_a_pull_query_is_answered_by_pull(client: TestClient, engine: FakeEngine) -> None:
    engine.pulls["x"] = rows(VISITS, ("./home", 3))
    assert lines(client, "x")[1]["row"] == ["./home", "3"]
    assert engine.calls == []


def test_a_push_query_gives_each_change_with_its_token(client: TestClient, engine: FakeEngine) -> None:
    engine.answer("x", FakeSubscription(VISITS, CHANGES, ends=True))
    header, *rest = lines(client, "x", resume="t0")
    assert header["live"] is True
    assert rest == [
        {"op": "upsert", "row": ["./home", "3"], "token": "t1", "ingested": 1_700_000_000_000},
        {"op": "snapshot_end", "row": [], "token": "t2", "ingested": None},
        {"op": "delete", "row": ["./home", None], "token": "t3", "ingested": None},
    ]
    assert engine.calls[0].resume == "t0"


def test_an_sql_error_is_a_line_with_its_place(client: TestClient, engine: FakeEngine) -> None:
    error = MillpondError("SYNTAX", problem="Expected FROM.", position=Position(1, 3, 4), sql="a bcde")
    engine.fail("a bcde", error)
    (line,) = lines(client, "a bcde")
    assert line["error"] == {
        "name": "SYNTAX",
        "sqlState": "42601",
        "message": str(error),
        "sentence": "Expected FROM.",
        "hint": error.hint,
        "line": 1,
        "column": 3,
        "length": 4,
    }


def test_an_error_in_the_middle_comes_after_the_rows(client: TestClient, engine: FakeEngine) -> None:
    failing = FakeSubscription(VISITS, CHANGES, error=RuntimeError("secret"))
    engine.answer("x", failing)
    *_, last_row, last = lines(client, "x")
    assert last_row["token"] == "t3"
    assert (last["error"]["name"], last["error"]["sqlState"]) == ("INTERNAL", "XX000")
    assert "secret" not in json.dumps(last)
    assert failing.closed


@contextmanager
def connected(server: RunningServer, statement: str) -> Iterator[Iterator[dict[str, Any]]]:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    body = json.dumps({"statement": statement})
    connection.request("POST", "/v2/stream", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    try:
        yield (json.loads(line) for line in iter(answer.readline, b""))
    finally:
        answer.close()
        connection.close()


def test_a_client_that_goes_closes_its_subscription_at_once(server: RunningServer, engine: FakeEngine) -> None:
    following = FakeSubscription(VISITS, CHANGES)
    engine.answer("x", following)
    with connected(server, "x") as received:
        assert [next(received).get("op") for _ in range(4)] == [None, "upsert", "snapshot_end", "delete"]
        assert not following.closed
    eventually(lambda: following.closed, True, deadline=5)


def test_a_client_that_goes_while_its_statement_runs_leaves_nothing_open(
    server: RunningServer, engine: FakeEngine
) -> None:
    following = FakeSubscription(VISITS, [])
    engine.slow["x"] = asyncio.Event()
    engine.answer("x", following)
    with connected(server, "x"):
        eventually(lambda: len(engine.calls), 1, deadline=5)
    server.call_soon(engine.slow["x"].set)
    eventually(lambda: following.closed, True, deadline=5)


def test_silence_is_filled_with_heartbeats(
    server: RunningServer, engine: FakeEngine, app: MillpondApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millpond.api.stream.HEARTBEAT_SECONDS", 0.02)
    engine.answer("x", FakeSubscription(VISITS, []))
    engine.slow["slow"] = asyncio.Event()
    engine.answer("slow", created("a"))
    with connected(server, "x") as received:
        assert "columns" in next(received)
        assert [next(received) for _ in range(3)] == [{"heartbeat": True}] * 3
    with connected(server, "slow") as received:
        assert next(received) == {"heartbeat": True}


def test_stopping_the_server_is_told_to_the_reader(server: RunningServer, engine: FakeEngine) -> None:
    following = FakeSubscription(VISITS, CHANGES)
    engine.answer("x", following)
    with connected(server, "x") as received:
        for _ in range(4):
            next(received)
        server.stop()
        (line,) = received
    assert line["error"]["name"] == "SERVER_STOPPING"
    assert following.closed


def test_a_slow_reader_holds_back_only_itself(server: RunningServer, engine: FakeEngine) -> None:
    many = [Change("insert", ("x" * 1000, n), str(n)) for n in range(5_000)]
    engine.answer("x", FakeSubscription(VISITS, many, ends=True))
    with connected(server, "x") as received:
        next(received)
        assert [next(received)["token"] for _ in range(5_000)] == [str(n) for n in range(5_000)]
        assert list(received) == [{"end": True}]
