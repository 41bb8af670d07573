"""Restart with a lost view store: seconds until a view of 1,000,000 keys answers completely.

python bench/restart.py [--rows 1000000]
"""

from __future__ import annotations

import argparse
import shutil
import time
from contextlib import ExitStack
from pathlib import Path

from harness.command_line import interruptible, plain
from harness.events import page_of
from harness.filled_view import fill_view, wait_for_rows
from harness.folders import run_folder
from harness.progress import progress
from harness.results import write_results
from harness.server import EmbeddedServer
from harness.statements import Statements
from harness.table import aim, table
from harness.views import visits_of

AIM_SECONDS = 20
CASES = ("store kept", "store lost")


def main() -> None:
    """Measure, print, write the figures."""
    options = arguments()
    with interruptible(), run_folder("restart") as folder:
        figures = measured(folder, options.rows)
    title = f"Restart with {options.rows:,} keys in the view, seconds from the start of the process"
    rows = [(case, *figures[case]) for case in CASES]
    print(table(title, ("", "ready", "all rows answer"), rows))
    print(aim("lost store", figures["store lost"][1], AIM_SECONDS, at_most=True, unit="s"))
    write_results("restart", plain(options), figures)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    return parser.parse_args()


def measured(folder: Path, rows: int) -> dict[str, tuple[float, float]]:
    """(seconds until ready, until complete) by case; the first is there to compare with."""
    server = EmbeddedServer(folder)
    with ExitStack() as stack:
        stack.callback(server.stop)
        server.start()
        fill_view(server, rows)
        return {case: restarted(server, rows, lose=case == "store lost") for case in CASES}


def restarted(server: EmbeddedServer, rows: int, *, lose: bool) -> tuple[float, float]:
    """Stop, lose the view store if so wanted, start again."""
    server.stop()
    if lose:
        shutil.rmtree(server.data_dir / "views")
        progress("the view store is gone")
    began = time.monotonic()
    ready = server.start()
    statements = Statements(server.port)
    wait_for_rows(server, statements, rows)
    complete = time.monotonic() - began
    if statements.number(visits_of(page_of(rows - 1))) != 1:
        raise ValueError("the view has all rows but not the right ones")
    statements.close()
    progress(f"all rows answer after {complete:.1f} s")
    return ready, complete


if __name__ == "__main__":
    main()
