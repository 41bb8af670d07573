"""The few ASGI moves that the hot path needs without a Request object: headers, body, answer."""

from __future__ import annotations

from typing import Final

from starlette.types import Message, Receive, Scope, Send

from millpond.errors import MillpondError

BODY_LIMIT_MB: Final = 64
"""Bounds what one request may hold in memory; function and descriptor archives must still fit."""

JSON: Final = b"application/json"


class ClientGoneError(Exception):
    """The client closed the connection before its request was read: there is nobody to answer."""


def header(scope: Scope, name: bytes) -> bytes:
    """The value of the header `name` (lower case), or empty."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


async def read_body(receive: Receive) -> bytes:
    """The whole request body. Raises ClientGoneError, or MillpondError REQUEST_TOO_LARGE."""
    message = await receive()
    body = _chunk(message)
    if not message.get("more_body", False):
        return _bounded(body, len(body))
    chunks, size = [body], len(body)
    while message.get("more_body", False):
        message = await receive()
        chunks.append(_chunk(message))
        size += len(chunks[-1])
        _bounded(chunks[-1], size)
    return b"".join(chunks)


def _bounded(chunk: bytes, size: int) -> bytes:
    if size > BODY_LIMIT_MB * 1_000_000:
        raise MillpondError("REQUEST_TOO_LARGE", limit=BODY_LIMIT_MB)
    return chunk


def _chunk(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return bytes(message.get("body", b""))


async def respond(send: Send, status: int, body: bytes, content_type: bytes = JSON) -> None:
    """Send a complete answer."""
    headers = [(b"content-type", content_type), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
