"""One join's turn: its latency while rows come, its catch-up with rows that are there; ours, then each peer's."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from harness.broker import broker_alone
from harness.catchup_lines import CatchUps
from harness.catchup_run import CatchUp, Place, peer_catches_up, stream_catches_up, view_catches_up
from harness.events import Workload
from harness.join_work import Join, fill_users
from harness.latency_lines import Latencies
from harness.latency_run import Latency, Plan, measure, peer_latency, topic_observer
from harness.lines import MILLPOND
from harness.outputs import Output
from harness.peers import Job, Peer
from harness.progress import progress
from harness.server import EmbeddedServer
from harness.statements import Statements
from harness.topics import create_topic, topic_like

BATCH_SECONDS = 30


@dataclass(frozen=True, slots=True)
class State:
    """What a join of ours keeps: rows, and megabytes of memory for them."""

    rows: int
    megabytes: float


def latencies(join: Join, live: Workload, plan: Plan, peers: list[Peer], ours: bool, folder: Path) -> Latencies:
    """From `send` to the output topic, one engine after the other."""
    lines: Latencies = {}
    server = EmbeddedServer(folder)
    if ours:
        with ExitStack() as stack:
            stack.callback(server.stop)
            server.start()
            progress(f"{MILLPOND}: {join.told}")
            lines |= _our_latency(server, join, live, plan)
    if peers:
        with broker_alone(server.data_dir) as broker:
            for peer in peers:
                progress(f"{peer.told}: {join.told}")
                lines[peer.told] = _peer_latency(peer, join, live, plan, broker.uris, folder)
    return lines


def _our_latency(server: EmbeddedServer, join: Join, live: Workload, plan: Plan) -> Latencies:
    create_topic(server.uris, "clicks")
    fill_users(server.uris)
    statements = Statements(server.port)
    for statement in (*join.declared, join.create()):
        statements.run(statement)
    statements.close()
    observer = topic_observer(MILLPOND, server.uris, topic_like(server.uris, join.output_topic), live)
    return measure(server.uris, "clicks", live, plan, [observer], server.check)


def _peer_latency(peer: Peer, join: Join, live: Workload, plan: Plan, uris: str, folder: Path) -> Latency | str:
    clicks, people = f"clicks-{peer.name}", f"users-{peer.name}"
    fill_users(uris, people)
    return peer_latency(peer, Job(join.job, (clicks, people)), uris, live, plan, folder)


def catch_ups(join: Join, rows: int, peers: list[Peer], ours: bool, folder: Path) -> tuple[CatchUps, State | None]:
    """Everything that was there before, one engine after the other, from the same topics of the same broker."""
    lines: CatchUps = {}
    server, state = EmbeddedServer(folder), None
    output: Output | None = None
    if ours:
        with ExitStack() as stack:
            stack.callback(server.stop)
            server.start()
            output = join.fill(server.uris, rows)
            progress(f"{MILLPOND}: {join.told}")
            lines[MILLPOND], state = _our_catch_up(server, join, output)
    if peers:
        with broker_alone(server.data_dir) as broker:
            output = output or join.fill(broker.uris, rows)
            place = Place(broker.uris, broker.pid or 0)
            for peer in peers:
                progress(f"{peer.told}: {join.told}")
                lines[peer.told] = peer_catches_up(peer, Job(join.job, join.topics), place, output, folder)
    return lines, state


def _our_catch_up(server: EmbeddedServer, join: Join, output: Output) -> tuple[CatchUp, State]:
    statements = Statements(server.port)
    for statement in join.declared:
        statements.run(statement)
    if isinstance(join.sink, str):
        line = stream_catches_up(server, statements, join.sink, join.output_topic, output)
    else:
        line = view_catches_up(server, statements, join.sink, output.expected)
    state = _state(statements)
    statements.close()
    return line, state


def _state(statements: Statements) -> State:
    """Of the only query, once its first batch has ended: rows are out a moment before."""
    query = str(statements.run("LIST QUERIES;").rows[0][0])
    deadline = time.monotonic() + BATCH_SECONDS
    while True:
        figures = {row[0]: float(row[1] or 0) for row in statements.run(f"DESCRIBE QUERY METRICS {query};").rows}
        if figures["state_rows"] or time.monotonic() > deadline:
            return State(round(figures["state_rows"]), figures["state_bytes"] / 2**20)
        time.sleep(0.2)
