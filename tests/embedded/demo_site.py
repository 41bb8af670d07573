"""The demo's page on a fake engine, served on a free port for a browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from millpond.api.demo import demo_routes
from millpond.embedded.ports import free_port
from tests.embedded.fake_engine import FakeEngine
from tests.waiting import eventually


@dataclass
class Site:
    """A running server; `stop` lets it go away in the middle of a test."""

    engine: FakeEngine
    port: int
    server: uvicorn.Server
    thread: threading.Thread

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/demo/"

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)


@contextmanager
def demo_site(engine: FakeEngine, port: int = 0) -> Iterator[Site]:
    """Serve the demo's page on `port` (0 takes a free one) until the end of the `with` block."""
    port = port or free_port()
    app = Starlette(routes=[Mount("/demo", routes=demo_routes(engine))])
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", ws="none", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    eventually(lambda: server.started, True)
    site = Site(engine, port, server, thread)
    try:
        yield site
    finally:
        site.stop()
