"""Running a request's statements in its session."""

from __future__ import annotations

from millpond.api.deltastream.requests import StatementRequest
from millpond.api.deltastream.sessions import Sessions
from millpond.api.live import Answers, to_the_end
from millpond.catalog.model import SessionContext
from millpond.serve.answers import Answer, Engine


class Runner:
    """The engine as the routes use it: with sessions, and with one live result at most."""

    def __init__(self, engine: Engine, sessions: Sessions) -> None:
        self._engine = engine
        self._sessions = sessions

    def context(self, request: StatementRequest) -> SessionContext:
        return self._sessions.context(request)

    def pull(self, request: StatementRequest, context: SessionContext) -> Answer | None:
        """The answer if it is a cheap pull query. Raises MillpondError."""
        if request.attachments or request.resume:
            return None
        return self._engine.pull(request.statement, context)

    async def run(self, request: StatementRequest, context: SessionContext) -> Answers:
        """Run all of the request's statements; a push query that is not the last one is closed unread.

        Goes on to the end when the caller is cancelled. Raises MillpondError.
        """
        return await to_the_end(self._run(request, context))

    async def _run(self, request: StatementRequest, context: SessionContext) -> Answers:
        answers = await self._engine.execute(
            request.statement, context, attachments=request.attachments, resume=request.resume
        )
        for unread in answers[:-1]:
            if not isinstance(unread, Answer):
                await unread.aclose()
        if answers:
            self._sessions.keep(request, answers[-1].context)
        return answers
