"""A schema registry in this process that answers as Confluent's does: ids, subjects, latest versions, refusals."""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from millpond.stores.registry import RegistryClient, registry_access
from millpond.stores.schemas import Schemas
from tests.certificates import Signed

C = TypeVar("C", Schemas, RegistryClient)


class FakeRegistry:
    """Its schemas by id, its subjects as lists of ids. `status` makes it answer that to everything."""

    def __init__(self) -> None:
        self.url = ""
        self._opened: list[Schemas | RegistryClient] = []
        self.clear()

    def clear(self) -> None:
        """Forget everything that was registered, asked and set; those who know the registry keep what they know."""
        self.schemas: list[str] = []
        self.subjects: dict[str, list[int]] = {}
        self.references: dict[int, list[dict[str, Any]]] = {}
        """By id: the schemas that a schema refers to, as the registry's protocol lists them."""
        self.kinds: dict[int, str] = {}
        """By id: the types of schemas that are not Avro."""
        self.refused: set[str] = set()
        """Subjects that take no further schema."""
        self.login: str | None = None
        self.status: int | None = None
        self.asked: list[str] = []

    def client(self, **properties: str) -> RegistryClient:
        """A client of this registry, or of `uris`; closed when the registry ends."""
        return self._kept(RegistryClient(registry_access("sr", {"uris": self.url, **properties})))

    def opened(self) -> Schemas:
        """This registry's schemas, of which nothing is known yet; closed when the registry ends."""
        return self._kept(Schemas(registry_access("sr", {"uris": self.url})))

    def _kept(self, connection: C) -> C:
        self._opened.append(connection)
        return connection

    def close(self) -> None:
        for connection in self._opened:
            connection.close()

    def add(self, schema: Any, subject: str = "other", refers_to: Sequence[str] = ()) -> int:
        """Register a schema; its id. `refers_to` are subjects, whose newest schemas it names types of."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        if text not in self.schemas:
            self.schemas.append(text)
        found = self.schemas.index(text) + 1
        if refers_to:
            self.references[found] = [
                {"name": other, "subject": other, "version": len(self.subjects[other])} for other in refers_to
            ]
        versions = self.subjects.setdefault(subject, [])
        if found not in versions:
            versions.append(found)
        return found

    def answer(self, method: str, path: str, body: Any, login: str | None) -> tuple[int, Any]:
        self.asked.append(f"{method} {path}")
        if self.status is not None:
            return self.status, {"error_code": self.status, "message": "as the test wants"}
        if self.login is not None and login != self.login:
            return 401, {"error_code": 401, "message": "Unauthorized"}
        parts = [unquote(p) for p in urlsplit(path).path.strip("/").split("/")]
        if parts[:2] == ["schemas", "ids"]:
            known = 0 < int(parts[2]) <= len(self.schemas)
            return (200, self._schema(int(parts[2]))) if known else (404, {"error_code": 40403})
        return self._subject(method, parts[1], "".join(parts[3:]), body)

    def _schema(self, schema_id: int) -> dict[str, Any]:
        found: dict[str, Any] = {"schema": self.schemas[schema_id - 1]}
        if schema_id in self.references:
            found["references"] = self.references[schema_id]
        if schema_id in self.kinds:
            found["schemaType"] = self.kinds[schema_id]
        return found

    def add_protobuf(self, file: FileDescriptorProto, subject: str = "other", **refers_to: str) -> int:
        """Register a Protobuf file; its id. `refers_to` are subjects by the names of files, without `.proto`."""
        references = [
            {"name": f"{name}.proto", "subject": other, "version": len(self.subjects[other])}
            for name, other in refers_to.items()
        ]
        text = base64.b64encode(file.SerializeToString()).decode()
        return self._registered({"schema": text, "schemaType": "PROTOBUF", "references": references}, subject)

    def _registered(self, body: Any, subject: str) -> int:
        found = self.add(body["schema"], subject)
        if body.get("schemaType", "AVRO") != "AVRO":
            self.kinds[found] = body["schemaType"]
        if body.get("references"):
            self.references[found] = body["references"]
        return found

    def _subject(self, method: str, subject: str, version: str, body: Any) -> tuple[int, Any]:
        if method == "POST":
            if subject in self.refused:
                return 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
            return 200, {"id": self._registered(body, subject)}
        versions = self.subjects.get(subject)
        if not versions:
            return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
        wanted = versions[-1] if version == "latest" else versions[int(version) - 1]
        return 200, {"subject": subject, "version": versions.index(wanted) + 1, "id": wanted, **self._schema(wanted)}


@contextmanager
def fake_registry(certificate: Signed | None = None) -> Iterator[FakeRegistry]:
    """A registry at `.url`, until the block ends; over TLS with a certificate."""
    registry = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: Any) -> None:
            status, found = registry.answer(self.command, self.path, body, self.headers.get("Authorization"))
            data = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        server.socket = _tls(certificate).wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    registry.url = f"{'http' if certificate is None else 'https'}://127.0.0.1:{server.server_port}"
    try:
        yield registry
    finally:
        registry.close()
        server.shutdown()
        server.server_close()


def _tls(certificate: Signed) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(certificate.certificate + certificate.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context
