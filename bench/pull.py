"""Pull queries by key over HTTP, with 1,000,000 rows in the view: requests/s and latency on one core.

python bench/pull.py [--rows 1000000] [--seconds 20] [--connections 16]
"""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.command_line import interruptible, plain
from harness.filled_view import fill_view
from harness.folders import run_folder
from harness.load import Answered, Load, run_load
from harness.processes import pin
from harness.progress import progress
from harness.results import write_results
from harness.server import EmbeddedServer
from harness.table import Cell, aim, table

AIM_RATE = 5_000
AIM_P99 = 5

COLUMNS = (
    "connections",
    "requests/s",
    "p50 ms",
    "p90 ms",
    "p99 ms",
    "max ms",
    "bad",
    "CPU us/request",
    "CPU s of the rest",
)


@dataclass(frozen=True, slots=True)
class Line:
    """What was answered, and CPU seconds meanwhile: of the process that answers, and of the server's others.

    On a machine that others use too, CPU time for each request says more than requests for each second.
    """

    answered: Answered
    cpu: float
    cpu_of_rest: float


def main() -> None:
    """Measure, print, write the figures."""
    options = arguments()
    with interruptible(), run_folder("pull") as folder:
        lines = measured(options, folder)
    print(report(lines, options.rows))
    write_results("pull", plain(options), {f"{n} connections": asdict(line) for n, line in lines.items()})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement")
    parser.add_argument("--connections", type=int, default=16, help="that ask at the same time; 1 is measured too")
    parser.add_argument("--warmup", type=float, default=5, help="seconds of the same load before")
    return parser.parse_args()


def measured(options: argparse.Namespace, folder: Path) -> dict[int, Line]:
    """By number of connections. All processes of the server share one core, the load has the others."""
    mine, *others = sorted(os.sched_getaffinity(0))
    server = EmbeddedServer(folder)
    with ExitStack() as stack:
        stack.callback(server.stop)
        server.start()
        fill_view(server, options.rows)
        pin(server.processes(), {mine})
        cores = frozenset(others or [mine])
        run_load(Load(server.port, options.rows, options.connections, options.warmup, cores))
        return {n: asked(server, options, n, cores) for n in dict.fromkeys((1, options.connections))}


def asked(server: EmbeddedServer, options: argparse.Namespace, connections: int, cores: frozenset[int]) -> Line:
    progress(f"{connections} connections for {options.seconds:g} s")
    cpu, rest = server.answering_cpu(), server.engine_cpu() + server.broker_cpu()
    answered = run_load(Load(server.port, options.rows, connections, options.seconds, cores))
    cpu = server.answering_cpu() - cpu
    return Line(answered, cpu, server.engine_cpu() + server.broker_cpu() - rest - cpu)


def report(lines: dict[int, Line], rows: int) -> str:
    most = lines[max(lines)].answered
    title = (
        f"Pull by key over HTTP, {rows:,} rows in the view; the server's processes on one core, "
        f"load by {most.generator} from another"
    )
    cells: list[tuple[Cell, ...]] = [
        (str(n), round(a.rate), a.p50, a.p90, a.p99, a.max, a.bad, round(line.cpu / a.requests * 1e6), line.cpu_of_rest)
        for n, line in lines.items()
        for a in [line.answered]
    ]
    aims = [
        aim("requests/s", most.rate, AIM_RATE, at_most=False, unit="requests/s"),
        aim("p99", most.p99, AIM_P99, at_most=True, unit="ms"),
    ]
    return "\n".join([table(title, COLUMNS, cells), *aims])


if __name__ == "__main__":
    main()
