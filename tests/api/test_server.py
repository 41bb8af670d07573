"""The real server: its port, its ready line, its signals."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest

from millpond.api.app import MillpondApp
from millpond.api.server import listen, serve, url_of
from millpond.errors import MillpondError
from tests.api.conftest import RunningServer
from tests.api.fake_engine import FakeEngine
from tests.waiting import eventually

PROGRAM = """
from millpond.api.app import create_app
from millpond.api.server import run
from millpond.config import load_settings
from tests.api.fake_engine import FakeEngine

run(create_app(FakeEngine(), load_settings(), lambda: []), "127.0.0.1", 0)
print("cleaned up", flush=True)
"""


def test_a_used_port_is_named_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(MillpondError) as raised:
            listen("127.0.0.1", port)
    assert raised.value.name == "PORT_IN_USE"
    assert str(port) in raised.value.sentence
    assert "--port" in raised.value.hint


@pytest.mark.parametrize("host", ["192.0.2.1", "host.invalid"])
def test_an_address_that_is_not_ours_is_named(host: str) -> None:
    with pytest.raises(MillpondError) as raised:
        listen(host, 0)
    assert raised.value.name == "ADDRESS_NOT_AVAILABLE"


@pytest.mark.parametrize(("host", "shown"), [("0.0.0.0", "127.0.0.1"), ("", "127.0.0.1"), ("localhost", "localhost")])
def test_the_url_can_be_opened_on_this_machine(host: str, shown: str) -> None:
    with listen(host, 0) as listening:
        assert url_of(listening, host) == f"http://{shown}:{listening.getsockname()[1]}"


async def test_a_used_port_is_refused_before_anything_starts(app: MillpondApp) -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(MillpondError) as raised:
        await serve(app, "127.0.0.1", taken.getsockname()[1])
    assert raised.value.name == "PORT_IN_USE"


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_says_that_it_is_ready_and_returns_after_a_signal(stop: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        ready = re.fullmatch(r"Millpond is ready at (http://127.0.0.1:\d+)\n", process.stdout.readline())
        assert ready
        with urllib.request.urlopen(f"{ready[1]}/healthz", timeout=10) as answer:
            assert answer.status == 200
        process.send_signal(stop)
        assert process.stdout.read() == "cleaned up\n"
        assert process.wait(20) == 0
        assert process.stderr.read() == ""


def test_a_request_under_way_is_finished_before_the_end(server: RunningServer, engine: FakeEngine) -> None:
    engine.slow["x"] = asyncio.Event()
    request = urllib.request.Request(
        f"{server.url}/v2/statements", b'{"statement": "x"}', {"content-type": "application/json"}
    )
    statuses: list[int] = []

    def ask() -> None:
        with urllib.request.urlopen(request, timeout=20) as answer:
            statuses.append(answer.status)

    asking = threading.Thread(target=ask)
    asking.start()
    eventually(lambda: len(engine.calls), 1)
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    server.call_soon(engine.slow["x"].set)
    asking.join(20)
    stopping.join(20)
    assert statuses == [200]
