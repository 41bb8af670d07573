"""The shell's pieces: when Enter runs, what commands do, what is completed, one session at a pipe of keys."""

from __future__ import annotations

import io
import stat
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from millpond.cli.completion import SqlCompleter, Vocabulary, written_name
from millpond.cli.connection import Connection
from millpond.cli.output import OutputFormat
from millpond.cli.repl import Shell, history, is_complete
from millpond.errors import MillpondError, Position
from millpond.types import BIGINT, VARCHAR
from tests.api.fake_engine import FakeEngine, FakeSubscription, columns, created, rows
from tests.waiting import eventually

VISITS = columns(url=VARCHAR, visits=BIGINT)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True),
        ("\\q", True),
        ("help", True),
        ("HELP;", True),
        ("exit", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT ';", False),
        ("a; b", False),
        ("a;\n-- done", True),
        ("helpful", False),
    ],
)
def test_enter_runs(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


class Screen:
    """A shell whose output can be read."""

    def __init__(self, connection: Connection) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.shell = Shell(connection, OutputFormat.TABLE, self.out, self.err)


@pytest.fixture
def screen(connection: Connection) -> Screen:
    return Screen(connection)


def test_statements_run_in_order_until_one_fails(screen: Screen, engine: FakeEngine) -> None:
    engine.answer("a;", created("a"))
    error = MillpondError("SYNTAX", problem="Expected FROM.", position=Position(1, 3, 4), sql="b bcde;")
    engine.fail("b bcde;", error)
    assert screen.shell.handle("a; b bcde; c;")
    assert screen.out.getvalue().startswith("Stream a was created")
    assert screen.err.getvalue() == str(error) + "\n"
    assert "  b bcde;\n    ^^^^" in screen.err.getvalue()
    assert [call.sql for call in engine.calls] == ["a;", "b bcde;"]


def test_a_result_is_a_table_with_its_time(screen: Screen, engine: FakeEngine) -> None:
    engine.answer("a;", rows(VISITS, ("./home", 42)))
    screen.shell.handle("a;")
    *_, row, count, time = screen.out.getvalue().splitlines()
    assert (row, count) == (" ./home |     42", "(1 row)")
    assert time.endswith(" ms")


def test_ctrl_c_ends_a_push_query_and_not_the_shell(screen: Screen, engine: FakeEngine) -> None:
    following = FakeSubscription(VISITS, [])

    def interrupt(text: str) -> int:
        if "---" in text:
            raise KeyboardInterrupt
        return len(text)

    engine.answer("a;", following)
    screen.out.write = interrupt  # type: ignore[method-assign]
    assert screen.shell.handle("a;")
    eventually(lambda: following.closed, True, deadline=5)


@pytest.mark.parametrize(("typed", "sql"), [("\\d", "LIST RELATIONS;"), ("\\d v", "DESCRIBE RELATION COLUMNS v;")])
def test_short_commands(screen: Screen, engine: FakeEngine, typed: str, sql: str) -> None:
    engine.answer(sql, rows(VISITS))
    screen.shell.handle(typed)
    assert engine.calls[0].sql == sql


def test_the_output_can_be_changed(screen: Screen, engine: FakeEngine) -> None:
    engine.answer("a;", rows(VISITS, ("x", 1)))
    screen.shell.handle("\\o json")
    screen.shell.handle("a;")
    assert screen.out.getvalue() == '{"url": "x", "visits": 1}\n'
    screen.shell.handle("\\o xml")
    assert "no command '\\o xml'" in screen.err.getvalue()


def test_help_and_quit(screen: Screen) -> None:
    assert screen.shell.handle("help;")
    assert "Ctrl-D" in screen.out.getvalue()
    assert not screen.shell.handle("\\q")
    assert not screen.shell.handle("EXIT;")


def test_a_lost_server_does_not_end_the_shell(screen: Screen) -> None:
    lost = Screen(Connection("http://host.invalid"))
    assert lost.shell.handle("a;")
    assert "[SERVER_UNREACHABLE]" in lost.err.getvalue()


def test_names_are_fetched_and_completed(connection: Connection, engine: FakeEngine) -> None:
    engine.answer("LIST RELATIONS;", rows(columns(Name=VARCHAR), ("url_visits",), ("Odd Name",)))
    described = rows(columns(Name=VARCHAR, Type=VARCHAR), ("url", "VARCHAR"), ("visits", "BIGINT"))
    engine.answer("DESCRIBE RELATION COLUMNS url_visits;", described)
    engine.answer('DESCRIBE RELATION COLUMNS "Odd Name";', rows(columns(Name=VARCHAR), ("Odd",)))
    vocabulary = Vocabulary(lambda: connection)
    vocabulary.refresh()
    eventually(lambda: vocabulary.columns, ('"Odd"', "url", "visits"), deadline=5)
    assert completions(vocabulary, "SELECT ur") == ["url_visits", "url"]
    assert completions(vocabulary, "SELECT odd") == ['"Odd Name"', '"Odd"']
    assert completions(vocabulary, "sel") == ["select"]
    assert completions(vocabulary, "EMIT CH") == ["CHANGELOG", "CHANGES"]
    assert completions(vocabulary, "SELECT ") == []


def completions(vocabulary: Vocabulary, text: str) -> list[str]:
    return [c.text for c in SqlCompleter(vocabulary).get_completions(Document(text), CompleteEvent())]


def test_only_statements_that_change_names_fetch_them_again(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocabulary, fetched = Vocabulary(lambda: connection), []
    monkeypatch.setattr(vocabulary, "refresh", lambda: fetched.append(1))
    for statement in ("SELECT 1;", "\n create stream x;", "DROP STREAM x;"):
        vocabulary.refresh_after(statement)
    assert len(fetched) == 2


@pytest.mark.parametrize(
    ("name", "written"),
    [("a", "a"), ("A", '"A"'), ('"db"."s"', '"db"."s"'), ("d.s.r", "d.s.r"), ('a"b', '"a""b"')],
)
def test_a_name_is_written_so_that_it_reads_back(name: str, written: str) -> None:
    assert written_name(name) == written


def test_a_session_at_the_keys(
    screen: Screen, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    engine.answer("SELECT\n1;", rows(VISITS, ("x", 1)))
    with create_pipe_input() as keys:
        keys.send_text("SELECT\r1;\r\x04")
        assert screen.shell.loop(keys, DummyOutput()) == 0
    assert "SELECT\n1;" in [call.sql for call in engine.calls]
    assert "(1 row)" in screen.out.getvalue()
    written = tmp_path / "millpond" / "history"
    assert "+SELECT" in written.read_text()
    assert stat.S_IMODE(written.stat().st_mode) == 0o600


def test_a_history_that_cannot_be_written_is_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "millpond").write_text("in the way")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert isinstance(history(), InMemoryHistory)
