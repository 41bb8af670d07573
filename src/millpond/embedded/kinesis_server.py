"""The embedded Kinesis emulator, a process of its own: moto behind a journal, so that a restart forgets nothing.

`python -m millpond.embedded.kinesis_server PORT JOURNAL`. Whatever changes something is written to the journal before
it is done, one line of JSON each; of who asked, the region alone. At the start the journal is done again: moto gives
the same numbers to the same records. What concerns streams that were deleted later is left out, and the journal written
anew without it. A crash between journal and answer leaves a write that its client cannot be sure of, as with AWS.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

from millpond.embedded.settings import HOST

READING = ("Get", "List", "Describe", "Subscribe")
"""How the actions begin that change nothing."""
Environ: TypeAlias = dict[str, Any]
StartResponse: TypeAlias = Callable[..., Any]
WsgiApp: TypeAlias = Callable[[Environ, StartResponse], Iterable[bytes]]


class Journal:
    """A WSGI application in front of `app` that remembers what changed it. `set_clock` sets moto's time in a replay."""

    def __init__(self, app: WsgiApp, path: Path, set_clock: Callable[[float | None], None]) -> None:
        self.app, self.path, self.set_clock = app, path, set_clock
        self.changing = threading.Lock()
        """Changes happen one at a time, in the order of the journal."""
        self._replay()
        make_private(path)
        self.file = path.open("a", encoding="utf-8")

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        action = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
        if not action or action.startswith(READING):
            return self.app(environ, start_response)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        with self.changing:
            now = time.time()
            self._write(now, environ, body)
            environ["wsgi.input"] = BytesIO(body)
            self.set_clock(now)
            try:
                return list(self.app(environ, start_response))
            finally:
                self.set_clock(None)

    def _write(self, now: float, environ: Environ, body: bytes) -> None:
        entry = {
            "at": now,
            "target": environ["HTTP_X_AMZ_TARGET"],
            "type": environ.get("CONTENT_TYPE", ""),
            "region": region_of(environ.get("HTTP_AUTHORIZATION", "")),
            "body": base64.b64encode(body).decode(),
        }
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()

    def _replay(self) -> None:
        entries = read_entries(self.path)
        kept = [without_login(entry) for entry in without_deleted(entries)]
        if kept != entries:
            write_entries(self.path, kept)
        for entry in kept:
            self.set_clock(entry["at"])
            list(self.app(environ_of(entry), lambda *_: None))
        self.set_clock(None)


def read_entries(path: Path) -> list[dict[str, Any]]:
    """The journal's entries. A last line that a crash cut off is cut off for good."""
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        path.write_bytes(whole)
    return [json.loads(line) for line in whole.splitlines()]


def write_entries(path: Path, entries: Iterable[dict[str, Any]]) -> None:
    """Write the journal anew: 1. beside it, on the disk; 2. renamed into place. A crash before 2 changes nothing."""
    scratch = path.with_suffix(".new")
    make_private(scratch)
    with scratch.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)


def make_private(path: Path) -> None:
    """See to it that a file is there and that its owner alone may read and write it."""
    path.touch(mode=0o600)
    path.chmod(0o600)


def region_of(login: str) -> str:
    """The region that an Authorization header is signed for, as moto finds it; empty if it names none."""
    scope = login.split(",")[0].split("/")
    return scope[2] if len(scope) > 2 else ""


def without_login(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of an old journal, which kept whole Authorization headers, as it is written now; others as they are."""
    if "login" not in entry:
        return entry
    return {"region": region_of(entry["login"]), **{k: v for k, v in entry.items() if k != "login"}}


def without_deleted(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries but for those of streams that were deleted after them, and the deletions."""
    gone: set[str] = set()
    kept = []
    for entry in reversed(entries):
        name = stream_of(entry)
        if entry["target"].endswith(".DeleteStream"):
            gone.add(name)
        elif name not in gone:
            kept.append(entry)
    return kept[::-1]


def stream_of(entry: dict[str, Any]) -> str:
    """Which stream a change was about, with its region."""
    try:
        body = json.loads(base64.b64decode(entry["body"]))
    except ValueError:
        return ""
    name = body.get("StreamName") or str(body.get("StreamARN", "")).rpartition("/")[2]
    return f"{without_login(entry)['region']}/{name}"


def environ_of(entry: dict[str, Any]) -> Environ:
    """The request of an entry, once more; it is signed by nobody, but for its region."""
    from werkzeug.test import EnvironBuilder

    headers = [("X-Amz-Target", entry["target"])]
    if entry["region"]:
        login = f"AWS4-HMAC-SHA256 Credential=replay/0/{entry['region']}/kinesis/aws4_request"
        headers.append(("Authorization", login))
    body = base64.b64decode(entry["body"])
    return EnvironBuilder("/", method="POST", data=body, content_type=entry["type"], headers=headers).get_environ()


def kinesis_app() -> tuple[WsgiApp, Callable[[float | None], None]]:
    """moto's Kinesis, and how its clock is set (None: to the present)."""
    from moto.kinesis import models
    from moto.moto_server.werkzeug_app import create_backend_app

    now: list[float | None] = [None]

    def utcnow() -> datetime:
        return datetime.fromtimestamp(time.time() if now[0] is None else now[0], UTC).replace(tzinfo=None)

    def set_clock(moment: float | None) -> None:
        now[0] = moment

    models.utcnow = utcnow
    models.Shard.get_records = get_records
    return create_backend_app("kinesis"), set_clock


def get_records(shard: Any, last_sequence_id: str, limit: int | None) -> tuple[list[Any], int, int]:
    """In place of moto's own, which walks through all records of the shard for each call: (records, last, behind ms).

    A shard's records are numbered from 1 without gaps.
    """
    last, end = int(last_sequence_id), len(shard.records)
    reached = min(end, last + (limit or 10_000))
    found = [shard.records[number] for number in range(last + 1, reached + 1)]
    if reached >= end:
        return found, max(last, reached), 0
    return found, reached, max(1, int((time.time() - shard.records[reached + 1].created_at) * 1000))


def main(port: int, journal: Path) -> None:
    """Serve until the process is ended."""
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Handler(WSGIRequestHandler):
        """Keeps connections, and says nothing."""

        protocol_version = "HTTP/1.1"

        def log(self, type: str, message: str, *args: Any) -> None:
            return

    journal.parent.mkdir(parents=True, exist_ok=True)
    app, set_clock = kinesis_app()
    make_server(HOST, port, Journal(app, journal, set_clock), threaded=True, request_handler=Handler).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
