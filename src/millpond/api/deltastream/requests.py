"""A statement request: JSON, or multipart with a part `request` and any number of parts `attachments`."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from millpond.api.asgi import BODY_LIMIT_MB
from millpond.dialects import check_dialect
from millpond.errors import MillpondError

_TEXT_FIELDS: Final = ("organization", "role", "database", "schema", "store", "computePool")
_PARAMETERS: Final = ("sessionID", "timezone", "dialect")
_NO_FILES: Final[Mapping[str, bytes]] = {}


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """What a client asks. Empty text: not given, so the session's or the default holds."""

    statement: str
    organization: str = ""
    role: str = ""
    database: str = ""
    schema: str = ""
    store: str = ""
    compute_pool: str = ""
    session: str = ""
    timezone: str = ""
    dialect: str = ""
    resume: str | None = None
    attachments: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def names_anything(self) -> bool:
        """Whether it brings names of its own to resolve against; most requests of programs do not."""
        given = self.organization or self.role or self.database or self.schema or self.store or self.compute_pool
        return bool(given or self.timezone or self.dialect)


async def read_request(content_type: bytes, body: bytes) -> StatementRequest:
    """The request in `body`. Raises MALFORMED_REQUEST."""
    if content_type.startswith(b"multipart/form-data"):
        return await _from_multipart(content_type, body)
    return from_json(body)


def from_json(body: bytes | str, attachments: Mapping[str, bytes] = _NO_FILES) -> StatementRequest:
    """The request written as a JSON object. Raises MALFORMED_REQUEST."""
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise malformed(f"it is not JSON ({error})") from None
    if not isinstance(given, dict):
        raise malformed("it is not a JSON object")
    statement = given.get("statement")
    if not isinstance(statement, str) or not statement.strip():
        raise malformed("'statement' is missing or empty")
    parameters = given.get("parameters")
    if parameters is None:
        parameters = {}
    if not isinstance(parameters, dict):
        raise malformed("'parameters' is not an object")
    organization, role, database, schema, store, pool = (_text(given, name) for name in _TEXT_FIELDS)
    session, timezone, dialect = (_text(parameters, name) for name in _PARAMETERS)
    if dialect:
        check_dialect(dialect)
    return StatementRequest(
        statement,
        _uuid_or_none(organization),
        role,
        database,
        schema,
        store,
        pool,
        session,
        timezone,
        dialect,
        _text(given, "resume") or None,
        attachments,
    )


def malformed(problem: str) -> MillpondError:
    return MillpondError("MALFORMED_REQUEST", problem=problem)


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise malformed(f"'{name}' is not a string")
    return value


def _uuid_or_none(organization: str) -> str:
    """Clients insist on a UUID in the echo; there is one organization, and any name means it."""
    try:
        return str(uuid.UUID(organization)) if organization else ""
    except ValueError:
        return ""


async def _from_multipart(content_type: bytes, body: bytes) -> StatementRequest:
    async def whole() -> AsyncGenerator[bytes, None]:
        yield body

    headers = Headers(raw=[(b"content-type", content_type)])
    parser = MultiPartParser(headers, whole(), max_part_size=BODY_LIMIT_MB * 1_000_000)
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError) as error:
        raise malformed(f"it is not proper multipart ({error})") from None
    try:
        request = form.get("request")
        if request is None:
            raise malformed("the part 'request' is missing")
        files = [f for f in form.getlist("attachments") if isinstance(f, UploadFile)]
        attachments = {f.filename or "attachment": await f.read() for f in files}
        return from_json(await request.read() if isinstance(request, UploadFile) else request, attachments)
    finally:
        await form.close()
