"""The embedded Kinesis emulator: it forgets nothing, ends with its server, and comes back."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millpond.embedded.keeper import Keeper
from millpond.embedded.kinesis import KinesisEmulator
from millpond.embedded.kinesis_server import read_entries
from millpond.errors import MillpondError
from millpond.stores.kinesis import KinesisLog
from millpond.stores.protocol import NewRecord, Record
from tests.kinesis_emulators import open_kinesis, wait_until_it_answers
from tests.waiting import eventually

pytestmark = pytest.mark.kinesis


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[KinesisEmulator]:
    made = KinesisEmulator(tmp_path, 0)
    made.start()
    wait_until_it_answers(made.uris)
    yield made
    made.stop()


def written(log: KinesisLog, stream: str, count: int) -> list[Record]:
    """All records of a stream of one shard."""
    reader = log.read(stream, {0: 0})
    found: list[Record] = []

    def read() -> int:
        found.extend(reader.poll(1000, 0.2))
        return len(found)

    eventually(read, count)
    reader.close()
    return found


def test_after_kill_minus_nine_it_has_everything_that_it_had(emulator: KinesisEmulator) -> None:
    log = open_kinesis(emulator.uris)
    log.create("s", 1)
    log.create("gone", 2)
    log.produce("s", [NewRecord(b"k%d" % (n % 3), b"%d" % n) for n in range(700)])
    before, ends = written(log, "s", 700), log.end_offsets("s")
    log.delete("gone")
    pid = emulator.pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    eventually(emulator.alive, False)
    with (emulator.data_dir / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"cut off')
    emulator.start()
    wait_until_it_answers(emulator.uris)
    assert log.topics() == ["s"]
    assert written(log, "s", 700) == before
    assert log.end_offsets("s") == ends
    (placed,) = log.produce("s", [NewRecord(b"k", b"new")])
    assert placed[1] == ends[0]
    assert not any("gone" in str(entry) for entry in read_entries(emulator.data_dir / "journal.jsonl"))


def test_an_old_journal_with_whole_logins_is_done_again_and_loses_them(tmp_path: Path) -> None:
    login = "AWS4-HMAC-SHA256 Credential=AKIDSECRET/20260102/us-east-1/kinesis/aws4_request, Signature=5eedf00d"
    elsewhere = login.replace("us-east-1", "eu-west-1")
    entries = [_old_entry(login, "here", 2), _old_entry(elsewhere, "elsewhere", 1)]
    path = tmp_path / "journal.jsonl"
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    emulator = KinesisEmulator(tmp_path, 0)
    emulator.start()
    try:
        wait_until_it_answers(emulator.uris)
        log = open_kinesis(emulator.uris)
        assert (log.topics(), len(log.shards("here"))) == (["here"], 2)
        log.produce("here", [NewRecord(b"k", b"v")])
    finally:
        emulator.stop()
    assert not [word for word in ("AKID", "Credential", "Signature") if word in path.read_text()]
    assert [entry["region"] for entry in read_entries(path)] == ["us-east-1", "eu-west-1", "us-east-1"]


def _old_entry(login: str, stream: str, shards: int) -> dict[str, Any]:
    body = base64.b64encode(json.dumps({"StreamName": stream, "ShardCount": shards}).encode()).decode()
    target, type_ = "Kinesis_20131202.CreateStream", "application/x-amz-json-1.1"
    return {"at": 1.7e9, "target": target, "type": type_, "login": login, "body": body}


def test_one_that_died_is_started_again(emulator: KinesisEmulator) -> None:
    keeper = Keeper(emulator, "Kinesis emulator")
    keeper.start()
    pid = emulator.pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: emulator.pid, lambda now: now not in (None, pid))
    wait_until_it_answers(emulator.uris)
    keeper.stop()
    assert not emulator.alive()


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(MillpondError) as caught:
            KinesisEmulator(tmp_path, taken.getsockname()[1]).start()
    assert caught.value.name == "PORT_IN_USE"
