"""Latency of a count per url: from the producer's `send` to the row seen, beside Kafka Streams and Flink SQL.

python bench/latency.py [--seconds 120] [--rate 300] [--warmup 60] [--batch-seconds 0]
                        [--engines millpond,streams,...]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from harness.broker import broker_alone
from harness.command_line import engine_names, interruptible, plain
from harness.events import VISITS, url_of
from harness.folders import run_folder
from harness.latency_run import (
    SPAWN,
    Latency,
    Plan,
    measure,
    pull_observer,
    push_observer,
    topic_observer,
)
from harness.observers import Probes
from harness.peer_install import PeerUnavailableError
from harness.peers import LATENCY_PEERS, Job, Peer, chosen, running_peer
from harness.progress import progress
from harness.results import write_results
from harness.server import EmbeddedServer
from harness.statements import Statements
from harness.table import Cell, aim, ratio, table
from harness.topics import create_topic, topic_like
from harness.views import URL_VISITS, create_stream, create_view

PULL = "Millpond, pull query"
PUSH = "Millpond, push query"
CHANGELOG = "Millpond, changelog topic"

PROBES = frozenset(url_of(number) for number in range(10))
"""The urls that pull queries ask for, a tenth of all clicks: asking for all would be a load of its own."""

COLUMNS = ("ms from send to seen", "p50", "p90", "p99", "max", "rows", "not seen")

Lines = dict[str, Latency | str]
"""What was measured, by the line's name; a text says why it was not."""


def main() -> None:
    """Measure, print, write the figures."""
    options = arguments()
    with interruptible(), run_folder("latency") as folder:
        lines = measured(options, folder)
    print(report(lines, options))
    figures = {name: line if isinstance(line, str) else asdict(line) for name, line in lines.items()}
    write_results("latency", plain(options), figures)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="measured time of each engine")
    parser.add_argument("--rate", type=float, default=300, help="events a second")
    parser.add_argument(
        "--warmup", type=float, default=60, help="seconds at the same rate before, from the first output"
    )
    parser.add_argument(
        "--batch-seconds", type=int, default=0, help="length of our real-time batches; 0: as the server chooses"
    )
    names = ["millpond", *(peer.name for peer in LATENCY_PEERS)]
    parser.add_argument("--engines", type=engine_names(names), default=names, help=f"of {','.join(names)}")
    return parser.parse_args()


def measured(options: argparse.Namespace, folder: Path) -> Lines:
    """One engine after the other, on the same broker with the same data folder."""
    plan = Plan(options.rate, options.seconds, options.warmup)
    lines: Lines = {}
    server = EmbeddedServer(folder, {"MILLPOND_REALTIME_BATCH_SECONDS": str(options.batch_seconds)})
    if "millpond" in options.engines:
        lines |= of_millpond(server, plan)
    peers = chosen(LATENCY_PEERS, options.engines)
    if peers:
        with broker_alone(server.data_dir) as broker:
            for peer in peers:
                lines[peer.told] = of_peer(peer, broker.uris, plan, folder)
    return lines


def of_millpond(server: EmbeddedServer, plan: Plan) -> Lines:
    """The same rows seen in three ways at once."""
    progress("Millpond")
    with ExitStack() as stack:
        stack.callback(server.stop)
        server.start()
        create_topic(server.uris, "clicks")
        statements = Statements(server.port)
        create_stream(statements, "clicks")
        create_view(statements)
        statements.close()
        probes: Probes = SPAWN.Queue()
        observers = [
            pull_observer(PULL, server.port, PROBES, probes),
            push_observer(PUSH, server.port),
            topic_observer(CHANGELOG, server.uris, topic_like(server.uris, URL_VISITS.topic_prefix), VISITS),
        ]
        lines = measure(server.uris, "clicks", VISITS, plan, observers, server.check, probes)
        if any(isinstance(line, str) for line in lines.values()):
            progress(f"the server's last words: {server.last_words()}")
        return lines


def of_peer(peer: Peer, uris: str, plan: Plan, folder: Path) -> Latency | str:
    progress(peer.told)
    source = f"clicks-{peer.name}"
    job = Job("count", (source,))
    sink = job.sink(peer)
    create_topic(uris, source)
    create_topic(uris, sink)
    try:
        with running_peer(peer, job, uris, folder) as running:
            observer = topic_observer(peer.told, uris, sink, VISITS)
            return measure(uris, source, VISITS, plan, [observer], running.check)[peer.told]
    except PeerUnavailableError as e:
        return f"not measured: {e}"


def report(lines: Lines, options: argparse.Namespace) -> str:
    title = (
        f"Latency of a count per url, {options.rate:g} events/s for {options.seconds:g} s; "
        "every row charged with the first output that covers it"
    )
    parts = [table(title, COLUMNS, [row(name, line) for name, line in lines.items()]), *ratios(lines)]
    if isinstance(pull := lines.get(PULL), Latency):
        parts.append(aim("p50 of the pull query", pull.figures.p50, 10, at_most=True, unit="ms"))
        parts.append(aim("p99 of the pull query", pull.figures.p99, 50, at_most=True, unit="ms"))
    return "\n".join(parts)


def row(name: str, line: Latency | str) -> Sequence[Cell]:
    if isinstance(line, str):
        return (f"{name}: {line}", *([None] * (len(COLUMNS) - 1)))
    f = line.figures
    return (name, f.p50, f.p90, f.p99, f.max, f.count, line.missing)


def ratios(lines: Lines) -> list[str]:
    """Like for like: what a consumer of the output topic sees."""
    ours = lines.get(CHANGELOG)
    if not isinstance(ours, Latency):
        return []
    said = [
        ratio(f"{p} of the output topic, Millpond / {name}", getattr(ours.figures, p), getattr(line.figures, p))
        for name, line in lines.items()
        if isinstance(line, Latency) and not name.startswith("Millpond")
        for p in ("p50", "p99")
    ]
    return [line for line in said if line]


if __name__ == "__main__":
    main()
