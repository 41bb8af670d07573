"""Memory of the idle embedded server, all its processes.

python bench/memory.py [--settle 30]
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.command_line import interruptible, plain
from harness.events import clicks_by_url, up_to_now
from harness.folders import run_folder
from harness.processes import proportional_memory, resident_memory
from harness.progress import progress
from harness.results import write_results
from harness.server import EmbeddedServer
from harness.statements import Statements
from harness.table import Cell, aim, table
from harness.topics import create_topic, fill
from harness.views import URL_VISITS, create_stream, create_view

AIM_MB = 1500
IDLE, ONE_VIEW = "idle", "idle with one view"
FEW_EVENTS = 1_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Megabytes (10^6 bytes) of one process; pages that n processes share count as an nth in `pss`."""

    process: str
    pss: float
    rss: float


def main() -> None:
    """Measure, print, write the figures."""
    options = arguments()
    with interruptible(), run_folder("memory") as folder:
        states = measured(folder, options.settle)
    for state, usage in states.items():
        rows: list[tuple[Cell, ...]] = [(u.process, round(u.pss), round(u.rss)) for u in usage]
        rows.append(("together", round(total(usage)), round(sum(u.rss for u in usage))))
        print(table(f"Memory of the embedded server, {state}", ("MB", "PSS", "RSS"), rows))
    print(aim("idle, PSS of all processes", total(states[IDLE]), AIM_MB, at_most=True, unit="MB"))
    write_results("memory", plain(options), {s: [asdict(u) for u in usage] for s, usage in states.items()})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settle", type=float, default=30, help="seconds before each look")
    return parser.parse_args()


def measured(folder: Path, settle: float) -> dict[str, list[Usage]]:
    """With nothing in it, and with one view that has seen a few events and gets no more."""
    server = EmbeddedServer(folder)
    with ExitStack() as stack:
        stack.callback(server.stop)
        server.start()
        time.sleep(settle)
        idle = usage_of(server)
        one_view(server)
        time.sleep(settle)
        return {IDLE: idle, ONE_VIEW: usage_of(server)}


def one_view(server: EmbeddedServer) -> None:
    create_topic(server.uris, "clicks")
    fill(server.uris, "clicks", clicks_by_url(up_to_now(FEW_EVENTS)))
    statements = Statements(server.port)
    create_stream(statements, "clicks")
    create_view(statements)
    while statements.number(URL_VISITS.total) < FEW_EVENTS:
        server.check()
        time.sleep(0.2)
    statements.close()
    progress("the view has its events")


def usage_of(server: EmbeddedServer) -> list[Usage]:
    """The largest first."""
    found = [
        Usage(role, proportional_memory(pid) / 1e6, resident_memory(pid) / 1e6)
        for pid, role in server.processes().items()
    ]
    return sorted(found, key=lambda usage: -usage.pss)


def total(usage: list[Usage]) -> float:
    return sum(u.pss for u in usage)


if __name__ == "__main__":
    main()
