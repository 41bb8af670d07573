"""Catching up with 2,000,000 events that are in the topic already, beside Kafka Streams and Flink SQL.

python bench/catchup.py [--events 2000000] [--engines millpond,streams,...]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from harness.broker import broker_alone
from harness.catchup_run import CatchUp, Place, peer_catches_up, view_catches_up
from harness.command_line import engine_names, interruptible, plain
from harness.events import VISITS, clicks_by_url, up_to_now
from harness.folders import run_folder
from harness.outputs import Output, last_counts
from harness.peer_install import PeerUnavailableError
from harness.peers import CATCHUP_PEERS, Job, Peer, chosen
from harness.progress import progress
from harness.results import write_results
from harness.server import EmbeddedServer
from harness.statements import Statements
from harness.table import Cell, aim, ratio, table
from harness.topics import create_topic, fill
from harness.views import URL_VISITS, create_stream

MILLPOND = "Millpond"
TOPIC = "clicks"

COLUMNS = (
    "thousand rows/s",
    "with start-up",
    "after 1st output",
    "seconds",
    "1st output s",
    "engine CPU s",
    "broker CPU s",
)

Lines = dict[str, CatchUp | str]
"""What was measured, by the engine's description; a text says why it was not."""


def main() -> None:
    """Measure, print, write the figures."""
    options = arguments()
    with interruptible(), run_folder("catchup") as folder:
        lines = measured(options, folder)
    print(report(lines, options.events))
    figures = {name: line if isinstance(line, str) else asdict(line) for name, line in lines.items()}
    write_results("catchup", plain(options), figures)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000_000)
    names = ["millpond", *(peer.name for peer in CATCHUP_PEERS)]
    usual = ["millpond", "streams", "flink"]
    parser.add_argument("--engines", type=engine_names(names), default=usual, help=f"of {','.join(names)}")
    return parser.parse_args()


def measured(options: argparse.Namespace, folder: Path) -> Lines:
    """One engine after the other, from the same topic of the same broker."""
    lines: Lines = {}
    server = EmbeddedServer(folder)
    expected: Counter[str] = Counter()
    if "millpond" in options.engines:
        lines[MILLPOND], expected = of_millpond(server, options.events)
    peers = chosen(CATCHUP_PEERS, options.engines)
    if peers:
        with broker_alone(server.data_dir) as broker:
            expected = expected or filled(broker.uris, options.events)
            place = Place(broker.uris, broker.pid or 0)
            for peer in peers:
                output = Output(expected, last_counts(VISITS.group, VISITS.number), coalesced=True)
                lines[peer.told] = of_peer(peer, place, output, folder)
    return lines


def of_millpond(server: EmbeddedServer, events: int) -> tuple[CatchUp, Counter[str]]:
    with ExitStack() as stack:
        stack.callback(server.stop)
        server.start()
        expected = filled(server.uris, events)
        statements = Statements(server.port)
        stack.callback(statements.close)
        create_stream(statements, TOPIC)
        progress(MILLPOND)
        return view_catches_up(server, statements, URL_VISITS, expected), expected


def of_peer(peer: Peer, place: Place, output: Output, folder: Path) -> CatchUp | str:
    progress(peer.told)
    try:
        return peer_catches_up(peer, Job("count", (TOPIC,)), place, output, folder)
    except PeerUnavailableError as e:
        return f"not measured: {e}"


def filled(uris: str, events: int) -> Counter[str]:
    """The topic with its events; how many of each url."""
    create_topic(uris, TOPIC)
    return fill(uris, TOPIC, clicks_by_url(up_to_now(events)))


def report(lines: Lines, events: int) -> str:
    title = f"Catch-up: count per url over {events:,} events that were there before"
    parts = [table(title, COLUMNS, [row(name, line) for name, line in lines.items()]), *comparisons(lines)]
    return "\n".join(parts)


def row(name: str, line: CatchUp | str) -> Sequence[Cell]:
    if isinstance(line, str):
        return (f"{name}: {line}", *([None] * (len(COLUMNS) - 1)))
    after = line.rate_after_first / 1e3 if line.rate_after_first else None
    cpu = (round(line.engine_cpu, 1), round(line.broker_cpu, 1))
    return (name, line.rate / 1e3, after, line.seconds, line.first_output, *cpu)


def comparisons(lines: Lines) -> list[str]:
    """Ratios of rows/s with start-up and of CPU seconds; the aims."""
    ours = lines.get(MILLPOND)
    if not isinstance(ours, CatchUp):
        return []
    said: list[str | None] = []
    for name, line in lines.items():
        if name == MILLPOND or isinstance(line, str):
            continue
        said.append(ratio(f"rows/s with start-up, Millpond / {name}", ours.rate, line.rate))
        said.append(ratio(f"engine CPU s, Millpond / {name}", ours.engine_cpu, line.engine_cpu))
        wanted = 1.5 if name.startswith("Kafka Streams") else 2.0
        said.append(aim(f"rows/s against {name}", ours.rate / line.rate, wanted, at_most=False, unit="times"))
    return [line for line in said if line]


if __name__ == "__main__":
    main()
