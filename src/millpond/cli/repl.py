"""`millpond sql`: the interactive shell."""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Final, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output
from pygments.lexers.sql import SqlLexer

from millpond.cli.completion import SqlCompleter, Vocabulary
from millpond.cli.connection import Connection, Result, StatementError
from millpond.cli.output import OutputFormat, write_result
from millpond.cli.splitting import split
from millpond.errors import MillpondError

PROMPT: Final = "millpond> "
CONTINUATION: Final = "       -> "

HELP: Final = """\
A statement ends with a semicolon and may have several lines. Ctrl-C ends a push query.
  \\d            relations                 \\d NAME       columns of one
  \\o FORMAT     table, json or csv        \\q            quit (or Ctrl-D)
  help          this
Examples:
  LIST RELATIONS;
  SELECT * FROM url_visits ORDER BY visits DESC LIMIT 10;
  SELECT * FROM url_visits EMIT CHANGES;
"""

_QUIT: Final = frozenset({"\\q", "quit", "exit"})
_HELP: Final = frozenset({"help", "\\?", "\\h"})


def state_dir() -> Path:
    """Where the shell keeps its history: XDG's state folder."""
    given = os.environ.get("XDG_STATE_HOME")
    return (Path(given) if given else Path.home() / ".local" / "state") / "millpond"


def history() -> History:
    """The history file, for its owner only: statements may hold passwords. In memory if that fails."""
    path = state_dir() / "history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def is_complete(text: str) -> bool:
    """Whether Enter runs `text`: a shell command, or nothing after the last semicolon."""
    plain = text.strip()
    if not plain or plain.startswith("\\") or plain.rstrip(";").lower() in _QUIT | _HELP:
        return True
    found = split(plain)
    return found.complete and bool(found.statements)


def key_bindings() -> KeyBindings:
    """Enter runs a complete text and else begins a new line; Alt-Enter always begins one."""
    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @bindings.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings


class Shell:
    """Reads statements and shell commands, runs them on `connection`."""

    def __init__(
        self,
        connection: Connection,
        output: OutputFormat,
        out: TextIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self._connection = connection
        self._output = output
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self.vocabulary = Vocabulary(
            lambda: Connection(connection.url, connection.dialect, context={**connection.context})
        )

    def loop(self, keys: Input | None = None, screen: Output | None = None) -> int:
        """Until \\q or Ctrl-D; the exit code."""
        session: PromptSession[str] = PromptSession(
            PROMPT,
            multiline=True,
            history=history(),
            lexer=PygmentsLexer(SqlLexer),
            completer=SqlCompleter(self.vocabulary),
            complete_while_typing=True,
            auto_suggest=AutoSuggestFromHistory(),
            key_bindings=key_bindings(),
            prompt_continuation=lambda *_: FormattedText([("class:continuation", CONTINUATION)]),
            input=keys,
            output=screen,
        )
        self.vocabulary.refresh()
        while True:
            try:
                text = session.prompt()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return 0
            if not self.handle(text):
                return 0

    def handle(self, text: str) -> bool:
        """Run what was typed; False to quit."""
        plain = text.strip().rstrip(";").strip()
        if plain.lower() in _QUIT:
            return False
        if plain.lower() in _HELP:
            self._out.write(HELP)
        elif plain.startswith("\\"):
            self._command(*plain.split(maxsplit=1))
        else:
            for statement in split(text).statements:
                if not self._run(statement):
                    break
        self._out.flush()
        return True

    def _command(self, name: str, argument: str = "") -> None:
        if name == "\\d":
            self._run(f"DESCRIBE RELATION COLUMNS {argument};" if argument else "LIST RELATIONS;")
        elif name == "\\o" and argument in list(OutputFormat):
            self._output = OutputFormat(argument)
        else:
            self._err.write(f"There is no command '{name} {argument}'".rstrip() + ". Type help.\n")

    def _run(self, statement: str) -> bool:
        """Run one statement and show what comes; whether the next one may run."""
        started = time.monotonic()
        try:
            with closing(self._connection.run(statement)) as results:
                for result in results:
                    self._show(result, started)
        except StatementError as error:
            self._complain(error.message)
            return False
        except MillpondError as error:
            self._complain(str(error))
            return False
        except KeyboardInterrupt:
            self._out.write("\n")
            return False
        self.vocabulary.refresh_after(statement)
        return True

    def _show(self, result: Result, started: float) -> None:
        if result.live and self._output is OutputFormat.TABLE:
            self._out.write("Following; Ctrl-C ends it. + added, ~ changed, - removed.\n")
        write_result(result, self._output, self._out)
        if not result.live and self._output is OutputFormat.TABLE:
            self._out.write(f"{(time.monotonic() - started) * 1000:.0f} ms\n")

    def _complain(self, message: str) -> None:
        self._out.flush()
        red, plain = ("\x1b[31m", "\x1b[0m") if self._err.isatty() else ("", "")
        self._err.write(f"{red}{message}{plain}\n")
        self._err.flush()
