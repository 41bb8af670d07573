"""The demo's page at /demo/ and its figures at /demo/stats.json."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from millpond.embedded.stats import DemoStats
from millpond.errors import MillpondError
from millpond.serve.answers import Engine

FILES: Final = (
    ("/", "demo.html", "text/html"),
    ("/demo.css", "demo.css", "text/css"),
    ("/demo.js", "demo.js", "text/javascript"),
)
"""Path below /demo, file of `pages`, media type."""


def demo_routes(engine: Engine) -> list[Route]:
    """Routes to mount at /demo. `stats.json?user=User_7` answers `DemoStats.figures`, or 503 and why."""
    stats = DemoStats(engine)

    async def figures(request: Request) -> Response:
        try:
            body, status = await stats.figures(request.query_params.get("user")), 200
        except MillpondError as e:
            body, status = {"state": "failed", "note": e.sentence, "error": e.name}, 503
        headers = {"cache-control": "no-store"}
        return Response(orjson.dumps(body), status, headers, "application/json")

    return [*(static(*file) for file in FILES), Route("/stats.json", figures, methods=["GET"])]


def static(path: str, name: str, media_type: str) -> Route:
    """A route to one file of `pages`, read once. The browser asks each time whether it is still the same."""
    body = files("millpond.api").joinpath("pages", name).read_bytes()

    async def serve(_: Request) -> Response:
        return Response(body, headers={"cache-control": "no-cache"}, media_type=media_type)

    return Route(path, serve, methods=["GET"])
