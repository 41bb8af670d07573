"""Catching up with 2,000,000 events that are in the topic already, beside Kafka Streams and Flink SQL.

python bench/catchup.py [--events 2000000] [--engines millpond,streams,...]
"""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from harness.broker import broker_alone
from harness.catchup_lines import CatchUps, catchup_table, comparisons
from harness.catchup_run import CatchUp, Place, peer_catches_up, view_catches_up
from harness.command_line import engine_names, interruptible, plain
from harness.events import VISITS, clicks_by_url, up_to_now
from harness.folders import run_folder
from harness.lines import MILLPOND, plain_lines
from harness.outputs import Output, last_counts
from harness.peers import CATCHUP_PEERS, Job, chosen
from harness.progress import progress
from harness.results import write_results
from harness.server import EmbeddedServer
from harness.statements import Statements
from harness.topics import create_topic, fill
from harness.views import URL_VISITS, create_stream

TOPIC = "clicks"


def main() -> None:
    """Measure, print, write the figures."""
    options = arguments()
    with interruptible(), run_folder("catchup") as folder:
        lines = measured(options, folder)
    print(report(lines, options.events))
    write_results("catchup", plain(options), plain_lines(lines))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000_000)
    names = ["millpond", *(peer.name for peer in CATCHUP_PEERS)]
    usual = ["millpond", "streams", "flink"]
    parser.add_argument("--engines", type=engine_names(names), default=usual, help=f"of {','.join(names)}")
    return parser.parse_args()


def measured(options: argparse.Namespace, folder: Path) -> CatchUps:
    """One engine after the other, from the same topic of the same broker."""
    lines: CatchUps = {}
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
                progress(peer.told)
                output = Output(expected, last_counts(VISITS.group, VISITS.number), coalesced=True)
                lines[peer.told] = peer_catches_up(peer, Job("count", (TOPIC,)), place, output, folder)
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


def filled(uris: str, events: int) -> Counter[str]:
    """The topic with its events; how many of each url."""
    create_topic(uris, TOPIC)
    return fill(uris, TOPIC, clicks_by_url(up_to_now(events)))


def report(lines: CatchUps, events: int) -> str:
    title = f"Catch-up: count per url over {events:,} events that were there before"
    return "\n".join([catchup_table(title, lines), *comparisons(lines, wanted_rate)])


def wanted_rate(peer: str) -> float:
    """Our rows/s by a peer's, at least."""
    return 1.5 if peer.startswith("Kafka Streams") else 2.0


if __name__ == "__main__":
    main()
