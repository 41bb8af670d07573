"""Joins beside Kafka Streams and Flink SQL: latency while events come, and catching up with those that are there.

python bench/join.py [--joins enrich,regions,match] [--only latency|catchup] [--events 2000000] [--pairs 200000]
                     [--seconds 120] [--rate 300] [--warmup 60] [--engines millpond,streams,...]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.catchup_run import CatchUp
from harness.command_line import engine_names, interruptible, plain
from harness.folders import run_folder
from harness.join_run import MILLPOND, CatchUps, Latencies, State, catch_ups, latencies
from harness.join_work import JOINS, Join
from harness.latency_run import Latency, Plan
from harness.peers import CATCHUP_PEERS, LATENCY_PEERS, chosen
from harness.results import write_results
from harness.table import Cell, aim, ratio, table

LATENCY_COLUMNS = ("ms from send to the output topic", "p50", "p90", "p99", "max", "rows", "not seen")
CATCHUP_COLUMNS = (
    "thousand rows/s",
    "with start-up",
    "after 1st output",
    "seconds",
    "1st output s",
    "engine CPU s",
    "broker CPU s",
    "wrong rows",
)


def main() -> None:
    """Measure, print, write the figures."""
    options = arguments()
    with interruptible():
        figures = {
            f"{join.job}, {what}": measured(join, what, options)
            for join in JOINS
            if join.job in options.joins
            for what in ("latency", "catchup")
            if options.only in (None, what) and (what == "catchup" or join.live)
        }
    write_results("join", plain(options), figures)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    jobs = [join.job for join in JOINS]
    parser.add_argument("--joins", type=engine_names(jobs), default=jobs, help=f"of {','.join(jobs)}")
    parser.add_argument("--only", choices=("latency", "catchup"))
    parser.add_argument("--events", type=int, default=2_000_000, help="clicks to catch up with")
    parser.add_argument("--pairs", type=int, default=200_000, help="orders, each with its payment, to catch up with")
    parser.add_argument("--seconds", type=float, default=120, help="measured time of each engine's latency")
    parser.add_argument("--rate", type=float, default=300, help="events a second")
    parser.add_argument("--warmup", type=float, default=60, help="seconds at the same rate before")
    names = ["millpond", *dict.fromkeys(peer.name for peer in (*LATENCY_PEERS, *CATCHUP_PEERS))]
    usual = [name for name in names if name != "flink-rocksdb"]
    parser.add_argument("--engines", type=engine_names(names), default=usual, help=f"of {','.join(names)}")
    return parser.parse_args()


def measured(join: Join, what: str, options: argparse.Namespace) -> dict[str, Any]:
    """One table: printed, and its figures."""
    with run_folder(f"join-{what}") as folder:
        return _latency(join, options, folder) if what == "latency" else _catch_up(join, options, folder)


def _latency(join: Join, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    if join.live is None:
        return {}
    plan = Plan(options.rate, options.seconds, options.warmup)
    peers = chosen(LATENCY_PEERS, options.engines)
    lines = latencies(join, join.live, plan, peers, "millpond" in options.engines, folder)
    title = f"Latency, {join.told}, {options.rate:g} events/s for {options.seconds:g} s"
    print(table(title, LATENCY_COLUMNS, [latency_row(name, line) for name, line in lines.items()]))
    print("\n".join(latency_ratios(lines)), flush=True)
    return plain_lines(lines)


def _catch_up(join: Join, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    rows = options.pairs if join.live is None else options.events
    peers = chosen(CATCHUP_PEERS, options.engines)
    lines, state = catch_ups(join, rows, peers, "millpond" in options.engines, folder)
    title = f"Catch-up, {join.told}, {rows:,} that were there before"
    print(table(title, CATCHUP_COLUMNS, [catchup_row(name, line) for name, line in lines.items()]))
    print("\n".join([*catchup_ratios(lines), *told_state(state)]), flush=True)
    return {**plain_lines(lines), "state": asdict(state) if state else None}


def plain_lines(lines: Latencies | CatchUps) -> dict[str, Any]:
    """As they go into the results."""
    return {name: line if isinstance(line, str) else asdict(line) for name, line in lines.items()}


def latency_row(name: str, line: Latency | str) -> Sequence[Cell]:
    if isinstance(line, str):
        return (f"{name}: {line}", *([None] * (len(LATENCY_COLUMNS) - 1)))
    f = line.figures
    return (name, f.p50, f.p90, f.p99, f.max, f.count, line.missing)


def catchup_row(name: str, line: CatchUp | str) -> Sequence[Cell]:
    if isinstance(line, str):
        return (f"{name}: {line}", *([None] * (len(CATCHUP_COLUMNS) - 1)))
    after = line.rate_after_first / 1e3 if line.rate_after_first else None
    cpu = (round(line.engine_cpu, 1), round(line.broker_cpu, 1))
    return (name, line.rate / 1e3, after, line.seconds, line.first_output, *cpu, line.wrong)


def latency_ratios(lines: Latencies) -> list[str]:
    ours = lines.get(MILLPOND)
    if not isinstance(ours, Latency):
        return []
    said = [
        ratio(f"{p}, Millpond / {name}", getattr(ours.figures, p), getattr(line.figures, p))
        for name, line in lines.items()
        if isinstance(line, Latency) and name != MILLPOND
        for p in ("p50", "p99")
    ]
    aims = [("p50", ours.figures.p50, 10), ("p99", ours.figures.p99, 50)]
    said += [aim(p, figure, limit, at_most=True, unit="ms") for p, figure, limit in aims]
    return [line for line in said if line]


def catchup_ratios(lines: CatchUps) -> list[str]:
    ours = lines.get(MILLPOND)
    if not isinstance(ours, CatchUp):
        return []
    said: list[str | None] = []
    for name, line in lines.items():
        if name == MILLPOND or isinstance(line, str):
            continue
        said.append(ratio(f"rows/s with start-up, Millpond / {name}", ours.rate, line.rate))
        said.append(ratio(f"engine CPU s, Millpond / {name}", ours.engine_cpu, line.engine_cpu))
        if name.startswith("Flink"):
            said.append(aim(f"rows/s against {name}", ours.rate / line.rate, 1, at_most=False, unit="times"))
    return [line for line in said if line]


def told_state(state: State | None) -> list[str]:
    return [f"state of ours at the end of the catch-up: {state.rows:,} rows, {state.megabytes:.1f} MB"] if state else []


if __name__ == "__main__":
    main()
