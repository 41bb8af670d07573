"""WebSocket /v2/print/{id}: auth, metadata, data, errors in each client's shape, resuming."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect

from millpond.errors import MillpondError
from millpond.serve.answers import Change
from millpond.types import BIGINT, VARCHAR, DecimalType, Sized
from tests.api.fake_engine import FakeEngine, FakeSubscription, columns, created
from tests.waiting import eventually

SHAPE = columns(url=Sized("VARCHAR", 20), price=DecimalType(precision=10, scale=2), at=Sized("TIMESTAMP", 3), n=BIGINT)
PYTHON = {"user-agent": "OpenAPI-Generator/1.0.0/python"}
PRINT = "ws://127.0.0.1:8088/v2/print/"
GO = {"user-agent": "Go-http-client/1.1"}


def submit(client: TestClient, headers: dict[str, str] = GO) -> dict[str, Any]:
    answer = client.post("/v2/statements", json={"statement": "SELECT;"}, headers=headers).json()
    request: dict[str, Any] = answer["metadata"]["dataplaneRequest"]
    return request


@contextmanager
def opened(client: TestClient, request: dict[str, Any], **auth: Any) -> Iterator[WebSocketTestSession]:
    path = PRINT + request["uri"].rsplit("/", 1)[1]
    with client.websocket_connect(path) as socket:
        socket.send_json({"type": "auth", "accessToken": request["token"], "sessionId": None, **auth})
        yield socket


def test_metadata_comes_first_then_each_change(client: TestClient, engine: FakeEngine) -> None:
    changes = [
        Change("upsert", ("./home", None, None, 3), "t1", 1_700_000_000_000),
        Change("snapshot_end", (), "t2"),
        Change("delete", ("./home", None, None, None), "t3"),
    ]
    engine.answer("SELECT;", FakeSubscription(SHAPE, changes))
    with opened(client, submit(client)) as socket:
        assert socket.receive_json() == {
            "type": "metadata",
            "headers": {},
            "columns": [
                {"name": "url", "type": "VARCHAR(20)", "nullable": True, "length": 20},
                {"name": "price", "type": "DECIMAL(10, 2)", "nullable": True, "precision": 10, "scale": 2},
                {"name": "at", "type": "TIMESTAMP(3)", "nullable": True, "precision": 3},
                {"name": "n", "type": "BIGINT", "nullable": True},
            ],
        }
        assert socket.receive_json() == {
            "type": "data",
            "headers": {"op": "upsert", "token": "t1", "ingested": "1700000000000"},
            "data": ["./home", None, None, "3"],
        }
        assert socket.receive_json() == {
            "type": "data",
            "headers": {"op": "delete", "token": "t3"},
            "data": ["./home", None, None, None],
        }


def test_a_client_that_goes_closes_its_subscription(client: TestClient, engine: FakeEngine) -> None:
    following = FakeSubscription(SHAPE, [])
    engine.answer("SELECT;", following)
    with opened(client, submit(client)) as socket:
        socket.receive_json()
        assert not following.closed
    eventually(lambda: following.closed, True, deadline=5)


@pytest.mark.parametrize(
    ("headers", "fields"),
    [
        (PYTHON, {"type", "headers", "message", "sql_code"}),
        (GO, {"type", "headers", "message", "sqlCode", "error"}),
    ],
)
def test_an_error_frame_has_the_shape_that_the_client_reads(
    client: TestClient, engine: FakeEngine, headers: dict[str, str], fields: set[str]
) -> None:
    error = MillpondError("RELATION_NOT_FOUND", name="v", suggestion="")
    engine.answer("SELECT;", FakeSubscription(SHAPE, [], error=error))
    with opened(client, submit(client, headers)) as socket:
        assert socket.receive_json()["type"] == "metadata"
        frame = next(f for f in iter(socket.receive_json, None) if f["type"] == "error")
        with pytest.raises(WebSocketDisconnect):
            socket.receive_json()
    assert set(frame) == fields
    assert frame.get("sql_code", frame.get("sqlCode")) == "3D020"
    assert frame["message"] == str(error)
    if "error" in fields:
        assert frame["error"] == {"message": str(error), "sqlCode": "3D020"}


def test_a_stream_that_ends_stays_open_for_the_reader(client: TestClient, engine: FakeEngine) -> None:
    ending = FakeSubscription(SHAPE, [Change("insert", ("a", None, None, 1), "t")], ends=True)
    engine.answer("SELECT;", ending)
    with opened(client, submit(client)) as socket:
        socket.receive_json()
        assert socket.receive_json()["type"] == "data"
        eventually(lambda: ending.closed, True, deadline=5)


def test_a_resume_token_runs_the_statement_again_from_there(client: TestClient, engine: FakeEngine) -> None:
    runs: list[FakeSubscription] = []

    def run(call: Any) -> list[Any]:
        runs.append(FakeSubscription(SHAPE, [Change("insert", (call.resume, None, None, 1), "t9")]))
        return runs[-1:]

    engine.scripts["SELECT;"] = run
    request = submit(client)
    with opened(client, request) as socket:
        socket.receive_json()
    with opened(client, request, resume="t7") as socket:
        socket.receive_json()
        assert socket.receive_json()["data"][0] == "t7"
    eventually(lambda: [r.closed for r in runs], [True, True], deadline=5)


def test_a_resume_token_at_once_closes_the_waiting_run(client: TestClient, engine: FakeEngine) -> None:
    waiting, again = FakeSubscription(SHAPE, []), FakeSubscription(SHAPE, [])
    engine.scripts["SELECT;"] = lambda call: [again if call.resume else waiting]
    with opened(client, submit(client), resume="t7") as socket:
        socket.receive_json()
        assert waiting.closed
        assert not again.closed


def error_of(socket: WebSocketTestSession) -> dict[str, Any]:
    return next(f for f in iter(socket.receive_json, None) if f["type"] == "error")


def test_a_batch_is_never_run_twice(client: TestClient, engine: FakeEngine) -> None:
    engine.scripts["SELECT;"] = lambda call: [created("x"), FakeSubscription(SHAPE, [])]
    with opened(client, submit(client), resume="t7") as socket:
        assert "[SUBSCRIPTION_NOT_RESUMABLE]" in error_of(socket)["message"]
    assert len(engine.calls) == 1


def test_a_wrong_token_and_a_wrong_id_are_refused(client: TestClient, engine: FakeEngine) -> None:
    engine.answer("SELECT;", FakeSubscription(SHAPE, []))
    request = submit(client)
    with opened(client, {**request, "token": "x"}) as socket:
        assert error_of(socket)["sqlCode"] == "42501"
    with opened(client, {**request, "uri": "http://h/v2/print/nothing"}) as socket:
        assert "[SUBSCRIPTION_NOT_FOUND]" in error_of(socket)["message"]


@pytest.mark.parametrize("message", ["", "nonsense", "[]", "{}", '{"type":"hello","accessToken":"x"}'])
def test_the_first_message_must_be_auth(client: TestClient, engine: FakeEngine, message: str) -> None:
    engine.answer("SELECT;", FakeSubscription(SHAPE, []))
    request = submit(client)
    with client.websocket_connect(f"{PRINT}{request['statementID']}") as socket:
        socket.send_text(message)
        assert "[MALFORMED_REQUEST]" in error_of(socket)["message"]


def test_a_silent_client_is_sent_away(client: TestClient, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millpond.api.deltastream.printing.AUTH_SECONDS", 0.01)
    with client.websocket_connect(PRINT + "x") as socket:
        assert "no auth message" in error_of(socket)["message"]


def test_a_subscription_that_nobody_reads_is_closed(
    client: TestClient, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millpond.api.deltastream.subscriptions.PICKUP_SECONDS", 0.01)
    waiting = FakeSubscription(columns(x=VARCHAR), [])
    engine.answer("SELECT;", waiting)
    submit(client)
    eventually(lambda: waiting.closed, True, deadline=5)
