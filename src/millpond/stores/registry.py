"""A client of Confluent's schema registry: schemas by their id, the latest of a subject, and new ones."""

from __future__ import annotations

import base64
import ssl
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from millpond.avro_types import UnreadableSchemaError, combined
from millpond.catalog.store_kinds import speaks_tls
from millpond.errors import MillpondError
from millpond.stores.java_client import tls_config
from millpond.stores.kafka_security import verifies_host

SECONDS = 10.0
SERIALIZED = "?format=serialized"
"""Protobuf's schemas as compiled files; a registry that does not know that answers with their text."""
OF_TYPE = "it is of type"
CONTENT = "application/vnd.schemaregistry.v1+json"
LOGINS = (("confluent.username", "confluent.password"), ("confluent_cloud.key", "confluent_cloud.secret"))


@dataclass(frozen=True, slots=True)
class RegistryAccess:
    """Where a registry is and how to log in. `properties` hold secrets, so they are never shown."""

    name: str
    urls: tuple[str, ...]
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def login(self) -> str | None:
        """The Authorization header; never to be shown."""
        for user, password in LOGINS:
            if self.properties.get(user):
                pair = f"{self.properties[user]}:{self.properties.get(password, '')}"
                return "Basic " + base64.b64encode(pair.encode()).decode()
        return None

    def java_options(self) -> dict[str, str]:
        """The same for the JVM side; with secrets in it."""
        options = {"urls": ",".join(self.urls), **tls_config(self.properties)}
        if self.login:
            options["authorization"] = self.login
        return options


def registry_access(name: str, properties: Mapping[str, str]) -> RegistryAccess:
    """`properties` are those of CREATE SCHEMA_REGISTRY, secrets among them."""
    cloud = bool(properties.get("confluent_cloud.key"))
    scheme = "https" if cloud or speaks_tls(properties) else "http"
    given = [u.strip().rstrip("/") for u in properties.get("uris", "").split(",") if u.strip()]
    urls = tuple(u if "://" in u else f"{scheme}://{u}" for u in given)
    return RegistryAccess(name, urls, dict(properties))


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as its registry has it."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class SerializedSchema:
    """A Protobuf file as its registry has it: `text` is a `FileDescriptorProto` in base64."""

    text: str
    references: tuple[Mapping[str, Any], ...] = ()
    imports: tuple[tuple[str, SerializedSchema], ...] = ()
    """The files that `references` name, by the names under which they are imported."""
    id: int = 0
    """That of the newest schema of a subject, if it was asked for."""


class RegistryClient:
    """Calls one registry; of several addresses the first that answers. Safe to use from several threads."""

    def __init__(self, access: RegistryAccess, seconds: float = SECONDS) -> None:
        self.access, self.seconds = access, seconds
        self._lock = threading.Lock()

    def schema(self, schema_id: int) -> str | None:
        """The text of an Avro schema, complete in itself; None if there is none of that id.

        Raises REGISTRY_*, SCHEMA_NOT_AVRO.
        """
        found = self._call("GET", f"/schemas/ids/{schema_id}")
        return None if found is None else self._avro(found, f"schema {schema_id}")

    def latest(self, subject: str) -> RegisteredSchema | None:
        """The newest schema of a subject, None if there is no such subject. Raises REGISTRY_*, SCHEMA_NOT_AVRO."""
        found = self._call("GET", f"/subjects/{quote(subject, safe='')}/versions/latest")
        return None if found is None else RegisteredSchema(int(found["id"]), self._avro(found, f"subject '{subject}'"))

    def serialized(self, schema_id: int) -> SerializedSchema | None:
        """A Protobuf schema with the files that it imports, None if there is none of that id.

        Raises REGISTRY_*, UnreadableSchemaError.
        """
        found = self._call("GET", f"/schemas/ids/{schema_id}{SERIALIZED}")
        return None if found is None else self._serialized(found)

    def latest_serialized(self, subject: str) -> SerializedSchema | None:
        """The newest schema of a subject, if it is of Protobuf; None if there is no such subject.

        Raises REGISTRY_*, UnreadableSchemaError.
        """
        found = self._call("GET", f"/subjects/{quote(subject, safe='')}/versions/latest{SERIALIZED}")
        return None if found is None else self._serialized(found)

    def _serialized(self, found: Mapping[str, Any]) -> SerializedSchema:
        if found.get("schemaType") != "PROTOBUF":
            raise UnreadableSchemaError("it is not of type PROTOBUF")
        files = [self._referred(reference) for reference in found.get("references") or ()]
        references = tuple(found.get("references") or ())
        return SerializedSchema(found["schema"], references, tuple(files), int(found.get("id", 0)))

    def _referred(self, reference: Mapping[str, Any]) -> tuple[str, SerializedSchema]:
        subject = quote(reference["subject"], safe="")
        found = self._call("GET", f"/subjects/{subject}/versions/{reference['version']}{SERIALIZED}")
        if found is None:
            raise UnreadableSchemaError(f"it refers to '{reference['name']}', which is missing")
        return reference["name"], self._serialized(found)

    def register(
        self, subject: str, text: str, schema_type: str = "AVRO", references: Sequence[Mapping[str, Any]] = ()
    ) -> int:
        """The id of the schema, which the subject has from now on. Raises REGISTRY_*, SCHEMA_REFUSED."""
        schema: dict[str, Any] = {"schema": text}
        if schema_type != "AVRO":
            schema |= {"schemaType": schema_type, "references": list(references)}
        found = self._call("POST", f"/subjects/{quote(subject, safe='')}/versions", schema, subject)
        if found is None:
            raise self._error("REGISTRY_UNREACHABLE", reason="it does not know subjects: is it a schema registry?")
        return int(found["id"])

    def _avro(self, found: Mapping[str, Any], what: str) -> str:
        """The text of an answer's schema, with those that it refers to in it. Raises SCHEMA_NOT_AVRO, REGISTRY_*."""
        kind = found.get("schemaType", "AVRO")
        if kind != "AVRO":
            raise MillpondError("SCHEMA_NOT_AVRO", what=what, reason=f"{OF_TYPE} {kind}")
        if not found.get("references"):
            return str(found["schema"])
        texts = {what: str(found["schema"])}
        self._refer(found["references"], what, texts)
        try:
            return combined(list(reversed(texts.values())))
        except UnreadableSchemaError as error:
            raise MillpondError("SCHEMA_NOT_AVRO", what=what, reason=str(error)) from None

    def _refer(self, references: Iterable[Mapping[str, Any]], what: str, texts: dict[str, str]) -> None:
        """Put the schemas that are referred to behind those that refer to them."""
        for reference in references:
            path = f"/subjects/{quote(reference['subject'], safe='')}/versions/{reference['version']}"
            found = self._call("GET", path)
            if found is None:
                reason = f"it refers to version {reference['version']} of '{reference['subject']}', which is missing"
                raise MillpondError("SCHEMA_NOT_AVRO", what=what, reason=reason)
            texts.pop(path, None)
            texts[path] = str(found["schema"])
            self._refer(found.get("references") or (), what, texts)

    def close(self) -> None:
        if "_http" in self.__dict__:
            self._http.close()

    @cached_property
    def _http(self) -> httpx.Client:
        headers = {"Accept": CONTENT, **({"Authorization": login} if (login := self.access.login) else {})}
        return httpx.Client(timeout=self.seconds, headers=headers, verify=_tls(self.access.properties))

    def _call(self, method: str, path: str, body: Any = None, subject: str = "") -> dict[str, Any] | None:
        """The answer, None for 404."""
        reason = "it has no address"
        for url in self.access.urls:
            try:
                with self._lock:
                    http = self._http
                answer = http.request(method, url + path, json=body, headers={"Content-Type": CONTENT})
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                reason = f"{_host(url)}: {error or type(error).__name__}"
                continue
            if answer.status_code < 500 and answer.status_code != 429:
                return self._read(answer, subject)
            reason = f"{_host(url)} answers {answer.status_code}"
        raise self._error("REGISTRY_UNREACHABLE", reason=reason)

    def _read(self, answer: httpx.Response, subject: str) -> dict[str, Any] | None:
        try:
            found = answer.json()
        except ValueError:
            found = {}
        found = found if isinstance(found, dict) else {}
        if answer.status_code < 300:
            return found
        reason = str(found.get("message") or answer.status_code)
        match answer.status_code:
            case 404:
                return None
            case 401 | 403:
                raise self._error("REGISTRY_LOGIN_FAILED", reason=reason)
            case 409 | 422:
                raise MillpondError("SCHEMA_REFUSED", subject=subject, reason=reason)
        raise self._error("REGISTRY_UNREACHABLE", reason=f"it answers {answer.status_code}: {reason}")

    def _error(self, error: str, reason: str) -> MillpondError:
        return MillpondError(error, name=self.access.name, reason=reason)


def is_of_protobuf(error: MillpondError) -> bool:
    """Whether what was asked for as Avro is of Protobuf."""
    return error.name == "SCHEMA_NOT_AVRO" and error.params["reason"] == f"{OF_TYPE} PROTOBUF"


def _host(url: str) -> str:
    """Without a user or password that someone wrote into the address."""
    parts = urlsplit(url)
    return f"{parts.hostname or url}:{parts.port}" if parts.port else parts.hostname or "its address"


def _tls(properties: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=properties.get("tls.ca_cert_file"))
    if not verifies_host(properties):
        context.check_hostname = False
    certificate, key = properties.get("tls.client.cert_file"), properties.get("tls.client.key_file")
    if certificate and key:
        # OpenSSL reads them from files only.
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(f"{certificate}\n{key}\n")
            file.flush()
            context.load_cert_chain(file.name, password=properties.get("tls.client.key_passphrase"))
    return context
