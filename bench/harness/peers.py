"""The peers: Kafka Streams and Flink SQL, each with the same jobs from topics to a topic."""

from __future__ import annotations

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.folders import PEERS
from harness.peer_install import JAVA_PROGRAM, PeerUnavailableError, compiled_program, flink_python, jars
from harness.processes import cpu_seconds, end
from millpond.jvm.locate import find_java
from millpond.watchdog import Watchdog

Command = list[str | Path]

CACHELESS = ("statestore.cache.max.bytes=0", "num.stream.threads=2")
"""Every input row is an output row, as for the others; with its cache it writes every 30 s only."""

NO_LINGER = "producer.linger.ms=0"


@dataclass(frozen=True, slots=True)
class Job:
    """One of the peers' queries by its name there: `count`, `enrich`, `regions`, `match`; its input topics."""

    name: str
    topics: tuple[str, ...]

    def sink(self, peer: Peer) -> str:
        """The topic that a peer's run writes."""
        return f"{self.name}-{self.topics[0]}-{peer.name}"


@dataclass(frozen=True)
class Peer(ABC):
    """An engine with its settings; `told` says which, for the tables."""

    name: str
    told: str
    settings: tuple[str, ...] = ()

    @abstractmethod
    def command(self, job: Job, uris: str, folder: Path) -> Command:
        """The program that runs `job` into its sink. Raises PeerUnavailableError."""

    def places(self, job: Job, uris: str, folder: Path) -> Command:
        """The arguments that the programs of all peers begin with."""
        return [job.name, uris, ",".join(job.topics), job.sink(self), folder]


class Streams(Peer):
    """Kafka Streams; state in RocksDB with a changelog topic."""

    def command(self, job: Job, uris: str, folder: Path) -> Command:
        class_path = ":".join(map(str, [compiled_program(), *jars("streams")]))
        flags = ["-Djava.net.preferIPv4Stack=true", f"-Djava.io.tmpdir={folder}"]
        places = self.places(job, uris, folder / "state")
        return [find_java(), *flags, "-cp", class_path, JAVA_PROGRAM, *places, *self.settings]


class Flink(Peer):
    """Flink SQL; state on the heap unless the settings say otherwise, a checkpoint every 30 s."""

    def command(self, job: Job, uris: str, folder: Path) -> Command:
        connector = jars("flink")[0]
        program = [flink_python(), PEERS / "flink_jobs.py"]
        return [*program, *self.places(job, uris, folder), connector, *self.settings]


LATENCY_PEERS: tuple[Peer, ...] = (
    Streams("streams", "Kafka Streams, cache 0, linger 0", (*CACHELESS, NO_LINGER)),
    Flink("flink", "Flink SQL, defaults"),
    Flink(
        "flink-tuned",
        "Flink SQL, buffer timeout 2 ms, watermarks each 10 ms",
        ("execution.buffer-timeout.interval=2 ms", "pipeline.auto-watermark-interval=10 ms"),
    ),
)

CATCHUP_PEERS: tuple[Peer, ...] = (
    Streams("streams", "Kafka Streams, cache 0", CACHELESS),
    Flink("flink", "Flink SQL, heap state"),
    Flink("flink-rocksdb", "Flink SQL, RocksDB state", ("state.backend.type=rocksdb",)),
)


@dataclass(frozen=True, slots=True)
class RunningPeer:
    """A peer at work."""

    process: subprocess.Popen[bytes]
    log: Path

    def cpu(self) -> float:
        """CPU seconds so far of all its processes."""
        return cpu_seconds(self.process.pid)

    def check(self) -> None:
        """Raises PeerUnavailableError if it has ended."""
        if self.process.poll() is not None:
            raise PeerUnavailableError(f"it ended by itself: {last_words(self.log)}")


@contextmanager
def running_peer(peer: Peer, job: Job, uris: str, folder: Path) -> Iterator[RunningPeer]:
    """Run a peer's job, whose topics are all there, with its state and log in `folder`."""
    place = folder / job.sink(peer)
    place.mkdir(parents=True)
    command = peer.command(job, uris, place)
    log = place / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    watchdog = Watchdog(process.pid)
    try:
        yield RunningPeer(process, log)
    finally:
        end(process, grace=15)
        watchdog.dismiss()


def chosen(peers: Sequence[Peer], names: Sequence[str]) -> list[Peer]:
    """Those of `peers` that are named, in their own order."""
    return [peer for peer in peers if peer.name in names]


def last_words(log: Path) -> str:
    """The last lines of a log that say something."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-3:])[-400:] or "it said nothing"
