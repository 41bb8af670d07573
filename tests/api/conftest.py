"""The application on a scripted engine: in process, and behind a real uvicorn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient

from millpond.api.app import MillpondApp, create_app
from millpond.api.server import serve
from millpond.config import load_settings
from millpond.serve.answers import Metric
from tests.api.fake_engine import FakeEngine

SAMPLES = [
    Metric("millpond_rows_in_total", "Rows read.", "counter", 7, {"query": "q1"}),
    Metric("millpond_rows_in_total", "Rows read.", "counter", 8, {"query": "q2"}),
    Metric("millpond_lag_rows", "Rows waiting.", "gauge", 3.5),
]


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def app(engine: FakeEngine) -> MillpondApp:
    return create_app(engine, load_settings(), lambda: SAMPLES)


@pytest.fixture
def client(app: MillpondApp) -> Iterator[TestClient]:
    with TestClient(app, base_url="http://127.0.0.1:8088", raise_server_exceptions=False) as opened:
        yield opened


class RunningServer:
    """A real server on a free port in a thread of its own; `url` once it is ready."""

    def __init__(self, app: MillpondApp) -> None:
        self.app = app
        self.url = ""
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(20), "the server did not start"

    def stop(self) -> None:
        """As a stop signal does; again is harmless."""
        if self._thread.is_alive():
            self.call_soon(self._stop.set)
            self._thread.join(20)
        assert not self._thread.is_alive(), "the server did not stop"

    def call_soon(self, fn: Callable[[], None]) -> None:
        """Run `fn` in the server's loop."""
        self._loop.call_soon_threadsafe(fn)

    def _announce(self, url: str) -> None:
        self.url = url
        self._ready.set()

    def _run(self) -> None:
        serving = serve(self.app, "127.0.0.1", 0, announce=self._announce, stop=self._stop)
        self._loop.run_until_complete(serving)
        self._loop.close()


@pytest.fixture
def server(app: MillpondApp) -> Iterator[RunningServer]:
    running = RunningServer(app)
    running.start()
    try:
        yield running
    finally:
        running.stop()
