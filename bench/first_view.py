"""The first view of a server that has just started, and the second, with and without the server's warm-up.

python bench/first_view.py [--events 1000] [--rounds 2]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median

from harness.catchup_run import CatchUp, view_catches_up
from harness.command_line import interruptible, plain
from harness.events import clicks_by_url, up_to_now
from harness.folders import run_folder
from harness.progress import progress
from harness.results import write_results
from harness.server import EmbeddedServer
from harness.statements import Statements
from harness.table import ratio, table
from harness.topics import create_topic, fill
from harness.views import URL_VISITS, create_stream

WARM, COLD = "with warm-up", "without"
VIEWS = [replace(URL_VISITS, name=name) for name in ("first_view", "second_view")]
WARMED_UP = "warmed up for"
"""What the server logs at the end of its warm-up."""
LIMIT_SECONDS = 60
"""The warm-up takes a quarter of a minute on two cores."""

Rounds = list[list[CatchUp]]
"""A line for each view, of each server that was started."""


def main() -> None:
    """Measure, print, write the figures."""
    options = arguments()
    figures: dict[str, Rounds] = {WARM: [], COLD: []}
    with interruptible():
        for _ in range(options.rounds):
            waited, views = warm(options.events)
            figures[WARM].append(views)
            figures[COLD].append(cold(options.events, waited))
    print(report(figures, options.events))
    written = {case: [[asdict(view) for view in views] for views in rounds] for case, rounds in figures.items()}
    write_results("first_view", plain(options), written)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000, help="events in the topic")
    parser.add_argument("--rounds", type=int, default=2, help="servers of each kind; the table has their median")
    return parser.parse_args()


def warm(events: int) -> tuple[float, list[CatchUp]]:
    """How long after it was ready the server had warmed itself up, and the views that it made then."""
    with run_folder("first-view") as folder, ExitStack() as stack:
        server = started(folder, stack, warm_up=True)
        waited = server.wait_to_say(WARMED_UP, LIMIT_SECONDS)
        return waited, views_of(server, events)


def cold(events: int, seconds: float) -> list[CatchUp]:
    """The views of a server without warm-up that was left alone for as long."""
    with run_folder("first-view") as folder, ExitStack() as stack:
        server = started(folder, stack, warm_up=False)
        time.sleep(seconds)
        return views_of(server, events)


def started(folder: Path, stack: ExitStack, *, warm_up: bool) -> EmbeddedServer:
    progress(WARM if warm_up else COLD)
    server = EmbeddedServer(folder, {"MILLPOND_WARM_UP": str(warm_up), "MILLPOND_LOG_LEVEL": "info"})
    stack.callback(server.stop)
    server.start()
    return server


def views_of(server: EmbeddedServer, events: int) -> list[CatchUp]:
    """Each from CREATE MATERIALIZED VIEW to the right counts, one after the other."""
    create_topic(server.uris, "clicks")
    expected = fill(server.uris, "clicks", clicks_by_url(up_to_now(events)))
    statements = Statements(server.port)
    create_stream(statements, "clicks")
    views = [view_catches_up(server, statements, view, expected) for view in VIEWS]
    statements.close()
    progress(", then ".join(f"{view.seconds:.2f} s" for view in views))
    return views


def middle(rounds: Rounds, figure: Callable[[CatchUp], float]) -> list[float]:
    """The median of a figure for each view."""
    return [median(figure(view) for view in same) for same in zip(*rounds, strict=True)]


def report(figures: dict[str, Rounds], events: int) -> str:
    seconds = {case: middle(rounds, lambda view: view.seconds) for case, rounds in figures.items()}
    cpu = {case: middle(rounds, lambda view: view.engine_cpu) for case, rounds in figures.items()}
    title = f"Views of a server that has just started, over {events:,} events; from CREATE to the right answer"
    columns = ("", "first view s", "second s", "CPU s of the first", "of the second")
    parts = [
        table(title, columns, [(case, *seconds[case], *cpu[case]) for case in figures]),
        ratio("first view, with warm-up / without", seconds[WARM][0], seconds[COLD][0]),
        ratio("second view, with warm-up / without", seconds[WARM][1], seconds[COLD][1]),
    ]
    return "\n".join(part for part in parts if part)


if __name__ == "__main__":
    main()
