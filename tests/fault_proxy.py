"""A proxy between us and a Kinesis emulator that does what AWS does on a bad day."""

from __future__ import annotations

import json
import random
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SLOW_SECONDS = 0.7
ERRORS = {
    "throttle": "ProvisionedThroughputExceededException",
    "limit": "LimitExceededException",
    "expire": "ExpiredIteratorException",
    "fail": "InternalFailure",
}
FORWARDED = ("content-type", "x-amz-target", "authorization", "x-amz-date", "x-amz-security-token")


class FaultProxy:
    """Forwards to `target`. `faults`: action -> fault -> how often, 0 to 1. `happened` counts (action, fault).

    Faults: throttle, limit, expire, fail (an error instead of doing it); cut (not done, no answer), lose (done, no
    answer), slow (done, late), partial (of PutRecords: half of the records are done, the others throttled).
    """

    def __init__(self, target: str, faults: Mapping[str, Mapping[str, float]], seed: int = 7) -> None:
        self.target, self.faults = target, dict(faults)
        self.happened: Counter[tuple[str, str]] = Counter()
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def fault(self, action: str) -> str:
        """What goes wrong with this call; empty: nothing."""
        with self.lock:
            chance = self.random.random()
            for fault, share in self.faults.get(action, {}).items():
                if chance < share:
                    self.happened[action, fault] += 1
                    return fault
                chance -= share
        return ""

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                action = (self.headers.get("x-amz-target") or "").rpartition(".")[2]
                answer = proxy.answer(action, dict(self.headers.items()), body)
                if answer is None:
                    self.close_connection = True
                    self.connection.close()
                    return
                self.send_response(answer[0])
                self.send_header("content-type", answer[1])
                self.send_header("content-length", str(len(answer[2])))
                self.end_headers()
                self.wfile.write(answer[2])

            def log_message(self, format: str, *args: Any) -> None:
                return

        return Handler

    def answer(self, action: str, headers: Mapping[str, str], body: bytes) -> tuple[int, str, bytes] | None:
        """(status, type, body); None: hang up."""
        fault = self.fault(action)
        if fault in ERRORS:
            told = {"__type": ERRORS[fault], "message": "a fault of the proxy"}
            return 500 if fault == "fail" else 400, "application/x-amz-json-1.1", json.dumps(told).encode()
        if fault == "cut":
            return None
        if fault == "slow":
            time.sleep(SLOW_SECONDS)
        if fault == "partial":
            return self._partial(headers, body)
        found = self._forward(headers, body)
        return None if fault == "lose" else found

    def _partial(self, headers: Mapping[str, str], body: bytes) -> tuple[int, str, bytes]:
        """The records with an even place are done."""
        wanted = json.loads(body)
        done = {**wanted, "Records": wanted["Records"][::2]}
        status, kind, text = self._forward(headers, json.dumps(done).encode())
        if status != 200:
            return status, kind, text
        made = iter(json.loads(text)["Records"])
        refused = {"ErrorCode": ERRORS["throttle"], "ErrorMessage": "a fault of the proxy"}
        outcomes = [refused if n % 2 else next(made) for n in range(len(wanted["Records"]))]
        told = {"FailedRecordCount": len(wanted["Records"]) // 2, "Records": outcomes}
        return 200, "application/x-amz-json-1.1", json.dumps(told).encode()

    def _forward(self, headers: Mapping[str, str], body: bytes) -> tuple[int, str, bytes]:
        passed = {name: value for name, value in headers.items() if name.lower() in FORWARDED}
        request = urllib.request.Request(self.target, body, passed, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=30) as found:
                return found.status, found.headers.get("content-type", ""), found.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers.get("content-type", ""), error.read()


@contextmanager
def fault_proxy(target: str, faults: Mapping[str, Mapping[str, float]], seed: int = 7) -> Iterator[FaultProxy]:
    """A running proxy."""
    proxy = FaultProxy(target, faults, seed)
    thread = threading.Thread(target=proxy.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.server.shutdown()
        proxy.server.server_close()
        thread.join()
