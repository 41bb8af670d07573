"""A real server for the end-to-end tests: one for all that leave it alive, one each for those that kill it."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.server_process import ServerProcess

CLICKS = "event_time BIGINT, device_id VARCHAR, url VARCHAR, ip VARCHAR, userid VARCHAR"


@pytest.fixture(scope="session")
def server() -> Iterator[ServerProcess]:
    """A running embedded server that all tests share: make your own database in it."""
    with tempfile.TemporaryDirectory(prefix="millpond-e2e-", ignore_cleanup_errors=True) as folder:
        started = ServerProcess(Path(folder) / "data").start()
        try:
            yield started
        finally:
            started.stop()


@pytest.fixture
def own_server() -> Iterator[ServerProcess]:
    """An embedded server of the test's own, not started yet, with short real-time batches."""
    with tempfile.TemporaryDirectory(prefix="millpond-crash-", ignore_cleanup_errors=True) as folder:
        made = ServerProcess(Path(folder) / "data", environment={"MILLPOND_REALTIME_BATCH_SECONDS": "5"})
        try:
            yield made
        finally:
            made.stop()


@pytest.fixture
def database(server: ServerProcess) -> Iterator[str]:
    """A new database on the shared server; what runs in it is stopped afterwards: it would slow the next tests."""
    name = f"d{uuid.uuid4().hex[:8]}"
    server.sql(f"CREATE DATABASE {name}")
    yield name
    for relation in server.sql(f"LIST RELATIONS IN SCHEMA {name}.public"):
        rows = server.sql(f'DESCRIBE RELATION {name}.public."{relation[0]}"')
        written_by = [str(row[1]) for row in rows if row[0] == "written_by" and row[1]]
        for query in (q for listed in written_by for q in listed.split(", ")):
            server.sql(f"TERMINATE QUERY {query}")
