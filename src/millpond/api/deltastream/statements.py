"""POST /v2/statements and GET /v2/statements/{id}.

The POST is the hot path: a pull query is answered here without a task, a Request object or a second look at
the body. Everything else goes through the engine's `execute`, in a task that survives its client.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Final
from urllib.parse import parse_qs

from starlette.types import Receive, Scope, Send

from millpond.api.asgi import ClientGoneError, header, read_body, respond
from millpond.api.deltastream.clients import address_of, client_of
from millpond.api.deltastream.envelope import Run, unfinished
from millpond.api.deltastream.requests import StatementRequest, from_json, malformed, read_request
from millpond.api.deltastream.results import Failed, Outcome, Results, Streaming, written
from millpond.api.deltastream.running import Runner
from millpond.api.deltastream.subscriptions import Subscriptions
from millpond.api.faults import fault
from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError, internal
from millpond.serve.answers import Answer

PATIENCE_SECONDS: Final = 20.0
"""How long a POST waits before it answers 202: below the 30 s that proxies and clients give up at."""


def statement_id() -> str:
    """A random UUID (version 4) as text; `uuid.uuid4` takes three times as long, for each pull query."""
    raw = bytearray(os.urandom(16))
    raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80
    digits = raw.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


class Statements:
    """POST /v2/statements, as a raw ASGI endpoint."""

    def __init__(self, runner: Runner, results: Results, subscriptions: Subscriptions) -> None:
        self._runner = runner
        self._results = results
        self._subscriptions = subscriptions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(receive)
            content_type = header(scope, b"content-type")
            multipart = content_type.startswith(b"multipart/")
            request = await read_request(content_type, body) if multipart else from_json(body)
        except ClientGoneError:
            return
        except MillpondError as error:
            await respond(send, *fault(error))
            return
        status, answer = await self._answer(request, scope)
        await respond(send, status, answer)

    async def _answer(self, request: StatementRequest, scope: Scope) -> tuple[int, bytes]:
        run = Run((statement_id(),), int(time.time()))
        context = self._runner.context(request)
        try:
            answer = self._runner.pull(request, context)
        except Exception as error:  # noqa: BLE001 - the boundary: every error becomes an answer
            return 200, self._finish(run, Failed(internal(error), context))
        if answer is not None:
            return 200, self._finish(run, answer)
        working = asyncio.create_task(self._execute(run, request, context, scope))
        await asyncio.wait({working}, timeout=PATIENCE_SECONDS)
        if working.done():
            return 200, self._finish(*working.result())
        self._results.promise(run, working)
        return 202, unfinished(run)

    def _finish(self, run: Run, outcome: Outcome) -> bytes:
        self._results.keep(run, outcome)
        return written(run, outcome)

    async def _execute(
        self, run: Run, request: StatementRequest, context: SessionContext, scope: Scope
    ) -> tuple[Run, Outcome]:
        """Run the statements; never raises."""
        try:
            answers = await self._runner.run(request, context)
        except Exception as error:  # noqa: BLE001 - the boundary: every error becomes an answer
            return run, Failed(internal(error), context)
        last = answers[-1] if answers else Answer((), [], context)
        earlier = tuple(statement_id() for _ in answers[:-1])
        run = Run((*earlier, *run.ids), run.created_on)
        if isinstance(last, Answer):
            return run, last
        client = client_of(scope)
        offer = self._subscriptions.offer(run.ids[-1], request, last, client, len(answers))
        uri = client.stream_uri(*address_of(scope), f"/v2/print/{offer.id}")
        return run, Streaming(last.context, uri, offer.token)


class StatementStatus:
    """GET /v2/statements/{id}?partitionID=n, as a raw ASGI endpoint."""

    def __init__(self, results: Results) -> None:
        self._results = results

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("partitionID", ["0"])[0]
        try:
            if not asked.isdecimal():
                raise malformed(f"'partitionID' is '{asked}', not a number")
            answer = self._results.body(scope["path_params"]["id"], int(asked))
        except MillpondError as error:
            answer = fault(error)
        await respond(send, *answer)
