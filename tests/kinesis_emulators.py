"""Kinesis emulators for tests: `kinesis-local` from npm, which reshards as AWS does, and moto from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millpond.embedded.ports import free_port
from millpond.errors import MillpondError
from millpond.stores.kinesis import KinesisLog
from millpond.stores.kinesis_client import kinesis_settings

KINESIS_LOCAL = "0.6.2"
BUILD = Path(__file__).parent.parent / "build" / f"kinesis-local-{KINESIS_LOCAL}"
KEYS = {"kinesis.access_key_id": "test", "kinesis.secret_access_key": "test"}
START_SECONDS = 30.0
QUICK = {
    "CREATE_STREAM_DURATION": "10ms",
    "DELETE_STREAM_DURATION": "10ms",
    "SPLIT_SHARD_DURATION": "50ms",
    "MERGE_SHARDS_DURATION": "50ms",
    "UPDATE_SHARD_COUNT_DURATION": "50ms",
    "SHARD_LIMIT": "500",
    "LOG_LEVEL": "ERROR",
}


def store_properties(url: str) -> dict[str, str]:
    """The properties of a store on an emulator."""
    return {"uris": url, "access_region": "us-east-1", **KEYS}


def open_kinesis(url: str, timeout: float = 10.0) -> KinesisLog:
    return KinesisLog(kinesis_settings(store_properties(url)), timeout)


def kinesis_local_folder() -> Path:
    """Where `kinesis-local` is, fetched once into build/. Skips the test where node or the registry is missing."""
    found = BUILD / "node_modules" / "kinesis-local"
    if not shutil.which("node"):
        pytest.skip("NOT RUN: kinesis-local needs node, which is not here")
    if not found.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        wanted = ["npm", "install", "--prefix", str(BUILD), "--no-audit", "--no-fund", f"kinesis-local@{KINESIS_LOCAL}"]
        done = subprocess.run(wanted, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            pytest.skip(f"NOT RUN: npm could not fetch kinesis-local: {done.stderr.strip()[-200:]}")
    return found


@contextmanager
def kinesis_local(port: int = 0) -> Iterator[str]:
    """A started `kinesis-local`; its address."""
    folder, port = kinesis_local_folder(), port or free_port()
    ports = {"KINESIS_MOCK_PLAIN_PORT": str(port), "KINESIS_MOCK_TLS_PORT": str(free_port())}
    with started(["node", "main.js"], folder, {**QUICK, **ports}, port) as url:
        yield url


@contextmanager
def moto(port: int = 0) -> Iterator[str]:
    """A started moto server; its address."""
    port = port or free_port()
    with started([sys.executable, "-m", "moto.server", "-p", str(port)], Path.cwd(), {}, port) as url:
        yield url


@contextmanager
def started(command: list[str], folder: Path, env: Mapping[str, str], port: int) -> Iterator[str]:
    """A process that serves Kinesis at 127.0.0.1:`port`, ended at last."""
    out: Any = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, **env}, stdout=out, stderr=out)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_it_answers(url)
        yield url
    finally:
        process.kill()
        process.wait()


def wait_until_it_answers(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    log = open_kinesis(url, timeout=0.5)
    while True:
        try:
            log.topics()
            break
        except MillpondError:
            assert time.monotonic() < deadline, f"nothing answers at {url}"
            time.sleep(0.1)
    log.close()


def split(log: KinesisLog, stream: str) -> None:
    """The open shard that was made last, in the middle."""
    shard = next(s for s in reversed(log.shards(stream)) if not s.closed)
    told = log.client.describe_stream(StreamName=stream)["StreamDescription"]["Shards"]
    span = next(s["HashKeyRange"] for s in told if s["ShardId"] == shard.id)
    middle = (int(span["StartingHashKey"]) + int(span["EndingHashKey"])) // 2
    log.client.split_shard(StreamName=stream, ShardToSplit=shard.id, NewStartingHashKey=str(middle))
    log._until_active(stream)


def merge(log: KinesisLog, stream: str) -> None:
    """The first two open shards that lie side by side."""
    told = log.client.describe_stream(StreamName=stream)["StreamDescription"]["Shards"]
    open_ = [s for s in told if "EndingSequenceNumber" not in s["SequenceNumberRange"]]
    left, right = sorted(open_, key=lambda s: int(s["HashKeyRange"]["StartingHashKey"]))[:2]
    log.client.merge_shards(StreamName=stream, ShardToMerge=left["ShardId"], AdjacentShardToMerge=right["ShardId"])
    log._until_active(stream)


@pytest.fixture(scope="session")
def kinesis_url() -> Iterator[str]:
    """The address of one `kinesis-local` for all tests."""
    with kinesis_local() as url:
        yield url


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    """The address of one moto server for all tests."""
    with moto() as url:
        yield url
