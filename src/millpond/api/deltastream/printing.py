"""WebSocket /v2/print/{id}: the rows of a push query, as DeltaStream's clients read them.

The client sends `{"type":"auth","accessToken","sessionId","resume"?}`; it gets one metadata frame, then a
data frame a row, or an error frame. There is no message for the end: a stream that is over stays open until
the client goes, because closing it makes the Python client drop the rows it has not read yet.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import orjson
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from millpond.api.deltastream.clients import Client, client_of
from millpond.api.deltastream.encoding import RowEncoder
from millpond.api.deltastream.envelope import frame_column_json, shape
from millpond.api.deltastream.requests import malformed
from millpond.api.deltastream.subscriptions import Offer, Subscriptions
from millpond.api.live import Pump, Stopping, until
from millpond.errors import MillpondError, internal
from millpond.serve.answers import Change, Subscription

AUTH_SECONDS: Final = 10.0
"""How long a connection may stay silent before its first message."""

IDLE_SECONDS: Final = 3600.0
"""The WebSocket's own pings find dead clients; this only bounds one wait."""


class Print:
    """The WebSocket as a raw ASGI endpoint."""

    def __init__(self, subscriptions: Subscriptions, stopping: Stopping) -> None:
        self._subscriptions = subscriptions
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        await socket.accept()
        client = client_of(scope)
        try:
            offer, resume = await self._greet(socket)
            client = offer.client
            await until(_closed(socket), self._deliver(socket, offer, resume))
        except WebSocketDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - the boundary: every error becomes a frame
            await refuse(socket, client, internal(error))

    async def _greet(self, socket: WebSocket) -> tuple[Offer, str | None]:
        """Read the auth message. Raises MALFORMED_REQUEST and what `Subscriptions.find` raises."""
        try:
            async with asyncio.timeout(AUTH_SECONDS):
                message = await socket.receive()
        except TimeoutError:
            raise malformed(f"no auth message came within {AUTH_SECONDS:.0f} s") from None
        token, resume = _credentials(message)
        return self._subscriptions.find(socket.path_params["id"], token), resume

    async def _deliver(self, socket: WebSocket, offer: Offer, resume: str | None) -> None:
        subscription = await self._subscriptions.take(offer, resume)
        async with Pump(subscription, self._stopping) as pump:
            await _send(socket, metadata(subscription))
            encoder = shape(tuple(subscription.columns)).encoder
            while (changes := await pump.next(IDLE_SECONDS)) is not None:
                for change in changes:
                    if change.op != "snapshot_end":
                        await _send(socket, data_frame(change, encoder))
        await asyncio.get_running_loop().create_future()


async def refuse(socket: WebSocket, client: Client, error: MillpondError) -> None:
    """Send the error frame in the client's shape and close."""
    try:
        if client.python:
            await _send(socket, {"type": "metadata", "headers": {}, "columns": []})
        await _send(socket, client.error_frame(error))
        await socket.close(1011)
    except (WebSocketDisconnect, RuntimeError):
        return


def metadata(subscription: Subscription) -> dict[str, Any]:
    columns = [frame_column_json(c) for c in subscription.columns]
    return {"type": "metadata", "headers": {}, "columns": columns}


def data_frame(change: Change, encoder: RowEncoder) -> dict[str, Any]:
    """One change; a delete carries its key columns, the others null."""
    headers = {"op": change.op, "token": change.token}
    if change.ingested is not None:
        headers["ingested"] = str(change.ingested)
    return {"type": "data", "headers": headers, "data": encoder.row(change.row)}


def _credentials(message: Message) -> tuple[str, str | None]:
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    try:
        auth = orjson.loads(message.get("text") or message.get("bytes") or b"")
        token, resume = auth["accessToken"], auth.get("resume")
        if auth["type"] == "auth" and isinstance(token, str) and isinstance(resume, str | None):
            return token, resume or None
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError):
        pass
    raise malformed('the first message is not {"type": "auth", "accessToken": ...}')


async def _closed(socket: WebSocket) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _send(socket: WebSocket, frame: dict[str, Any]) -> None:
    await socket.send({"type": "websocket.send", "text": orjson.dumps(frame).decode("utf-8")})
