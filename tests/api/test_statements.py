"""POST /v2/statements and GET /v2/statements/{id}: the success envelope and the error shape, pinned."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from starlette.testclient import TestClient

from millpond.api.app import MillpondApp
from millpond.api.deltastream import envelope
from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError, Position
from millpond.types import BIGINT, VARCHAR
from tests.api.fake_engine import Call, FakeEngine, FakeSubscription, columns, created, rows
from tests.waiting import eventually

VISITS = columns(url=VARCHAR, visits=BIGINT)
CONTEXT = {
    "organizationID": "00000000-0000-0000-0000-000000000001",
    "roleName": "sysadmin",
    "databaseName": "default",
    "schemaName": "public",
    "storeName": "kafka",
    "computePoolName": "",
}


def post(client: TestClient, statement: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/v2/statements", json={"statement": statement, **more})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_the_success_envelope(client: TestClient, engine: FakeEngine) -> None:
    engine.answer("SELECT * FROM v;", rows(VISITS, ("./home", 3), (None, 1)))
    body = post(client, "SELECT * FROM v;")
    assert uuid.UUID(body.pop("statementID"))
    assert body.pop("createdOn") > 1_700_000_000
    assert len(body.pop("statementIDs")) == 1
    assert body == {
        "sqlState": "00000",
        "message": "",
        "metadata": {
            "encoding": "json",
            "partitionInfo": [{"rowCount": 2}],
            "columns": [
                {"name": "url", "type": "VARCHAR", "nullable": True},
                {"name": "visits", "type": "BIGINT", "nullable": True},
            ],
            "context": CONTEXT,
        },
        "data": [["./home", "3"], [None, "1"]],
    }


def test_the_error_shape_of_sql_is_a_200_with_the_underlined_text(client: TestClient, engine: FakeEngine) -> None:
    sql = "SELECT x FORM v;"
    error = MillpondError("COLUMN_NOT_FOUND", name="x", where="'v'", suggestion="Did you mean 'y'?")
    engine.fail(sql, error.located(sql, Position(1, 8)))
    body = post(client, sql)
    assert uuid.UUID(body.pop("statementID"))
    del body["createdOn"], body["statementIDs"]
    assert body == {
        "sqlState": "42703",
        "message": (
            "[COLUMN_NOT_FOUND] There is no column 'x' in 'v'.\nLine 1, column 8:\n"
            "  SELECT x FORM v;\n         ^\nDid you mean 'y'?"
        ),
        "metadata": {"encoding": "json", "partitionInfo": [], "columns": [], "context": CONTEXT},
        "data": [],
    }


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense", b"[]", b"{}", b'{"statement": ""}', b'{"statement": 7}', b'{"statement":"x","role":1}',
     b'{"statement":"x","parameters":[]}'],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/v2/statements", "/v2/stream"])
def test_a_malformed_request_is_a_400_with_message_and_trace(client: TestClient, content: bytes, path: str) -> None:
    answer = client.post(path, content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert set(answer.json()) == {"message", "traceID"}
    assert answer.json()["message"].startswith("[MALFORMED_REQUEST]")


@pytest.mark.parametrize("path", ["/v2/statements", "/v2/stream"])
@pytest.mark.parametrize("dialect", ["ksql", "latin"])
def test_a_dialect_that_is_not_there_is_refused_by_name(client: TestClient, dialect: str, path: str) -> None:
    answer = client.post(path, json={"statement": "x", "parameters": {"dialect": dialect}})
    assert f"[UNSUPPORTED] The dialect '{dialect}' is not supported" in answer.json()["message"]


def test_an_internal_error_tells_a_reference_and_no_details(
    client: TestClient, engine: FakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.fail("SELECT 1;", ValueError("password=hunter2"))
    body = post(client, "SELECT 1;")
    assert body["sqlState"] == "XX000"
    assert "hunter2" not in str(body)
    reference = caplog.records[-1].getMessage().split()[-1]
    assert reference in body["message"]


def test_an_error_in_pull_is_an_sql_error(client: TestClient, engine: FakeEngine) -> None:
    engine.pulls["SELECT 1;"] = MillpondError("RELATION_NOT_FOUND", name="v", suggestion="")
    assert post(client, "SELECT 1;")["sqlState"] == "3D020"


def test_a_cheap_pull_query_never_reaches_execute(client: TestClient, engine: FakeEngine) -> None:
    engine.pulls["SELECT 1;"] = rows(VISITS, ("./home", 3))
    body = post(client, "SELECT 1;")
    assert body["data"] == [["./home", "3"]]
    assert engine.calls == []
    again = client.get(f"/v2/statements/{body['statementID']}")
    assert again.json() == body


def test_a_batch_answers_its_last_result_with_the_ids_of_all(client: TestClient, engine: FakeEngine) -> None:
    follow = FakeSubscription(VISITS, [])
    engine.answer("a; b; c;", created("a"), follow, rows(VISITS, ("x", 1)))
    body = post(client, "a; b; c;")
    assert len(body["statementIDs"]) == 3
    assert body["statementIDs"][-1] == body["statementID"]
    assert body["data"] == [["x", "1"]]
    assert follow.closed


def test_the_request_fields_become_the_context(client: TestClient, engine: FakeEngine) -> None:
    engine.scripts["x"] = lambda call: [created("x", context=call.context)]
    organization = str(uuid.uuid4())
    body = post(
        client,
        "x",
        organization=organization,
        role="Analyst",
        database="db",
        schema="s",
        store="k",
        computePool="p",
        parameters={"timezone": "Europe/Berlin", "dialect": "deltastream"},
    )
    assert body["metadata"]["context"] == {
        "organizationID": organization,
        "roleName": "Analyst",
        "databaseName": "db",
        "schemaName": "s",
        "storeName": "k",
        "computePoolName": "p",
    }
    assert (engine.calls[0].context.timezone, engine.calls[0].context.dialect) == ("Europe/Berlin", "deltastream")


def test_nulls_and_an_organization_by_name_mean_the_defaults(client: TestClient, engine: FakeEngine) -> None:
    engine.scripts["x"] = lambda call: [created("x", context=call.context)]
    body = post(client, "x", organization="acme", role=None, parameters={"sessionID": None})
    assert body["metadata"]["context"] == CONTEXT


def test_what_a_statement_sets_stays_with_its_session(client: TestClient, engine: FakeEngine) -> None:
    def use(call: Call) -> list[Any]:
        return [created("x", context=SessionContext(database="other", settings={"a": "1"}))]

    engine.scripts["SET"] = use
    engine.scripts["GET"] = lambda call: [created("x", context=call.context)]
    post(client, "SET", parameters={"sessionID": "s1"})
    assert post(client, "GET", parameters={"sessionID": "s1"})["metadata"]["context"]["databaseName"] == "other"
    assert engine.calls[-1].context.settings == {"a": "1"}
    post(client, "GET", database="mine", parameters={"sessionID": "s1"})
    assert engine.calls[-1].context.database == "mine"
    post(client, "GET", parameters={"sessionID": "s2"})
    assert (engine.calls[-1].context.database, engine.calls[-1].context.settings) == ("default", {})
    post(client, "GET")
    assert engine.calls[-1].context.database == "default"


def test_set_without_a_session_says_that_it_is_not_kept(client: TestClient, engine: FakeEngine) -> None:
    engine.scripts["SET"] = lambda call: [created("x", context=SessionContext(settings={"a": "1"}))]
    engine.scripts["USE"] = lambda call: [created("x", context=SessionContext(database="other"))]
    assert "send 'sessionID'" in post(client, "SET")["message"]
    assert "sessionID" not in post(client, "SET", parameters={"sessionID": "s1"})["message"]
    assert "sessionID" not in post(client, "USE")["message"]


REQUEST = b'{"statement": "CREATE FUNCTION_SOURCE f;", "database": "db"}'


@pytest.mark.parametrize(
    "request_part",
    [
        (None, REQUEST.decode()),
        (None, REQUEST, "application/json"),
        ("blob", REQUEST, "application/json"),
    ],
    ids=["plain field", "with a content type", "as a file"],
)
def test_multipart_requests_carry_attachments_by_name(
    client: TestClient, engine: FakeEngine, request_part: tuple[Any, ...]
) -> None:
    engine.scripts["CREATE FUNCTION_SOURCE f;"] = lambda call: [created("f", context=call.context)]
    parts = [
        ("request", request_part),
        ("attachments", ("f.jar", b"\x00\xff")),
        ("attachments", ("ca.pem", b"ca")),
    ]
    answer = client.post("/v2/statements", files=parts)
    assert answer.json()["sqlState"] == "00000"
    assert engine.calls[0].attachments == {"f.jar": b"\x00\xff", "ca.pem": b"ca"}
    assert engine.calls[0].context.database == "db"


def test_multipart_without_a_request_part_is_malformed(client: TestClient) -> None:
    answer = client.post("/v2/statements", files=[("attachments", ("f.jar", b"x"))])
    assert answer.status_code == 400
    assert "'request'" in answer.json()["message"]


def test_a_large_result_comes_in_partitions(
    client: TestClient, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(envelope, "PARTITION_ROWS", 2)
    engine.answer("x", rows(columns(n=BIGINT), (1,), (2,), (3,), (4,), (5,)))
    body = post(client, "x")
    assert body["metadata"]["partitionInfo"] == [{"rowCount": 2}, {"rowCount": 2}, {"rowCount": 1}]
    pages = [
        client.get(f"/v2/statements/{body['statementID']}", params={"partitionID": i, "sessionID": "s"}).json()
        for i in range(3)
    ]
    assert [page["data"] for page in pages] == [[["1"], ["2"]], [["3"], ["4"]], [["5"]]]
    assert {str(page["metadata"]) for page in pages} == {str(body["metadata"])}
    beyond = client.get(f"/v2/statements/{body['statementID']}", params={"partitionID": 3})
    assert beyond.status_code == 400
    assert "[PARTITION_NOT_FOUND]" in beyond.json()["message"]
    assert client.get(f"/v2/statements/{body['statementID']}?partitionID=x").status_code == 400


def test_an_unknown_statement_is_a_404(client: TestClient) -> None:
    answer = client.get(f"/v2/statements/{uuid.uuid4()}")
    assert answer.status_code == 404
    assert "[STATEMENT_NOT_FOUND]" in answer.json()["message"]


def test_a_slow_statement_is_a_202_until_it_is_done(
    client: TestClient, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millpond.api.deltastream.statements.PATIENCE_SECONDS", 0.01)
    engine.slow["x"] = asyncio.Event()
    engine.answer("x", created("x"))
    answer = client.post("/v2/statements", json={"statement": "x"})
    assert answer.status_code == 202
    status = answer.json()
    assert status["sqlState"] == "03000"
    path = f"/v2/statements/{status['statementID']}"
    assert client.get(path).status_code == 202
    assert client.portal is not None
    client.portal.call(engine.slow["x"].set)
    eventually(lambda: client.get(path).status_code, 200, deadline=5)
    assert client.get(path).json()["data"][0][1] == "x"


def test_a_push_query_answers_where_to_read_it(client: TestClient, engine: FakeEngine) -> None:
    engine.scripts["SELECT;"] = lambda call: [FakeSubscription(VISITS, [])]
    body = post(client, "SELECT;")
    request = body["metadata"]["dataplaneRequest"]
    assert request["requestType"] == "streaming"
    assert request["statementID"] == body["statementID"]
    assert request["uri"] == f"http://127.0.0.1:8088/v2/print/{body['statementID']}"
    assert request["token"]
    assert (body["metadata"]["columns"], body["metadata"]["partitionInfo"], body["data"]) == ([], [], [])
    assert body["metadata"]["context"] == CONTEXT


@pytest.mark.parametrize(
    ("headers", "scheme"),
    [
        ({"user-agent": "OpenAPI-Generator/1.0.0/python"}, "ws"),
        ({"user-agent": "Go-http-client/1.1"}, "http"),
        ({"user-agent": "OpenAPI-Generator/1.0.0/go"}, "http"),
        ({"x-forwarded-proto": "https"}, "https"),
        ({"user-agent": "OpenAPI-Generator/1.0.0/python", "x-forwarded-proto": "https"}, "https"),
    ],
)
def test_the_uri_has_the_scheme_that_the_client_can_open(
    client: TestClient, engine: FakeEngine, headers: dict[str, str], scheme: str
) -> None:
    engine.scripts["SELECT;"] = lambda call: [FakeSubscription(VISITS, [])]
    answer = client.post("/v2/statements", json={"statement": "SELECT;"}, headers=headers)
    assert answer.json()["metadata"]["dataplaneRequest"]["uri"].startswith(f"{scheme}://127.0.0.1:8088/")


def test_closing_the_server_closes_what_nobody_picked_up(engine: FakeEngine, app: MillpondApp) -> None:
    waiting = FakeSubscription(VISITS, [])
    engine.answer("SELECT;", waiting)
    with TestClient(app, base_url="http://localhost") as client:
        post(client, "SELECT;")
        assert not waiting.closed
    assert waiting.closed
