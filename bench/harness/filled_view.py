"""A server whose view has as many rows as wanted: what pull and restart are measured on."""

from __future__ import annotations

import time

from harness.events import one_click_a_page
from harness.progress import progress
from harness.server import EmbeddedServer
from harness.statements import Statements
from harness.topics import create_topic, fill
from harness.views import ROWS, create_stream, create_view

LIMIT_SECONDS = 900

LOOK_SECONDS = 0.2
"""Counting a million rows takes tens of milliseconds: looking more often would slow what is looked at."""


def fill_view(server: EmbeddedServer, rows: int) -> None:
    """Create the stream and the view, from one click on each of `rows` pages; wait until all are in it."""
    create_topic(server.uris, "clicks")
    fill(server.uris, "clicks", one_click_a_page(rows))
    statements = Statements(server.port)
    create_stream(statements, "clicks")
    create_view(statements)
    took = wait_for_rows(server, statements, rows)
    progress(f"{rows:,} rows are in the view after {took:.1f} s")
    statements.close()


def wait_for_rows(server: EmbeddedServer, statements: Statements, rows: int) -> float:
    """The seconds until the view answers with all its `rows`. Raises TimeoutError, NotReadyError."""
    began = time.monotonic()
    while (held := held_rows(statements)) != rows:
        server.check()
        if time.monotonic() - began > LIMIT_SECONDS:
            raise TimeoutError(f"{held:,} of {rows:,} rows after {LIMIT_SECONDS} s")
        time.sleep(LOOK_SECONDS)
    return time.monotonic() - began


def held_rows(statements: Statements) -> int:
    """The view's rows if it says that these are all, else 0."""
    answer = statements.if_ready(ROWS)
    return int(answer.rows[0][0] or 0) if answer and not answer.message else 0
