"""Load for pull queries, from a process of its own: wrk where it is installed, else a client in Python.

Both are closed loops: each of the connections asks again as soon as it has its answer. So the load is bounded
by their number, and the latencies are those at full throughput.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from harness.events import page_of
from harness.percentiles import percentiles
from harness.processes import pin
from harness.views import visits_of

SCRIPT = Path(__file__).with_name("pull.lua")
WRK, PYTHON = "wrk", "Python client"

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Load:
    """`connections` ask for random ones of `keys` rows for `seconds`, from the given cores."""

    port: int
    keys: int
    connections: int
    seconds: float
    cores: frozenset[int]


@dataclass(frozen=True, slots=True)
class Answered:
    """Latencies in ms. `bad` requests failed or got no row."""

    generator: str
    requests: int
    seconds: float
    p50: float
    p90: float
    p99: float
    max: float
    bad: int

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


def run_load(load: Load) -> Answered:
    """Put the load on and see what was answered."""
    return _by_wrk(load) if shutil.which("wrk") else _by_python(load)


def _by_wrk(load: Load) -> Answered:
    bounds = ["-t1", f"-c{load.connections}", f"-d{load.seconds:.0f}s"]
    with subprocess.Popen(
        ["wrk", *bounds, "-s", SCRIPT, f"http://127.0.0.1:{load.port}", "--", str(load.keys), "7"],
        stdout=subprocess.PIPE,
        text=True,
    ) as wrk:
        pin([wrk.pid], set(load.cores))
        output = wrk.communicate(timeout=load.seconds + 60)[0]
    line = next(line for line in output.splitlines() if line.startswith("FIGURES "))
    return Answered(WRK, **json.loads(line.removeprefix("FIGURES ")))


def _by_python(load: Load) -> Answered:
    spawn = get_context("spawn")
    received, theirs = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_client, args=(load, theirs), daemon=True)
    process.start()
    pin([process.pid or 0], set(load.cores))
    try:
        if not received.poll(load.seconds + 60):
            raise TimeoutError("the load generator gave no result")
        answered: Answered = received.recv()
        return answered
    finally:
        process.terminate()
        process.join()


def _client(load: Load, result: Connection) -> None:
    """The process of the Python client."""
    result.send(asyncio.run(_all_connections(load)))


async def _all_connections(load: Load) -> Answered:
    began = time.perf_counter()
    asking = [_one_connection(load, began + load.seconds, seed) for seed in range(load.connections)]
    parts = await asyncio.gather(*asking)
    took = time.perf_counter() - began
    latencies = [latency for part, _ in parts for latency in part]
    p = percentiles(latencies)
    return Answered(PYTHON, p.count, took, p.p50, p.p90, p.p99, p.max, sum(bad for _, bad in parts))


async def _one_connection(load: Load, until: float, seed: int) -> tuple[list[float], int]:
    """(latencies in ms, bad answers) of one keep-alive connection."""
    chance, latencies, bad = random.Random(seed), list[float](), 0
    reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
    while (asked := time.perf_counter()) < until:
        writer.write(_request(load.port, page_of(int(chance.random() * load.keys))))
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        body = await reader.readexactly(int(length.group(1)) if length else 0)
        latencies.append((time.perf_counter() - asked) * 1000)
        bad += not (b" 200 " in head[:16] and b'"sqlState":"00000"' in body and b'"data":[[' in body)
    writer.close()
    return latencies, bad


def _request(port: int, url: str) -> bytes:
    body = json.dumps({"statement": visits_of(url)})
    head = f"POST /v2/statements HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
