"""The tutorial does what it says: its `sql` blocks on a real server, each compared with the `text` block after it."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator

import pytest

from millpond.cli.connection import Connection
from millpond.cli.output import OutputFormat
from millpond.cli.script import run_script
from tests.e2e.server_process import ServerProcess
from tests.house.source import ROOT

BLOCKS = re.compile(r"^```sql\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
DEADLINE = 120.0
"""Seconds until a view shows what it must; the first query of a server has to warm up."""


def steps() -> Iterator[tuple[str, str]]:
    for block in BLOCKS.finditer((ROOT / "docs" / "tutorial.md").read_text("utf-8")):
        yield block[1], block[2] or ""


def printed(server: ServerProcess, sql: str) -> str:
    out = io.StringIO()
    run_script(Connection(server.url, None), sql, OutputFormat.TABLE, out, out)
    return out.getvalue()


def matches(expected: str, found: str) -> bool:
    """Whether `found` is the expected text, in which `…` stands for anything within a line."""
    pattern = ".*".join(re.escape(part) for part in _stripped(expected).split("…"))
    return re.fullmatch(pattern, _stripped(found)) is not None


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def asks_only(sql: str) -> bool:
    return all(part.strip().upper().startswith("SELECT") for part in sql.split(";") if part.strip())


@pytest.mark.broker
def test_the_tutorial_prints_what_it_says(own_server: ServerProcess) -> None:
    own_server.start()
    for sql, expected in steps():
        deadline = time.monotonic() + DEADLINE
        found = printed(own_server, sql)
        while not matches(expected, found) and asks_only(sql) and time.monotonic() < deadline:
            time.sleep(0.2)
            found = printed(own_server, sql)
        assert matches(expected, found), f"{sql}\nprinted\n{found}\ninstead of\n{expected}"
