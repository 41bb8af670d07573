"""The command line: options, exit codes, one-line errors, one real process."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from millpond.cli import doctor
from millpond.cli.main import app
from millpond.config import Settings
from millpond.errors import MillpondError, Position
from millpond.serve.answers import Change
from millpond.types import BIGINT, VARCHAR
from tests.api.conftest import RunningServer
from tests.api.fake_engine import FakeEngine, FakeSubscription, columns, created, rows

VISITS = columns(url=VARCHAR, visits=BIGINT)


def millpond(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)


def test_the_version() -> None:
    assert millpond("--version").output == "millpond 0.1.0\n"


@pytest.mark.parametrize("command", ["server", "sql", "demo", "doctor"])
def test_each_command_has_help(command: str) -> None:
    assert command in millpond("--help").output
    shown = millpond(command, "--help")
    assert (shown.exit_code, "Usage:" in shown.output) == (0, True)


def test_sql_runs_its_statements_in_order(server: RunningServer, engine: FakeEngine) -> None:
    engine.answer("a;", created("a"))
    engine.answer("b", rows(VISITS, ("./home", 42)))
    done = millpond("sql", "--server", server.url, "-e", "a; b")
    assert done.exit_code == 0
    assert done.stdout.startswith("Stream a was created\n url ")


@pytest.mark.parametrize(("output", "text"), [("json", '{"url": "x", "visits": 1}\n'), ("csv", "url,visits\nx,1\n")])
def test_sql_writes_json_and_csv(server: RunningServer, engine: FakeEngine, output: str, text: str) -> None:
    engine.answer("a", rows(VISITS, ("x", 1)))
    assert millpond("sql", "--server", server.url, "--output", output, "-e", "a").stdout == text


def test_sql_stops_at_an_error_with_exit_code_1(server: RunningServer, engine: FakeEngine) -> None:
    error = MillpondError("SYNTAX", problem="Expected FROM.", position=Position(1, 3, 4), sql="b bcde;")
    engine.answer("a;", created("a"))
    engine.fail("b bcde;", error)
    done = millpond("sql", "--server", server.url, "-e", "a; b bcde; c;")
    assert done.exit_code == 1
    assert done.stderr == f"error: {error}\n"
    assert [call.sql for call in engine.calls] == ["a;", "b bcde;"]


def test_sql_reads_a_file_or_a_pipe(server: RunningServer, engine: FakeEngine, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text("-- ü\na;")
    engine.answer("-- ü\na;", created("a"))
    for arguments, stdin in ((("-f", script), None), (("-f", "-"), "-- ü\na;"), ((), "-- ü\na;")):
        done = millpond("sql", "--server", server.url, *arguments, stdin=stdin)
        assert (done.exit_code, done.stdout) == (0, "Stream a was created\n")


def test_sql_follows_a_push_query_to_its_end(server: RunningServer, engine: FakeEngine) -> None:
    engine.answer("a", FakeSubscription(VISITS, [Change("upsert", ("x", 1), "t")], ends=True))
    done = millpond("sql", "--server", server.url, "--output", "csv", "-e", "a")
    assert done.stdout == "op,url,visits\nupsert,x,1\n"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("sql", "-e", "a;", "--server", "http://127.0.0.1:1"), "SERVER_UNREACHABLE"),
        (("sql", "-e", "SELECT 'a"), "STATEMENT_NOT_ENDED"),
        (("sql", "-f", "/nowhere.sql"), "FILE_NOT_READABLE"),
        (("server", "--config", "/nowhere.toml"), "FILE_NOT_READABLE"),
        (("sql", "-e", "a", "--dialect", "ksql"), "UNSUPPORTED"),
    ],
)
def test_an_error_is_one_line_with_its_name(arguments: tuple[str, ...], name: str) -> None:
    done = millpond(*arguments)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"error: [{name}] ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [("-e", "a", "-f", "b"), ("--nonsense",)])
def test_wrong_options_are_exit_code_2(arguments: tuple[str, ...]) -> None:
    assert millpond("sql", *arguments).exit_code == 2


@pytest.mark.parametrize(
    ("toml", "name"),
    [
        (
            "port = 'high'",
            "[SETTING_INVALID] The setting 'port' cannot be 'high'. It takes a whole number from 0 to 65535.",
        ),
        ("pull_threads = 0", "The setting 'pull_threads' cannot be '0'. It takes a whole number from 1."),
        ("embedded = 'maybe'", "The setting 'embedded' cannot be 'maybe'. It takes true or false."),
        ("log_level = 'loud'", "cannot be 'loud'. It takes debug, info, warning or error."),
        ("prot = 1", "[UNKNOWN_SETTING] There is no setting 'prot'. Did you mean 'port'?"),
        ("=", "[FILE_NOT_READABLE]"),
    ],
)
def test_a_wrong_settings_file_names_the_setting(tmp_path: Path, toml: str, name: str) -> None:
    (tmp_path / "m.toml").write_text(toml)
    done = millpond("server", "--config", tmp_path / "m.toml")
    assert done.exit_code == 1
    assert name in done.stderr


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """Stands in for the server itself: what it would have been started with."""
    calls: list[tuple[object, ...]] = []

    def run(*arguments: object) -> int:
        calls.append(arguments)
        return 3

    module = types.ModuleType("millpond.app")
    module.run_server = module.run_demo = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "millpond.app", module)
    return calls


def test_server_starts_with_the_options_over_the_file(started: list[tuple[Settings]], tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("port = 1\nhost = '0.0.0.0'")
    done = millpond(
        "server",
        "--embedded",
        "--data-dir",
        tmp_path,
        "--port",
        0,
        "--kafka-port",
        2,
        "--config",
        tmp_path / "m.toml",
    )
    assert done.exit_code == 3
    ((settings,),) = started
    assert (settings.embedded, settings.data_dir, settings.port) == (True, tmp_path, 0)
    assert (settings.host, settings.kafka_port) == ("0.0.0.0", 2)


def test_demo_runs_embedded(started: list[tuple[Settings, float, float | None]]) -> None:
    ports = ("--port", 0, "--kafka-port", 3, "--kinesis-port", 4)
    assert millpond("demo", "--rate", 5, "--seconds", 60, *ports).exit_code == 3
    ((settings, rate, seconds),) = started
    assert (settings.embedded, settings.port, rate, seconds) == (True, 0, 5, 60)
    assert (settings.kafka_port, settings.kinesis_port) == (3, 4)


def test_an_unforeseen_error_is_one_line_and_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(settings: Settings) -> int:
        raise ValueError("deep inside")

    module = types.ModuleType("millpond.app")
    module.run_server = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "millpond.app", module)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    done = millpond("server")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "[CRASHED]" in done.stderr
    (log,) = tmp_path.iterdir()
    assert "deep inside" in log.read_text()


@pytest.mark.parametrize(
    ("ok", "needed", "code", "mark"),
    [(True, True, 0, "ok"), (False, True, 1, "MISSING"), (False, False, 0, "note")],
)
def test_doctor_fails_only_for_what_is_needed(
    ok: bool, needed: bool, code: int, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = doctor.Finding("Thing", ok, "detail", "" if ok else "do this", needed)
    monkeypatch.setattr(doctor, "CHECKS", (lambda settings: finding,))
    done = millpond("doctor")
    assert done.exit_code == code
    assert done.stdout.split()[:3] == [mark, "Thing", "detail"]
    assert ("-> do this" in done.stdout) is not ok


def test_a_real_process_answers_and_hangs_up_quietly(server: RunningServer, engine: FakeEngine) -> None:
    engine.answer("a", rows(VISITS, *[("x" * 100, n) for n in range(5_000)]))
    command = [
        sys.executable,
        "-m",
        "millpond.cli.main",
        "sql",
        "--server",
        server.url,
        "--output",
        "json",
        "-e",
        "a",
    ]
    whole = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(whole.stdout.splitlines()[-1])["visits"] == 4_999
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 141


def test_starting_to_ask_imports_nothing_heavy() -> None:
    code = (
        "import sys; from millpond.cli.main import app; import millpond.cli.script, millpond.cli.connection; "
        "print(sorted({'pyspark', 'starlette', 'prompt_toolkit', 'pydantic_settings', 'httpx', 'sqlglot'}"
        " & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout == "[]\n"
