"""What the embedded broker is told: `server.properties` and the JVM's flags.

It is tuned for one laptop and for keeping things: nothing is ever thrown away because of its age or its
timestamp unless the topic's own settings ask for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

HOST = "127.0.0.1"

FOR_EVER = 2**63 - 1

KEEPING: Mapping[str, object] = {
    "log.retention.ms": -1,
    "log.retention.bytes": -1,
    # Segments roll by size only: years of events replayed would else make a segment for each week of them.
    "log.roll.ms": FOR_EVER,
    "log.message.timestamp.before.max.ms": FOR_EVER,
    "log.message.timestamp.after.max.ms": FOR_EVER,
    "offsets.retention.minutes": 2**31 - 1,
}

SMALL: Mapping[str, object] = {
    "num.partitions": 1,
    "default.replication.factor": 1,
    "min.insync.replicas": 1,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "share.coordinator.state.topic.num.partitions": 1,
    "num.network.threads": 2,
    "num.io.threads": 4,
    "background.threads": 2,
    "group.coordinator.threads": 1,
    # After kill -9 the open segment of each partition is read again: smaller segments, quicker recovery.
    "log.segment.bytes": 256 << 20,
    # Holds some 600,000 distinct keys a pass; the default of 128 MB would be half of the heap.
    "log.cleaner.dedupe.buffer.size": 16 << 20,
    "log.cleaner.io.buffer.size": 256 << 10,
    "log.cleaner.backoff.ms": 5_000,
}

QUICK: Mapping[str, object] = {
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": "false",
    "delete.topic.enable": "true",
    "file.delete.delay.ms": 1_000,
    # A broker killed with -9 may register again only once its old session has run out; the default is 9 s.
    "broker.session.timeout.ms": 6_000,
    "broker.heartbeat.interval.ms": 500,
    # Half a second is the default: a record written to the metadata log for nothing, on an idle laptop.
    "metadata.max.idle.interval.ms": 5_000,
}


def server_properties(logs: Path, port: int, controller_port: int) -> str:
    """The text of `server.properties` for one node that is broker and controller, on loopback only."""
    node: Mapping[str, object] = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": logs,
    }
    return "".join(f"{k}={v}\n" for k, v in {**node, **KEEPING, **SMALL, **QUICK}.items())


def jvm_flags(memory: str, log_dir: Path, log_config: Path) -> Sequence[str]:
    """Flags for a small, quick-starting JVM. The heap is `memory`, as -Xmx takes it."""
    return (
        f"-Xmx{memory}",
        "-Xms64m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
        f"-XX:ErrorFile={log_dir}/jvm-crash.log",
        f"-Dmillpond.log.dir={log_dir}",
        f"-Dlog4j2.configurationFile={log_config}",
    )
