"""Health, version, metrics, pages, unknown addresses and the guard."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from millpond.api.app import create_app
from millpond.api.guard import Guard
from millpond.api.metrics import MetricsPage
from millpond.config import load_settings
from millpond.errors import MillpondError
from tests.api.fake_engine import FakeEngine


def test_health_is_200_when_all_parts_are_ok(client: TestClient) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")


def test_health_is_503_and_says_what_is_wrong(client: TestClient, engine: FakeEngine) -> None:
    engine.parts["broker"] = "no broker answers at 'localhost:9092'"
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json()["status"] == "unwell"
    assert answer.json()["parts"]["broker"] == "no broker answers at 'localhost:9092'"


def test_a_store_that_cannot_be_reached_is_told_and_the_server_is_well(client: TestClient, engine: FakeEngine) -> None:
    engine.stores["kinesis"] = "STORE_CONNECTION_REFUSED: Nothing listens at 'h:1'."
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
    assert answer.json()["stores"] == engine.stores


def test_health_is_503_when_the_engine_cannot_say(
    client: TestClient, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(engine, "healthy", broken)
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert "secret" not in answer.text


def test_version_is_three_integers(client: TestClient) -> None:
    assert set(client.get("/v2/version").json()) == {"major", "minor", "patch"}


def test_metrics_has_the_engines_samples_and_the_requests(client: TestClient) -> None:
    client.get("/healthz")
    client.get("/nowhere")
    text = client.get("/metrics").text
    for line in (
        'millpond_rows_in_total{query="q1"} 7.0',
        'millpond_rows_in_total{query="q2"} 8.0',
        "# TYPE millpond_lag_rows gauge",
        "millpond_lag_rows 3.5",
        'millpond_http_requests_total{route="/healthz",status="200"} 1.0',
        'millpond_http_requests_total{route="other",status="404"} 1.0',
        'millpond_http_request_seconds_count{route="/healthz"} 1.0',
    ):
        assert line in text


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_the_pages_are_html(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.headers["content-type"].startswith("text/html")
    assert "{{" not in answer.text


def test_the_landing_page_links_to_everything(client: TestClient) -> None:
    page = client.get("/").text
    for link in ("/demo", "/docs", "/healthz", "/metrics"):
        assert f'href="{link}"' in page


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v3", 404),
        ("GET", "/v2/statements", 405),
        ("PUT", "/v2/stream", 405),
        ("POST", "/healthz", 405),
    ],
)
def test_an_unknown_address_answers_in_the_error_shape(client: TestClient, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert set(answer.json()) == {"message", "traceID"}


def test_a_request_that_is_too_large_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millpond.api.asgi.BODY_LIMIT_MB", 0.0001)

    def body() -> object:
        for _ in range(20):
            yield b"x" * 100

    answer = client.post("/v2/statements", content=body())  # type: ignore[arg-type]
    assert answer.status_code == 400
    assert "[REQUEST_TOO_LARGE]" in answer.json()["message"]


def http(host: str, origin: str = "", method: str = "POST") -> dict[str, object]:
    headers = [(b"host", host.encode())]
    if origin:
        headers.append((b"origin", origin.encode()))
    return {"type": "http", "method": method, "headers": headers}


@pytest.mark.parametrize(
    ("listens_on", "host", "origin", "method", "allowed"),
    [
        ("127.0.0.1", "localhost:8088", "", "POST", True),
        ("127.0.0.1", "127.0.0.1:8088", "", "POST", True),
        ("127.0.0.1", "127.8.8.8", "", "POST", True),
        ("127.0.0.1", "[::1]:8088", "", "POST", True),
        ("127.0.0.1", "millpond.localhost", "", "POST", True),
        ("127.0.0.1", "evil.example", "", "GET", False),
        ("127.0.0.1", "localhost.evil.example", "", "POST", False),
        ("127.0.0.1", "10.0.0.5:8088", "", "POST", False),
        ("127.0.0.1", "", "", "POST", False),
        ("127.0.0.1", "[::1", "", "POST", False),
        ("mill.example", "mill.example:80", "", "POST", True),
        ("0.0.0.0", "10.0.0.5:8088", "", "POST", True),
        ("0.0.0.0", "millpond:8088", "", "POST", True),
        ("0.0.0.0", "evil.example", "", "POST", False),
        ("127.0.0.1", "localhost:8088", "http://localhost:8088", "POST", True),
        ("127.0.0.1", "localhost:8088", "https://evil.example", "POST", False),
        ("127.0.0.1", "localhost:8088", "http://localhost:3000", "POST", False),
        ("127.0.0.1", "localhost:8088", "null", "POST", False),
        ("127.0.0.1", "localhost:8088", "https://evil.example", "GET", True),
    ],
)
def test_the_guard(listens_on: str, host: str, origin: str, method: str, allowed: bool) -> None:
    guard = Guard(listens_on)
    for _ in range(2):
        if allowed:
            guard.check(http(host, origin, method))
        else:
            with pytest.raises(MillpondError) as refused:
                guard.check(http(host, origin, method))
            assert refused.value.name == "FOREIGN_SITE"


def test_a_foreign_page_is_answered_403_and_reaches_no_engine(client: TestClient, engine: FakeEngine) -> None:
    answer = client.post("/v2/statements", json={"statement": "DROP x;"}, headers={"origin": "https://evil.example"})
    assert answer.status_code == 403
    assert set(answer.json()) == {"message", "traceID"}
    assert engine.calls == []


def test_a_foreign_websocket_is_refused(client: TestClient) -> None:
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect("ws://localhost/v2/print/x", headers={"origin": "https://evil.example"}),
    ):
        pass


def test_a_failing_sampler_is_a_500_without_details(engine: FakeEngine) -> None:
    broken_calls = iter([[], RuntimeError("secret")])

    def failing() -> object:
        found = next(broken_calls)
        if isinstance(found, Exception):
            raise found
        return found

    app = create_app(engine, load_settings(), failing)  # type: ignore[arg-type]
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        first = client.get("/metrics")
        second = client.get("/metrics")
    assert (first.status_code, second.status_code) == (200, 500)
    assert "secret" not in second.text
    assert set(second.json()) == {"message", "traceID"}


async def test_a_scrape_holds_up_nothing_and_they_come_one_at_a_time() -> None:
    going, asked = threading.Event(), 0

    class Slow(Collector):
        def collect(self) -> Iterable[Metric]:
            nonlocal asked
            asked += 1
            going.wait(30)
            return ()

        def describe(self) -> Iterable[Metric]:
            return ()

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError

    registry = CollectorRegistry()
    registry.register(Slow())
    page = MetricsPage(registry)
    scrapes = [asyncio.create_task(page({"type": "http"}, receive, send)) for _ in range(2)]
    while not asked:
        await asyncio.sleep(0.01)  # the loop turns while a scrape waits for a store
    await asyncio.sleep(0.05)
    assert (asked, sent) == (1, [])
    going.set()
    await asyncio.wait_for(asyncio.gather(*scrapes), 10)
    assert [m["status"] for m in sent if "status" in m] == [200, 200]
    assert asked == 2
