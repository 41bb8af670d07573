"""What the published clients need differently, told apart by their User-Agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.types import Scope

from millpond.api.asgi import header
from millpond.errors import MillpondError


@dataclass(frozen=True, slots=True)
class Client:
    """One family of clients. `python` is deltastream-connector, which is the strict one."""

    python: bool

    def stream_uri(self, scheme: str, host: str, path: str) -> str:
        """Where a subscription is read: under TLS all take https, else Python wants ws, Go http."""
        if scheme == "https":
            return f"https://{host}{path}"
        return f"{'ws' if self.python else 'http'}://{host}{path}"

    def error_frame(self, error: MillpondError) -> dict[str, Any]:
        """The WebSocket's error: Python takes exactly four fields, Go flat ones, TypeScript nested ones."""
        message = str(error)
        frame: dict[str, Any] = {"type": "error", "headers": {}, "message": message}
        if self.python:
            return {**frame, "sql_code": error.sqlstate}
        return {**frame, "sqlCode": error.sqlstate, "error": {"message": message, "sqlCode": error.sqlstate}}


PYTHON = Client(python=True)
OTHER = Client(python=False)


def client_of(scope: Scope) -> Client:
    """Who sent this request."""
    agent = header(scope, b"user-agent").decode("latin-1").lower()
    connector = agent.startswith("openapi-generator/") and agent.endswith("/python")
    its_websockets = agent.startswith("python/")
    return PYTHON if connector or its_websockets else OTHER


def address_of(scope: Scope) -> tuple[str, str]:
    """The scheme and host by which the client reached us, a TLS proxy before us included."""
    forwarded = header(scope, b"x-forwarded-proto").decode("latin-1")
    return forwarded or str(scope.get("scheme", "http")), header(scope, b"host").decode("latin-1")
