"""A running server, as the demo sees it: statements in, rows out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import httpx

from millpond.errors import MillpondError

Row = Sequence[str | None]


class StatementRefused(MillpondError):
    """The server answered a statement with an error; `answered` is its SQLSTATE."""

    def __init__(self, url: str, answer: Mapping[str, Any]) -> None:
        super().__init__("REFUSED_BY_SERVER", url=url, reason=answer.get("message", answer))
        self.answered = answer.get("sqlState")


class ServerClient:
    """Runs statements over HTTP; every value comes back as text or None."""

    def __init__(self, base_url: str, timeout: float = 60) -> None:
        self.base_url = base_url.rstrip("/")
        self._timeout = timeout
        self._http = httpx.Client(base_url=self.base_url, timeout=timeout, trust_env=False)

    def __enter__(self) -> ServerClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def rows(self, sql: str) -> list[Row]:
        """The rows that `sql` answers. Raises StatementRefused."""
        answer = self._ask("POST", "/v2/statements", {"statement": sql})
        deadline = time.monotonic() + self._timeout
        while answer.get("sqlState") == "03000" and time.monotonic() < deadline:
            time.sleep(0.1)
            answer = self._ask("GET", f"/v2/statements/{answer['statementID']}")
        if answer.get("sqlState") != "00000":
            raise StatementRefused(self.base_url, answer)
        data: list[Row] = answer.get("data") or []
        return data

    def _ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        try:
            response = self._http.request(method, path, json=body)
            answer: dict[str, Any] = response.json()
        except httpx.HTTPError as e:
            raise MillpondError("SERVER_UNREACHABLE", url=self.base_url) from e
        except ValueError as e:
            raise MillpondError("NOT_A_MILLPOND_SERVER", url=self.base_url, reason="it sent no JSON") from e
        return answer
