"""The ASGI application: all routes, the guard before them, the request metrics around them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from prometheus_client import CollectorRegistry
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millpond.api.asgi import respond
from millpond.api.deltastream.printing import Print
from millpond.api.deltastream.results import Results
from millpond.api.deltastream.running import Runner
from millpond.api.deltastream.sessions import Sessions
from millpond.api.deltastream.statements import Statements, StatementStatus
from millpond.api.deltastream.subscriptions import Subscriptions
from millpond.api.demo import demo_routes
from millpond.api.faults import fault
from millpond.api.guard import Guard
from millpond.api.live import Stopping
from millpond.api.metrics import MetricsPage, RequestMetrics, SampleCollector, Samples
from millpond.api.status import Health, Page, Version
from millpond.api.stream import Stream
from millpond.config import Settings
from millpond.errors import MillpondError, internal
from millpond.serve.answers import Engine

STATEMENTS: Final = "/v2/statements"

_ROUTES: Final = frozenset({"/", "/docs", "/healthz", "/metrics", "/v2/statements", "/v2/stream", "/v2/version"})
"""Paths that name themselves in the metrics; the others are grouped, so that no client can invent a label."""


class MillpondApp(Starlette):
    """Starlette with a guard, request metrics, and one route, the hot path, that skips the router."""

    guard: Guard
    stopping: Stopping
    requests: RequestMetrics
    statements: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, status, path = time.perf_counter(), 0, scope["path"]

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            self.guard.check(scope)
            if path == STATEMENTS and scope["method"] == "POST":
                await self.statements(scope, receive, noting)
            else:
                await super().__call__(scope, receive, noting)
        except MillpondError as error:
            await respond(noting, *fault(error))
        if status and path != "/v2/stream":
            self.requests.record(route_label(path), status, time.perf_counter() - started)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self.guard.check(scope)
        except MillpondError:
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        await super().__call__(scope, receive, send)


def create_app(engine: Engine, settings: Settings, metrics: Samples) -> MillpondApp:
    """The application on top of `engine`; `metrics` gives the engine's samples for each scrape."""
    runner, results, stopping = Runner(engine, Sessions()), Results(), Stopping(engine.refuse)
    subscriptions = Subscriptions(runner)
    statements = Statements(runner, results, subscriptions)
    registry = CollectorRegistry()
    routes: list[BaseRoute] = [
        Route(STATEMENTS, statements, methods=["POST"]),
        Route(STATEMENTS + "/{id}", StatementStatus(results), methods=["GET"]),
        Route("/v2/version", Version(), methods=["GET"]),
        Route("/v2/stream", Stream(runner, stopping), methods=["POST"]),
        WebSocketRoute("/v2/print/{id}", Print(subscriptions, stopping)),
        Route("/healthz", Health(engine), methods=["GET"]),
        Route("/metrics", MetricsPage(registry), methods=["GET"]),
        Route("/docs", Page("docs.html"), methods=["GET"]),
        Route("/", Page("index.html"), methods=["GET"]),
        Mount("/demo", routes=demo_routes(engine)),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await subscriptions.aclose()

    app = MillpondApp(
        routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_error, Exception: _crash}
    )
    app.guard, app.stopping, app.statements = Guard(settings.host), stopping, statements
    app.requests = RequestMetrics(registry)
    registry.register(SampleCollector(metrics))
    return app


def route_label(path: str) -> str:
    """The `route` label of a path."""
    if path in _ROUTES:
        return path
    for prefix, label in ((STATEMENTS + "/", STATEMENTS + "/{id}"), ("/demo", "/demo")):
        if path.startswith(prefix):
            return label
    return "other"


async def _http_error(request: Request, error: Exception) -> Response:
    """Starlette's 404 and 405 in our shape."""
    assert isinstance(error, HTTPException)
    missing = MillpondError("NO_SUCH_ADDRESS", method=request.method, path=request.url.path)
    status, body = fault(missing)
    status = error.status_code if error.status_code == 405 else status
    return Response(body, status, headers=error.headers, media_type="application/json")


async def _crash(request: Request, error: Exception) -> Response:
    status, body = fault(internal(error))
    return Response(body, status, media_type="application/json")
