"""The command `millpond`. Heavy modules are imported where they are needed: `--help` is instant."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from millpond import __version__
from millpond.cli.output import OutputFormat
from millpond.dialects import check_dialect
from millpond.errors import MillpondError

if TYPE_CHECKING:
    from millpond.config import Settings

DEFAULT_SERVER = "http://127.0.0.1:8088"


class _Commands(TyperGroup):
    """Turns every error of a command into one line on stderr."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MillpondError as error:
            code = _complain(error)
        except BrokenPipeError:
            code = _hang_up()
        except KeyboardInterrupt:
            code = 130
        except Exception as error:  # the boundary: nobody should see a traceback
            if type(error).__module__.startswith(("typer", "click")):
                raise
            code = _complain(_crash(error))
        raise typer.Exit(code)


app = typer.Typer(
    cls=_Commands,
    name="millpond",
    help="Millpond: a streaming SQL database. Events come in, views stay current, programs ask the views.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point of the console script."""
    app()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"millpond {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Millpond: a streaming SQL database."""


DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Where everything is kept.", metavar="DIR")]
Port = Annotated[int | None, typer.Option("--port", help="Port of the HTTP server; 0 takes a free one.")]
Config = Annotated[Path | None, typer.Option("--config", help="Settings as a TOML file.", metavar="FILE")]
Embedded = Annotated[bool | None, typer.Option("--embedded", help="Run a Kafka broker of its own.")]
Host = Annotated[str | None, typer.Option("--host", help="Address to listen on.")]
KafkaPort = Annotated[int | None, typer.Option("--kafka-port", help="Port of the embedded broker; 0: a free one.")]

KinesisPort = Annotated[
    int | None, typer.Option("--kinesis-port", help="Port of the embedded Kinesis emulator; 0: a free one.")
]


@app.command()
def server(
    embedded: Embedded = None,
    data_dir: DataDir = None,
    host: Host = None,
    port: Port = None,
    kafka_port: KafkaPort = None,
    kinesis_port: KinesisPort = None,
    config: Config = None,
) -> None:
    """Run the server until Ctrl-C or SIGTERM."""
    ports = {"port": port, "kafka_port": kafka_port, "kinesis_port": kinesis_port}
    settings = _settings(config, embedded=embedded, data_dir=data_dir, host=host, **ports)
    from millpond.app import run_server

    raise typer.Exit(run_server(settings))


@app.command()
def sql(
    execute: Annotated[
        str | None, typer.Option("-e", "--execute", help="Run these statements and exit.", metavar="SQL")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("-f", "--file", help="Run a script and exit; - is standard input.", metavar="FILE"),
    ] = None,
    server: Annotated[
        str, typer.Option("--server", envvar="MILLPOND_SERVER", help="The server's address.", metavar="URL")
    ] = DEFAULT_SERVER,
    dialect: Annotated[
        str | None, typer.Option("--dialect", help="deltastream, the default.", metavar="DIALECT")
    ] = None,
    output: Annotated[
        OutputFormat, typer.Option("--output", "-o", help="json gives one object a line.")
    ] = OutputFormat.TABLE,
) -> None:
    """Ask a server in SQL: a shell, or -e, -f or a pipe. A script ends at its first error, exit code 1."""
    from millpond.cli.connection import Connection
    from millpond.cli.script import read_script, run_script

    if execute is not None and file is not None:
        raise typer.BadParameter("give -e or -f, not both")
    if dialect is not None:
        check_dialect(dialect)
    folders = (file.parent,) if file is not None else ()
    connection = Connection(server, dialect, folders=folders)
    if execute is None and file is None and not sys.stdin.isatty():
        file = Path("-")
    if execute is not None or file is not None:
        text = execute if execute is not None else read_script(file or Path("-"))
        raise typer.Exit(run_script(connection, text, output, sys.stdout, sys.stderr))
    typer.echo(f"Millpond {connection.version()} at {server}. Statements end with ';'. Type help, or \\q to quit.")
    from millpond.cli.repl import Shell

    raise typer.Exit(Shell(connection, output).loop())


@app.command()
def demo(
    rate: Annotated[float, typer.Option("--rate", min=0.1, help="Clicks a second.")] = 100,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=1, help="End after so long and print the views.")
    ] = None,
    port: Port = None,
    kafka_port: KafkaPort = None,
    kinesis_port: KinesisPort = None,
    data_dir: DataDir = None,
) -> None:
    """Run an embedded server with made-up clicks on a web site, and a page that shows them live."""
    ports = {"port": port, "kafka_port": kafka_port, "kinesis_port": kinesis_port}
    settings = _settings(None, embedded=True, data_dir=data_dir, **ports)
    from millpond.app import run_demo

    raise typer.Exit(run_demo(settings, rate, seconds))


@app.command()
def doctor(
    embedded: Embedded = None,
    data_dir: DataDir = None,
    host: Host = None,
    port: Port = None,
    kafka_port: KafkaPort = None,
    kinesis_port: KinesisPort = None,
    config: Config = None,
) -> None:
    """Say what this machine has, what it lacks and what to do. Exit code 1 if something needed is missing."""
    ports = {"port": port, "kafka_port": kafka_port, "kinesis_port": kinesis_port}
    settings = _settings(config, embedded=embedded, data_dir=data_dir, host=host, **ports)
    from millpond.cli.doctor import examine

    findings = examine(settings)
    for finding in findings:
        mark, colour = ("ok", "green") if finding.ok else ("MISSING", "red") if finding.needed else ("note", "yellow")
        typer.echo(typer.style(f"{mark:8}", fg=colour) + f"{finding.subject:15}{finding.detail}")
        if finding.remedy:
            typer.echo(f"{'':8}{'':15}-> {finding.remedy}")
    raise typer.Exit(1 if any(f.needed and not f.ok for f in findings) else 0)


def _settings(config: Path | None, **given: Any) -> Settings:
    """The settings. Raises FILE_NOT_READABLE, UNKNOWN_SETTING, SETTING_INVALID."""
    import tomllib

    from pydantic import ValidationError

    from millpond.cli.setting_errors import setting_error
    from millpond.config import load_settings

    try:
        if config is not None:
            tomllib.loads(config.read_text("utf-8"))
        return load_settings(config, **given)
    except OSError as error:
        raise MillpondError("FILE_NOT_READABLE", path=config, reason=error.strerror or error) from None
    except ValueError as error:
        if not isinstance(error, ValidationError):
            raise MillpondError("FILE_NOT_READABLE", path=config, reason=f"it is not TOML: {error}") from None
        raise setting_error(error) from None


def _complain(error: MillpondError) -> int:
    typer.echo(f"error: {' '.join(str(error).split())}", err=True)
    return 1


def _crash(error: Exception) -> MillpondError:
    """`error` as CRASHED, its traceback in a file."""
    import tempfile

    with tempfile.NamedTemporaryFile("w", prefix="millpond-", suffix=".log", delete=False) as log:
        traceback.print_exception(error, file=log)
    return MillpondError("CRASHED", reason=f"an unexpected {type(error).__name__}", path=log.name)


def _hang_up() -> int:
    """The reader of our output went, e.g. `head`: end quietly, so that no flush of stdout complains."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


if __name__ == "__main__":
    main()
