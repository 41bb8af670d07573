"""Latency of a count per url: from the producer's `send` to the row seen, beside Kafka Streams and Flink SQL.

python bench/latency.py [--seconds 120] [--rate 300] [--warmup 60] [--batch-seconds 0]
                        [--engines millpond,streams,...]
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from harness.broker import broker_alone
from harness.command_line import engine_names, interruptible, plain
from harness.events import VISITS, url_of
from harness.folders import run_folder
from harness.latency_lines import Latencies, latency_aims, latency_ratios, latency_table
from harness.latency_run import (
    SPAWN,
    Latency,
    Plan,
    measure,
    peer_latency,
    pull_observer,
    push_observer,
    topic_observer,
)
from harness.lines import plain_lines
from harness.observers import Probes
from harness.peers import LATENCY_PEERS, Job, chosen
from harness.progress import progress
from harness.results import write_results
from harness.server import EmbeddedServer
from harness.statements import Statements
from harness.topics import create_topic, topic_like
from harness.views import URL_VISITS, create_stream, create_view

PULL = "Millpond, pull query"
PUSH = "Millpond, push query"
CHANGELOG = "Millpond, changelog topic"

PROBES = frozenset(url_of(number) for number in range(10))
"""The urls that pull queries ask for, a tenth of all clicks: asking for all would be a load of its own."""


def main() -> None:
    """Measure, print, write the figures."""
    options = arguments()
    with interruptible(), run_folder("latency") as folder:
        lines = measured(options, folder)
    print(report(lines, options))
    write_results("latency", plain(options), plain_lines(lines))


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


def measured(options: argparse.Namespace, folder: Path) -> Latencies:
    """One engine after the other, on the same broker with the same data folder."""
    plan = Plan(options.rate, options.seconds, options.warmup)
    lines: Latencies = {}
    server = EmbeddedServer(folder, {"MILLPOND_REALTIME_BATCH_SECONDS": str(options.batch_seconds)})
    if "millpond" in options.engines:
        lines |= of_millpond(server, plan)
    peers = chosen(LATENCY_PEERS, options.engines)
    if peers:
        with broker_alone(server.data_dir) as broker:
            for peer in peers:
                progress(peer.told)
                job = Job("count", (f"clicks-{peer.name}",))
                lines[peer.told] = peer_latency(peer, job, broker.uris, VISITS, plan, folder)
    return lines


def of_millpond(server: EmbeddedServer, plan: Plan) -> Latencies:
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


def report(lines: Latencies, options: argparse.Namespace) -> str:
    title = (
        f"Latency of a count per url, {options.rate:g} events/s for {options.seconds:g} s; "
        "every row charged with the first output that covers it"
    )
    parts = [latency_table(title, "seen", lines)]
    if isinstance(ours := lines.get(CHANGELOG), Latency):  # like for like: what a consumer of the output topic sees
        parts += latency_ratios(ours, lines, " of the output topic")
    if isinstance(pull := lines.get(PULL), Latency):
        parts += latency_aims(pull, " of the pull query")
    return "\n".join(parts)


if __name__ == "__main__":
    main()
