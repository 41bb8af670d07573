"""The server as the shell sees it: statements in, results out, over POST /v2/stream.

Only the standard library's HTTP client is used: a one-line `millpond sql -e` must start in an instant.
"""

from __future__ import annotations

import http.client
import json
import uuid
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from millpond.cli.attachments import attachments, multipart
from millpond.errors import MillpondError

CONNECT_SECONDS: Final = 5.0
SILENCE_SECONDS: Final = 45.0
"""The server sends a heartbeat each 10 s; after four missed ones it is gone."""

_REQUEST_FIELDS: Final = {
    "organizationID": "organization",
    "roleName": "role",
    "databaseName": "database",
    "schemaName": "schema",
    "storeName": "store",
    "computePoolName": "computePool",
}
"""Field of an answer's context -> field of the next request."""

JSON: Final = "application/json"

Columns = tuple["ResultColumn", ...]
Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A result's column; `type` is as the server writes it, e.g. DECIMAL(10, 2)."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Change:
    """One row: values as text or None. `op` is insert, upsert, delete or snapshot_end."""

    op: str
    row: Row
    token: str | None = None


@dataclass(slots=True)
class Result:
    """One statement's result. `changes` can be read once; a live one's go on until it is closed."""

    columns: Columns
    statement: str
    live: bool
    message: str
    changes: Iterator[Change]


class StatementError(Exception):
    """The server's error for a statement: `message` is its whole text, with the token underlined."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name
        self.message = message


@dataclass(slots=True)
class Connection:
    """A session with the server at `url`: what USE and SET change holds for the next statement."""

    url: str
    dialect: str | None = None
    session: str = field(default_factory=lambda: uuid.uuid4().hex)
    context: dict[str, str] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()
    """Where files that statements name are looked for, after the working folder."""

    def version(self) -> str:
        """The server's version. Raises SERVER_UNREACHABLE, NOT_A_MILLPOND_SERVER."""
        with closing(self._open()) as http_:
            answer = self._answer(http_, "GET", "/v2/version", None)
            found = self._object(answer.read())
        return ".".join(str(found.get(part, 0)) for part in ("major", "minor", "patch"))

    def run(self, statement: str, resume: str | None = None) -> Generator[Result]:
        """Run `statement` and yield its results; read each one's changes before the next result.

        Closing the iterator closes the connection, which ends a push query.
        Raises StatementError, SERVER_UNREACHABLE, SERVER_LOST, REFUSED_BY_SERVER, NOT_A_MILLPOND_SERVER.
        """
        content_type, body = self._request(statement, resume)
        with closing(self._open()) as http_:
            lines = self._lines(self._answer(http_, "POST", "/v2/stream", body, content_type))
            pending = next(lines, None)
            while pending is not None:
                reader = _Reader(lines)
                yield self._result(pending, reader.changes())
                pending = reader.next_header()

    def _request(self, statement: str, resume: str | None) -> tuple[str, bytes]:
        """Content type and body; multipart if the statement names files. Raises FILE_NOT_READABLE."""
        parameters = {"sessionID": self.session, **({"dialect": self.dialect} if self.dialect else {})}
        request = {"statement": statement, "parameters": parameters, "resume": resume, **self.context}
        body, files = json.dumps(request).encode("utf-8"), attachments(statement, self.folders)
        return multipart(body, files) if files else (JSON, body)

    def _open(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url if "//" in self.url else f"http://{self.url}")
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        try:
            opened = kind(parts.hostname or "", parts.port or (443 if secure else 80), timeout=CONNECT_SECONDS)
            opened.connect()
        except (OSError, ValueError, http.client.InvalidURL) as error:
            raise MillpondError("SERVER_UNREACHABLE", url=self.url) from error
        opened.sock.settimeout(SILENCE_SECONDS)
        return opened

    def _answer(
        self,
        http_: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str = JSON,
    ) -> http.client.HTTPResponse:
        try:
            http_.request(method, path, body, {"content-type": content_type})
            answer = http_.getresponse()
            if answer.status == 200:
                return answer
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise MillpondError("NOT_A_MILLPOND_SERVER", url=self.url, reason=_reason(error)) from error
        reason = self._object(text).get("message", f"HTTP status {answer.status}")
        raise MillpondError("REFUSED_BY_SERVER", url=self.url, reason=reason)

    def _lines(self, answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
        if answer.headers.get_content_type() != "application/x-ndjson":
            reason = f"it answers in {answer.headers.get_content_type()}"
            raise MillpondError("NOT_A_MILLPOND_SERVER", url=self.url, reason=reason)
        while "end" not in (given := self._object(self._line(answer))):
            if "error" in given:
                raise StatementError(given["error"]["name"], given["error"]["message"])
            if "heartbeat" not in given:
                yield given

    def _line(self, answer: http.client.HTTPResponse) -> bytes:
        try:
            line = answer.readline()
        except (OSError, http.client.HTTPException) as error:
            raise MillpondError("SERVER_LOST", url=self.url, reason=_reason(error)) from error
        if not line.endswith(b"\n"):
            raise MillpondError("SERVER_LOST", url=self.url, reason="the answer is cut off")
        return line

    def _object(self, text: bytes) -> dict[str, Any]:
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
        raise MillpondError("NOT_A_MILLPOND_SERVER", url=self.url, reason="it does not answer in JSON")

    def _result(self, header: Mapping[str, Any], changes: Iterator[Change]) -> Result:
        if "columns" not in header:
            raise MillpondError("NOT_A_MILLPOND_SERVER", url=self.url, reason="its answer has no columns")
        kept = {_REQUEST_FIELDS[k]: v for k, v in header.get("context", {}).items() if k in _REQUEST_FIELDS}
        self.context.update(kept)
        columns = tuple(ResultColumn(c["name"], c["type"]) for c in header["columns"])
        return Result(columns, header.get("statement", ""), header["live"], header.get("message", ""), changes)


class _Reader:
    """One result's rows out of the lines of all: it stops at the next result's header and keeps that."""

    def __init__(self, lines: Iterator[dict[str, Any]]) -> None:
        self._lines = lines
        self._header: dict[str, Any] | None = None

    def changes(self) -> Iterator[Change]:
        for line in self._lines:
            if "columns" in line:
                self._header = line
                return
            yield Change(line["op"], tuple(line["row"]), line.get("token"))

    def next_header(self) -> dict[str, Any] | None:
        """The header of the next result; rows that were not read are skipped."""
        while self._header is None:
            line = next(self._lines, None)
            if line is None:
                return None
            self._header = line if "columns" in line else None
        return self._header


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"it was silent for {SILENCE_SECONDS:.0f} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
