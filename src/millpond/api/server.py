"""Running the application in this process: the socket, the signals, the ready line."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn

from millpond.api.app import MillpondApp
from millpond.errors import MillpondError

GRACE_SECONDS: Final = 5
"""How long open requests may go on after a stop: enough for a pull query, not for a hung client."""

_BACKLOG: Final = 1024


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one. Raises PORT_IN_USE, ADDRESS_NOT_AVAILABLE."""
    try:
        family = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise _unavailable(host, port, error) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            what = "the HTTP server"
            raise MillpondError("PORT_IN_USE", port=port, host=host, what=what, option="--port") from None
        raise _unavailable(host, port, error) from None
    return listening


def _unavailable(host: str, port: int, error: OSError) -> MillpondError:
    return MillpondError("ADDRESS_NOT_AVAILABLE", host=host, port=port, reason=error.strerror or str(error))


async def serve(
    app: MillpondApp,
    host: str,
    port: int,
    *,
    listening: socket.socket | None = None,
    announce: Callable[[str], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or `stop`, then end the open streams and return; no signal is raised again.

    `listening` is a socket from `listen`, for a caller that wants to know of a used port before it starts the
    rest. `announce` gets the server's address once it answers; by default the ready line goes to stdout.
    Raises PORT_IN_USE, ADDRESS_NOT_AVAILABLE.
    """
    bound = listening or listen(host, port)
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="websockets-sansio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _Server(config, app, url_of(bound, host), announce or _say_ready)
    stopping = asyncio.ensure_future(_stop_at(stop, server)) if stop else None
    try:
        await server.serve(sockets=[bound])
    finally:
        bound.close()
        if stopping:
            stopping.cancel()


def run(app: MillpondApp, host: str, port: int) -> None:
    """`serve` on a uvloop of its own."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(app, host, port))


async def _stop_at(stop: asyncio.Event, server: uvicorn.Server) -> None:
    await stop.wait()
    server.should_exit = True


def url_of(listening: socket.socket, host: str) -> str:
    """The address at which a browser on this machine finds the server."""
    port = listening.getsockname()[1]
    name = "127.0.0.1" if host in ("", "0.0.0.0", "::") else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _say_ready(url: str) -> None:
    sys.stdout.write(f"Millpond is ready at {url}\n")
    sys.stdout.flush()


class _Server(uvicorn.Server):
    """uvicorn's server, which tells when it is ready and gives signals back to the program that runs it."""

    def __init__(self, config: uvicorn.Config, app: MillpondApp, url: str, announce: Callable[[str], None]) -> None:
        super().__init__(config)
        self._app = app
        self._url = url
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._announce(self._url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.stopping.begin()
        await super().shutdown(sockets=sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, without raising the signals again: that would kill us before the clean-up."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
