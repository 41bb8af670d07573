"""What the journal of the Kinesis emulator keeps of a request, and what it does again; the emulator is a stand-in."""

from __future__ import annotations

import base64
import json
import stat
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from millpond.embedded.kinesis_server import Environ, Journal, StartResponse

LOGIN = (
    "AWS4-HMAC-SHA256 Credential=AKIDSECRET/20260102/eu-west-1/kinesis/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=5eedf00d"
)
TARGET = "Kinesis_20131202.CreateStream"


class Emulator:
    """Notes the requests that it gets: action, region as moto takes it from the login, body."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str, Any]] = []
        self.moments: list[float | None] = []

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        login = environ.get("HTTP_AUTHORIZATION", "")
        region = login.split(",")[0].split("/")[2] if "AWS4" in login else "us-east-1"
        self.got.append((environ["HTTP_X_AMZ_TARGET"], region, json.load(environ["wsgi.input"])))
        return [b"{}"]

    def set_clock(self, moment: float | None) -> None:
        self.moments.append(moment)


def opened(path: Path) -> tuple[Emulator, Journal]:
    emulator = Emulator()
    return emulator, Journal(emulator, path, emulator.set_clock)


def ask(journal: Journal, stream: str, login: str | None = LOGIN, target: str = TARGET) -> None:
    body = json.dumps({"StreamName": stream}).encode()
    environ = {"HTTP_X_AMZ_TARGET": target, "CONTENT_LENGTH": str(len(body)), "wsgi.input": BytesIO(body)}
    if login is not None:
        environ["HTTP_AUTHORIZATION"] = login
    list(journal(environ, lambda *_: None))


def old_entry(stream: str, at: float, login: str = LOGIN, target: str = TARGET) -> str:
    """A line as it was written when the journal kept whole logins."""
    body = base64.b64encode(json.dumps({"StreamName": stream}).encode()).decode()
    return json.dumps({"at": at, "target": target, "type": "application/x-amz-json-1.1", "login": login, "body": body})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def assert_no_login(path: Path) -> None:
    text = path.read_text()
    assert text
    assert not [word for word in ("AKID", "Credential", "Signature", "5eedf00d", "login") if word in text]


def test_a_request_is_done_again_in_its_region_and_nothing_of_its_login_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first, journal = opened(path)
    ask(journal, "a")
    ask(journal, "b", login=None)
    ask(journal, "c", login="")
    journal.file.close()
    assert_no_login(path)
    second, journal = opened(path)
    journal.file.close()
    assert second.got == first.got
    assert [region for _, region, _ in second.got] == ["eu-west-1", "us-east-1", "us-east-1"]


@pytest.mark.parametrize("deletes", [False, True])
def test_an_old_journal_is_done_again_and_loses_its_logins(tmp_path: Path, deletes: bool) -> None:
    path = tmp_path / "journal.jsonl"
    lines = [old_entry("a", 1.0), old_entry("gone", 2.0), old_entry("b", 3.0, login="")]
    deleted = [old_entry("gone", 4.0, target="Kinesis_20131202.DeleteStream")] if deletes else []
    path.write_text("".join(f"{line}\n" for line in lines + deleted))
    path.chmod(0o644)
    first, journal = opened(path)
    journal.file.close()
    middle = [] if deletes else [(TARGET, "eu-west-1", {"StreamName": "gone"})]
    assert first.got == [
        (TARGET, "eu-west-1", {"StreamName": "a"}),
        *middle,
        (TARGET, "us-east-1", {"StreamName": "b"}),
    ]
    assert_no_login(path)
    assert mode(path) == 0o600
    second, journal = opened(path)
    journal.file.close()
    assert (second.got, second.moments) == (first.got, first.moments)


def test_a_deletion_in_another_region_deletes_nothing_here(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    _, journal = opened(path)
    ask(journal, "a")
    ask(journal, "a", login=LOGIN.replace("eu-west-1", "us-east-2"), target="Kinesis_20131202.DeleteStream")
    journal.file.close()
    again, journal = opened(path)
    journal.file.close()
    assert again.got == [(TARGET, "eu-west-1", {"StreamName": "a"})]


def test_the_journal_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text("")
    path.chmod(0o644)
    _, journal = opened(path)
    journal.file.close()
    assert mode(path) == 0o600
    path.unlink()
    _, journal = opened(path)
    journal.file.close()
    assert mode(path) == 0o600
