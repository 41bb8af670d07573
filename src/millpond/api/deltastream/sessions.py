"""Contexts that outlive a request: what SET and USE changed, by the client's `sessionID`."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from millpond.api.deltastream.requests import StatementRequest
from millpond.catalog.model import SessionContext

SESSIONS: Final = 10_000
"""Sessions remembered, the least recently used forgotten first: a client may invent one a request."""

_DEFAULT: Final = SessionContext()


class Sessions:
    """sessionID -> context. A request without one starts from the defaults, and nothing is kept of it."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, SessionContext] = OrderedDict()

    def context(self, request: StatementRequest) -> SessionContext:
        """What the request's names resolve against: its own fields, else the session's, else the defaults."""
        kept = self._known.get(request.session, _DEFAULT) if request.session else _DEFAULT
        if not request.names_anything:
            return kept
        return SessionContext(
            request.organization or kept.organization,
            request.role or kept.role,
            request.database or kept.database,
            request.schema or kept.schema,
            request.store or kept.store,
            request.compute_pool or kept.compute_pool,
            request.dialect or kept.dialect,
            request.timezone or kept.timezone,
            kept.settings,
        )

    def keep(self, request: StatementRequest, context: SessionContext) -> None:
        """Remember `context` as what the request's session is in now."""
        if not request.session:
            return
        self._known[request.session] = context
        self._known.move_to_end(request.session)
        if len(self._known) > SESSIONS:
            self._known.popitem(last=False)
