"""`millpond sql -e` and `-f`: run statements in order, stop at the first error."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TextIO

from millpond.cli.connection import Connection, StatementError
from millpond.cli.output import OutputFormat, write_result
from millpond.cli.splitting import split
from millpond.errors import MillpondError


def read_script(path: Path) -> str:
    """The text of a script; `-` is standard input. Raises FILE_NOT_READABLE."""
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text("utf-8")
    except UnicodeDecodeError:
        raise MillpondError("FILE_NOT_READABLE", path=path, reason="it is not UTF-8 text") from None
    except OSError as error:
        raise MillpondError("FILE_NOT_READABLE", path=path, reason=error.strerror or error) from None


def statements_of(text: str) -> list[str]:
    """All statements; the last one may lack its semicolon. Raises STATEMENT_NOT_ENDED."""
    found = split(text)
    if found.open_in:
        raise MillpondError("STATEMENT_NOT_ENDED", what=found.open_in)
    return [*found.statements, *([found.rest] if found.rest else [])]


def run_script(connection: Connection, text: str, output: OutputFormat, out: TextIO, err: TextIO) -> int:
    """Run all statements of `text`; the exit code. Ctrl-C ends a push query, or else the script."""
    for statement in statements_of(text):
        following = False
        try:
            with closing(connection.run(statement)) as results:
                for result in results:
                    following = result.live
                    write_result(result, output, out)
                    out.flush()
        except StatementError as error:
            out.flush()
            err.write(f"error: {error.message}\n")
            return 1
        except KeyboardInterrupt:
            if not following:
                return 130
    return 0
