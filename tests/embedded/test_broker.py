"""The embedded broker: it starts, keeps what it was given, and ends when it should."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.embedded.broker import Broker, answers, new_cluster_id, remembered
from millpond.embedded.ports import free_port
from millpond.errors import MillpondError
from tests.conftest import MakeTopic, create_topic, make_broker
from tests.kafka_records import Record, read, write
from tests.waiting import eventually

pytestmark = pytest.mark.broker

YEAR_1970 = 1_000
YEAR_2001 = 1_000_000_000_000
YEAR_2100 = 4_102_444_800_000


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Broker]:
    """A broker that a test may stop and kill."""
    broker = make_broker(tmp_path)
    broker.start()
    yield broker
    broker.stop()


def exists(pid: int) -> bool:
    """Whether `pid` runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_shared_broker_takes_and_gives_records(broker: Broker, topic: MakeTopic) -> None:
    name = topic("plain", partitions=2)
    written = [Record(f"v{i}".encode(), f"k{i}".encode(), YEAR_2001 + i, partition=1) for i in range(100)]
    write(broker.uris, name, written)
    found = read(broker.uris, name, 1)
    assert [(r.key, r.value, r.timestamp) for r in found] == [(r.key, r.value, r.timestamp) for r in written]
    assert read(broker.uris, name, 0) == []


def test_records_of_any_year_are_kept_over_a_restart(own: Broker) -> None:
    name = create_topic(own.uris, "old")
    years = [YEAR_1970, YEAR_2001, YEAR_2100, YEAR_1970]
    write(own.uris, name, [Record(b"x", timestamp=t) for t in years])
    own.stop()
    own.start()
    assert [r.timestamp for r in read(own.uris, name)] == years


def test_old_records_do_not_roll_a_segment_each(broker: Broker, topic: MakeTopic) -> None:
    name = topic("decades")
    month = 30 * 86_400_000
    write(broker.uris, name, [Record(b"x", timestamp=YEAR_1970 + i * month) for i in range(240)])
    assert len(list((broker.data_dir / "topics" / f"{name}-0").glob("*.log"))) == 1


def test_no_topic_is_ever_asked_to_forget(broker: Broker, topic: MakeTopic) -> None:
    from confluent_kafka.admin import AdminClient, ConfigResource

    resource = ConfigResource("topic", topic("kept"))
    admin = AdminClient({"bootstrap.servers": broker.uris})
    settings = admin.describe_configs([resource])[resource].result(10)
    wanted = {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}
    assert {k: settings[k].value for k in wanted} == wanted


def test_what_was_acknowledged_survives_kill_9(own: Broker) -> None:
    name = create_topic(own.uris, "acked", 2)
    for partition in (0, 1):
        write(own.uris, name, [Record(str(i).encode(), partition=partition) for i in range(20_000)])
    pid = own.pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    eventually(own.alive, False)
    own.start()
    for partition in (0, 1):
        assert [r.value for r in read(own.uris, name, partition)] == [str(i).encode() for i in range(20_000)]
    assert write(own.uris, name, [Record(b"after")]) == 1


def test_it_keeps_its_port_and_identity_over_restarts(own: Broker) -> None:
    before = (
        own.uris,
        (own.data_dir / "cluster.id").read_text(),
        (own.data_dir / "controller.port").read_text(),
    )
    own.stop()
    assert not own.alive()
    own.start()
    after = (
        own.uris,
        (own.data_dir / "cluster.id").read_text(),
        (own.data_dir / "controller.port").read_text(),
    )
    assert before == after


def test_a_taken_controller_port_is_replaced(own: Broker) -> None:
    own.stop()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        (own.data_dir / "controller.port").write_text(str(s.getsockname()[1]))
        own.start()
        assert own.alive()


def test_starting_twice_is_starting_once(broker: Broker) -> None:
    pid = broker.pid
    broker.start()
    assert broker.pid == pid


def test_a_used_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        with pytest.raises(MillpondError) as caught:
            make_broker(tmp_path, port).start()
    assert caught.value.name == "PORT_IN_USE"
    assert caught.value.params["port"] == port
    assert "--kafka-port" in caught.value.hint


def test_two_brokers_cannot_share_a_folder(broker: Broker) -> None:
    with pytest.raises(MillpondError) as caught:
        make_broker(broker.data_dir).start(timeout=0.2)
    assert caught.value.name == "DATA_DIR_IN_USE"
    assert caught.value.params["pid"] == str(broker.pid)


def test_a_broker_that_cannot_start_says_why(tmp_path: Path) -> None:
    broken = make_broker(tmp_path)
    broken._memory = "1m"
    with pytest.raises(MillpondError) as caught:
        broken.start()
    assert caught.value.name == "BROKER_NOT_STARTED"
    assert "heap" in caught.value.sentence
    assert not broken.alive()


def test_it_listens_on_loopback_only(broker: Broker) -> None:
    # On all addresses it would be on 127.0.0.2 too.
    controller = (broker.data_dir / "controller.port").read_text()
    for port in (broker.port, int(controller)):
        socket.create_connection(("127.0.0.1", port), 5).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), 5)


def test_it_stops_cleanly(own: Broker) -> None:
    own.stop()
    assert own.pid is None
    # Kafka leaves this file only when it has closed all logs in order: the next start needs no recovery.
    assert (own.data_dir / "topics" / ".kafka_cleanshutdown").exists()
    assert not answers(own.uris, "any")


PARENT = """
import sys, threading
from pathlib import Path
from tests.conftest import make_broker
broker = make_broker(Path(sys.argv[1]))
starter = threading.Thread(target=broker.start)  # a thread that is gone while the broker goes on
starter.start(); starter.join()
print(broker.pid, flush=True)
threading.Event().wait()
"""


def test_it_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, tmp_path], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    pid = int(parent.stdout.readline())
    assert exists(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    eventually(lambda: exists(pid), False)
    assert (tmp_path / "topics" / ".kafka_cleanshutdown").exists()


def test_it_waits_for_the_broker_of_a_server_just_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, tmp_path], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    successor = make_broker(tmp_path)
    successor.start()
    assert not exists(pid)
    successor.stop()


def test_what_is_remembered_survives_a_power_cut(tmp_path: Path) -> None:
    place = tmp_path / "cluster.id"
    place.write_text("")  # as a file that was made, but not written, before the power went
    assert remembered(place, lambda: "made") == "made"
    assert remembered(place, lambda: "again") == "made"
    assert [path.name for path in tmp_path.iterdir()] == ["cluster.id"]


@pytest.mark.parametrize("make", [free_port, new_cluster_id])
def test_made_up_values_differ(make: object) -> None:
    assert callable(make)
    assert make() != make()
