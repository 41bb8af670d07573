"""POST /v2/stream: results as lines of JSON, a push query's for as long as the client listens.

Request: as for /v2/statements, with an optional `"resume": token`. Lines: `{"columns", "statement", "live",
"message", "context"}` once a result; `{"op", "row", "token", "ingested"}` a row, values as text;
`{"heartbeat": true}` after ten silent seconds; `{"end": true}` as the last line of what is complete,
`{"error": {...}}` of what failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, TypeAlias

import orjson
from starlette.types import Receive, Scope, Send

from millpond.api.asgi import ClientGoneError, header, read_body, respond
from millpond.api.deltastream.encoding import RowEncoder
from millpond.api.deltastream.envelope import column_json, context_json, shape
from millpond.api.deltastream.requests import StatementRequest, read_request
from millpond.api.deltastream.running import Runner
from millpond.api.faults import fault
from millpond.api.live import Answers, Pump, Stopping, abandon, until
from millpond.errors import MillpondError, internal
from millpond.serve.answers import Answer, Change, Subscription

HEARTBEAT_SECONDS: Final = 10.0
"""Shows a client that the server lives, and the server that the client does; below any proxy's idle limit."""

_END: Final = b'{"end":true}\n'
"""Tells a complete answer from a broken one: not every HTTP library notices a missing last chunk."""

_HEARTBEAT: Final = b'{"heartbeat":true}\n'
_CHUNK_ROWS: Final = 1_000
"""Rows of an answer in one write."""

Put: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Writes lines to the client, waiting while it is slow."""


class Stream:
    """The raw ASGI endpoint."""

    def __init__(self, runner: Runner, stopping: Stopping) -> None:
        self._runner = runner
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = await read_request(header(scope, b"content-type"), await read_body(receive))
        except ClientGoneError:
            return
        except MillpondError as error:
            await respond(send, *fault(error))
            return
        headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await until(_disconnected(receive), self._write(request, send))

    async def _write(self, request: StatementRequest, send: Send) -> None:
        async def put(lines: bytes) -> None:
            await send({"type": "http.response.body", "body": lines, "more_body": True})

        try:
            await self._results(request, put)
            await put(_END)
        except Exception as error:  # noqa: BLE001 - the boundary: every error becomes a line
            await put(orjson.dumps({"error": error_json(internal(error))}) + b"\n")
        await send({"type": "http.response.body", "body": b""})

    async def _results(self, request: StatementRequest, put: Put) -> None:
        results = await self._run(request, put)
        for result in results:
            if isinstance(result, Answer):
                for lines in answer_lines(result):
                    await put(lines)
            elif result is results[-1]:
                await self._follow(result, put)

    async def _run(self, request: StatementRequest, put: Put) -> Answers:
        """The results, with heartbeats while they take long."""
        context = self._runner.context(request)
        pulled = self._runner.pull(request, context)
        if pulled is not None:
            return [pulled]
        running = asyncio.ensure_future(self._runner.run(request, context))
        try:
            while not (await asyncio.wait({running}, timeout=HEARTBEAT_SECONDS))[0]:
                await put(_HEARTBEAT)
            return running.result()
        except BaseException:
            abandon(running)
            raise

    async def _follow(self, subscription: Subscription, put: Put) -> None:
        encoder = shape(tuple(subscription.columns)).encoder
        async with Pump(subscription, self._stopping) as pump:
            await put(header_line(subscription))
            while (changes := await pump.next(HEARTBEAT_SECONDS)) is not None:
                await put(b"".join(change_line(c, encoder) for c in changes) or _HEARTBEAT)


def header_line(result: Answer | Subscription) -> bytes:
    """The line before a result's rows."""
    columns, context = [column_json(c) for c in result.columns], context_json(result.context)
    if isinstance(result, Answer):
        kind = {"statement": result.statement, "live": False, "message": result.message}
    else:
        kind = {"statement": "SELECT", "live": True, "message": ""}
    return orjson.dumps({"columns": columns, **kind, "context": context}) + b"\n"


def answer_lines(answer: Answer) -> Iterable[bytes]:
    """A complete answer's lines, in writes of a bounded size."""
    encoder = shape(answer.columns).encoder
    yield header_line(answer)
    for start in range(0, len(answer.rows), _CHUNK_ROWS):
        rows = encoder.rows(answer.rows[start : start + _CHUNK_ROWS])
        yield b"".join(orjson.dumps({"op": "insert", "row": row}) + b"\n" for row in rows)


def change_line(change: Change, encoder: RowEncoder) -> bytes:
    """One change; the row of the marker `snapshot_end` is empty."""
    row = encoder.row(change.row) if change.op != "snapshot_end" else []
    line = {"op": change.op, "row": row, "token": change.token, "ingested": change.ingested}
    return orjson.dumps(line) + b"\n"


def error_json(error: MillpondError) -> dict[str, Any]:
    """An error with everything known of it; `message` is the whole text with the token underlined."""
    place = error.position
    return {
        "name": error.name,
        "sqlState": error.sqlstate,
        "message": str(error),
        "sentence": error.sentence,
        "hint": error.hint,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "length": place.length if place else None,
    }


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
