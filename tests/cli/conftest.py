"""A real server on a scripted engine for the shell to talk to."""

from __future__ import annotations

import pytest

from millpond.cli.connection import Connection
from tests.api.conftest import RunningServer, app, engine, server

__all__ = ["app", "connection", "engine", "server"]


@pytest.fixture
def connection(server: RunningServer) -> Connection:
    return Connection(server.url)
