"""Resume tokens: where a push query was, as opaque text that only its own query takes back."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from millpond.errors import MillpondError

VERSION = 1
DEFAULT_DELETE_RETENTION_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Token:
    """A place in a push query.

    `offsets`: next offset per partition. `written_at`: epoch ms by which everything before was written, so that
    it is known when deletes after it may have been compacted away. `after`: only rows with keys up to this one
    (as bytes) have been delivered yet, in the state of `offsets`; None: all.
    """

    relation: str
    query: str
    offsets: Mapping[int, int] = field(default_factory=dict)
    written_at: int = 0
    after: bytes | None = None

    def encode(self) -> str:
        """URL-safe text."""
        flat = [n for pair in self.offsets.items() for n in pair]
        after = None if self.after is None else base64.b64encode(self.after).decode()
        body = orjson.dumps([VERSION, self.relation, self.query, self.written_at, flat, after])
        return base64.urlsafe_b64encode(zlib.crc32(body).to_bytes(4, "big") + body).rstrip(b"=").decode()


def decode_token(text: str, relation: str, query: str) -> Token:
    """The token that `text` is, if it is one of this query of this relation. Raises INVALID_TOKEN."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        body = data[4:]
        if zlib.crc32(body) != int.from_bytes(data[:4], "big"):
            raise ValueError
        token = _token(orjson.loads(body))
    except (ValueError, TypeError, IndexError, binascii.Error, UnicodeEncodeError):
        raise MillpondError("INVALID_TOKEN", reason="it is not whole") from None
    if token.relation != relation:
        raise MillpondError("INVALID_TOKEN", reason="it belongs to another relation")
    if token.query != query:
        raise MillpondError("INVALID_TOKEN", reason="its query had other columns or another condition")
    return token


def _token(fields: Any) -> Token:
    version, relation, query, written_at, flat, after = fields
    if version != VERSION:
        raise ValueError
    offsets = dict(zip(flat[::2], flat[1::2], strict=True))
    return Token(relation, query, offsets, written_at, None if after is None else base64.b64decode(after))


def check_not_expired(
    token: Token,
    topic: str,
    firsts: Mapping[int, int],
    ends: Mapping[int, int],
    config: Mapping[str, str],
    now_ms: int,
) -> None:
    """Raises TOKEN_EXPIRED if the topic may have lost something since: records, or deletes by compaction.

    `firsts` and `ends` are the topic's offsets, `config` its settings.
    """
    lost = any(offset < firsts.get(p, 0) or offset > ends.get(p, 0) for p, offset in token.offsets.items())
    behind = any(offset < ends.get(p, 0) for p, offset in token.offsets.items())
    keeps_deletes_ms = int(config.get("delete.retention.ms") or DEFAULT_DELETE_RETENTION_MS)
    compacted = "compact" in config.get("cleanup.policy", "")
    if lost or (compacted and behind and now_ms - token.written_at > keeps_deletes_ms):
        raise MillpondError("TOKEN_EXPIRED", topic=topic)
