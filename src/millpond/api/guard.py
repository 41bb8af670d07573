"""Keeps web pages of other sites away from a server that asks nobody for a password.

A browser can be led here in two ways: a page of another site posts to us (it then sends its Origin), or its
own name is made to resolve to this machine (it then sends that name as Host). Programs send neither.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.types import Scope

from millpond.errors import MillpondError

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_REMEMBERED_HOSTS = 256
"""Host headers whose verdict is kept; beyond it (someone is trying names) each is judged again."""


class Guard:
    """Judges requests by their Host and Origin; `host` is the address that the server listens on."""

    def __init__(self, host: str) -> None:
        self._host = host.lower()
        self._everywhere = _is_wildcard(self._host)
        self._verdicts: dict[bytes, bool] = {}

    def check(self, scope: Scope) -> None:
        """Raises FOREIGN_SITE."""
        host = origin = b""
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
            elif name == b"origin":
                origin = value
        if not self._knows(host):
            raise MillpondError("FOREIGN_SITE", header="Host", value=_text(host))
        writes = scope["type"] == "websocket" or scope["method"] not in _SAFE_METHODS
        if origin and writes and urlsplit(_text(origin)).netloc.lower() != _text(host).lower():
            raise MillpondError("FOREIGN_SITE", header="Origin", value=_text(origin))

    def _knows(self, host: bytes) -> bool:
        verdict = self._verdicts.get(host)
        if verdict is None:
            verdict = self._is_ours(_host_name(_text(host)))
            if len(self._verdicts) < _REMEMBERED_HOSTS:
                self._verdicts[host] = verdict
        return verdict

    def _is_ours(self, name: str) -> bool:
        """Loopback or the configured name; when listening everywhere, any address or undotted name."""
        if name == self._host or name == "localhost" or name.endswith(".localhost"):
            return True
        address = _address(name)
        if address is None:
            return self._everywhere and bool(name) and "." not in name
        return self._everywhere or address.is_loopback


def _text(header: bytes) -> str:
    return header.decode("latin-1")


def _host_name(host: str) -> str:
    """The name in a Host header, without port and brackets, lower case."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _is_wildcard(host: str) -> bool:
    address = _address(host)
    return host == "" or (address is not None and address.is_unspecified)
