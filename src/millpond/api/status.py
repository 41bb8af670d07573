"""GET /healthz, GET /v2/version and the plain pages."""

from __future__ import annotations

from importlib.resources import files

import orjson
from starlette.types import Receive, Scope, Send

from millpond import __version__
from millpond.api.asgi import respond
from millpond.errors import internal
from millpond.serve.answers import Engine


class Health:
    """200 `{"status": "ok", "version", "parts", "stores"}` when all parts are ok, else 503 with what is wrong.

    A store that cannot be reached is told, and changes no status: the server works, and answers what it has.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts = self._parts()
        well = all(state == "ok" for state in parts.values())
        body = {"status": "ok" if well else "unwell", "version": __version__, "parts": parts}
        body["stores"] = await self._stores()
        await respond(send, 200 if well else 503, orjson.dumps(body))

    def _parts(self) -> dict[str, str]:
        try:
            return dict(self._engine.healthy())
        except Exception as error:  # noqa: BLE001 - a part that cannot say how it is, is not well
            return {"engine": str(internal(error))}

    async def _stores(self) -> dict[str, str]:
        try:
            return dict(await self._engine.reachable())
        except Exception as error:  # noqa: BLE001 - as above
            return {"catalog": str(internal(error))}


class Version:
    """`{major, minor, patch}`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        major, minor, patch = (int(part) for part in __version__.split(".")[:3])
        await respond(send, 200, orjson.dumps({"major": major, "minor": minor, "patch": patch}))


class Page:
    """A page of `api/pages`, read once; `{{version}}` in it is ours."""

    def __init__(self, name: str) -> None:
        text = files("millpond.api").joinpath("pages", name).read_text("utf-8")
        self._body = text.replace("{{version}}", __version__).encode("utf-8")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await respond(send, 200, self._body, b"text/html; charset=utf-8")
