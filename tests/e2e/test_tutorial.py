"""README and tutorial do what they say: their `sql` blocks on a real server, compared with the `text` after each."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import pytest

from millpond.cli.connection import Connection
from millpond.cli.output import OutputFormat
from millpond.cli.script import run_script
from tests.e2e.server_process import ServerProcess
from tests.house.source import ROOT
from tests.waiting import eventually

BLOCKS = re.compile(r"^```sql\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
DEADLINE = 120.0
"""Seconds until a view shows what it must; the first query of a server has to warm up."""


def steps(page: str) -> Iterator[tuple[str, str | None]]:
    """Statements and what they print; None where the page does not show it."""
    for block in BLOCKS.finditer((ROOT / page).read_text("utf-8")):
        yield block[1], block[2]


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


def check(server: ServerProcess, sql: str, expected: str) -> None:
    """Run the block; one that only asks is asked again until its views have caught up."""
    if asks_only(sql):
        eventually(lambda: printed(server, sql), lambda found: matches(expected, found), DEADLINE, pause=0.2)
        return
    found = printed(server, sql)
    assert matches(expected, found), f"{sql}\nprinted\n{found}\ninstead of\n{expected}"


@pytest.mark.broker
@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_a_page_prints_what_it_says(own_server: ServerProcess, page: str) -> None:
    own_server.start()
    for sql, expected in steps(page):
        if expected is None:
            assert "error:" not in printed(own_server, sql)
        else:
            check(own_server, sql, expected)
