"""Statements over one keep-alive HTTP connection, with as little of our own in between as possible."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from typing import Any

SUCCESS = "00000"
NOT_COMPLETE = "03000"

NOT_READY = frozenset({"VIEW_NOT_READY", "VIEW_STORE_FAILED"})
"""A view that has seen nothing yet; a store whose file was lost and is not there again yet."""

HEADERS = {"content-type": "application/json"}


class RefusedError(Exception):
    """The server answered with an error; `name` as in its table of errors."""

    def __init__(self, sql: str, message: str) -> None:
        self.name = message.partition("]")[0].removeprefix("[")
        super().__init__(f"{sql}\n{message}")


@dataclass(frozen=True, slots=True)
class Answer:
    """Values are text or None; `message` says so if a view is not complete yet."""

    rows: list[list[str | None]]
    message: str


class Statements:
    """A client of one server; not for several threads."""

    def __init__(self, port: int, timeout: float = 120) -> None:
        self._timeout = timeout
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def run(self, sql: str) -> Answer:
        """The answer to a statement, waited for. Raises RefusedError; OSError, HTTPException: no server."""
        answer = self._ask("POST", "/v2/statements", json.dumps({"statement": sql}).encode())
        deadline = time.monotonic() + self._timeout
        while answer.get("sqlState") == NOT_COMPLETE and time.monotonic() < deadline:
            time.sleep(0.05)
            answer = self._ask("GET", f"/v2/statements/{answer['statementID']}")
        if answer.get("sqlState") != SUCCESS:
            raise RefusedError(sql, str(answer.get("message") or answer))
        return Answer(answer.get("data") or [], answer.get("message") or "")

    def number(self, sql: str) -> int:
        """The one number that a query answers; 0 for no row, NULL, or a view that has seen nothing yet."""
        answer = self.if_ready(sql)
        return int(answer.rows[0][0] or 0) if answer and answer.rows else 0

    def if_ready(self, sql: str) -> Answer | None:
        """The answer; None from a view that has seen nothing yet."""
        try:
            return self.run(sql)
        except RefusedError as e:
            if e.name not in NOT_READY:
                raise
            return None

    def close(self) -> None:
        self._http.close()

    def _ask(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        """Once more if the connection turns out to have been closed by the server because it was idle."""
        idle = self._http.sock is not None
        try:
            return self._ask_once(method, path, body)
        except ConnectionError:
            if not idle:
                raise
            return self._ask_once(method, path, body)

    def _ask_once(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        try:
            self._http.request(method, path, body, HEADERS)
            answer: dict[str, Any] = json.loads(self._http.getresponse().read())
        except BaseException:
            self._http.close()  # http.client refuses the next request after a broken one
            raise
        return answer
