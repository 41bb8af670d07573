"""Joins beside Kafka Streams and Flink SQL: latency while events come, and catching up with those that are there.

python bench/join.py [--joins enrich,regions,match] [--only latency|catchup] [--events 2000000] [--pairs 200000]
                     [--seconds 120] [--rate 300] [--warmup 60] [--engines millpond,streams,...]
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.catchup_lines import catchup_table, comparisons
from harness.command_line import engine_names, interruptible, plain
from harness.folders import run_folder
from harness.join_run import State, catch_ups, latencies
from harness.join_work import JOINS, Join
from harness.latency_lines import latency_aims, latency_ratios, latency_table
from harness.latency_run import Latency, Plan
from harness.lines import MILLPOND, plain_lines
from harness.peers import CATCHUP_PEERS, LATENCY_PEERS, chosen
from harness.results import write_results


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
    print(latency_table(title, "the output topic", lines))
    if isinstance(ours := lines.get(MILLPOND), Latency):
        print("\n".join([*latency_ratios(ours, lines), *latency_aims(ours)]), flush=True)
    return plain_lines(lines)


def _catch_up(join: Join, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    rows = options.pairs if join.live is None else options.events
    peers = chosen(CATCHUP_PEERS, options.engines)
    lines, state = catch_ups(join, rows, peers, "millpond" in options.engines, folder)
    title = f"Catch-up, {join.told}, {rows:,} that were there before"
    print(catchup_table(title, lines))
    print("\n".join([*comparisons(lines, wanted_rate), *told_state(state)]), flush=True)
    return {**plain_lines(lines), "state": asdict(state) if state else None}


def wanted_rate(peer: str) -> float | None:
    """Our rows/s by a peer's, at least."""
    return 1 if peer.startswith("Flink") else None


def told_state(state: State | None) -> list[str]:
    return [f"state of ours at the end of the catch-up: {state.rows:,} rows, {state.megabytes:.1f} MB"] if state else []


if __name__ == "__main__":
    main()
