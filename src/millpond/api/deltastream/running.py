"""Running a request's statements in its session."""

from __future__ import annotations

from dataclasses import replace

from millpond.api.deltastream.requests import StatementRequest
from millpond.api.deltastream.sessions import Sessions
from millpond.api.live import Answers, to_the_end
from millpond.catalog.model import SessionContext
from millpond.serve.answers import Answer, Engine, Subscription

NOT_KEPT = "SET holds for the rest of this request alone: send 'sessionID' in its parameters to keep it."


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
            if not request.session and answers[-1].context.settings != context.settings:
                answers = [*answers[:-1], _with_note(answers[-1])]
        return answers


def _with_note(last: Answer | Subscription) -> Answer | Subscription:
    """What SET changes does not travel in an answer's context, as what USE changes does."""
    if not isinstance(last, Answer):
        return last
    return replace(last, message=" ".join(filter(None, (last.message, NOT_KEPT))))
