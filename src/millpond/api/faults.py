"""What every route answers when it cannot do what was asked: `{message, traceID}` with an HTTP status.

An error of SQL is not one of these: it is a 200 with an `sqlState` (see `deltastream.envelope`).
"""

from __future__ import annotations

import uuid
from typing import Final

import orjson

from millpond.errors import MillpondError

HTTP_STATUS: Final = {
    "MALFORMED_REQUEST": 400,
    "REQUEST_TOO_LARGE": 400,
    "PARTITION_NOT_FOUND": 400,
    "FOREIGN_SITE": 403,
    "NO_SUCH_ADDRESS": 404,
    "STATEMENT_NOT_FOUND": 404,
    "SERVER_STOPPING": 503,
    "INTERNAL": 500,
}
"""Error name -> status; others are SQL errors. Never 401: the Go client would poll on for ever."""


def fault(error: MillpondError) -> tuple[int, bytes]:
    """The status and JSON body of an error of the request itself."""
    reference = error.params.get("reference") or uuid.uuid4().hex
    body = orjson.dumps({"message": str(error), "traceID": reference})
    return HTTP_STATUS.get(error.name, 400), body
