"""All persistent queries of a server: start, stop, restart, and how each stands."""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import PersistentQuery, QueryState, SessionContext
from millpond.config import Settings
from millpond.errors import MillpondError
from millpond.plan.nodes import Sink
from millpond.queries.checkpoint import Checkpoint
from millpond.queries.history import History
from millpond.queries.life import STOP_SECONDS, QueryLife, Status, Surroundings
from millpond.queries.slots import Slots
from millpond.queries.source_position import Lag
from millpond.spark.run import Engine
from millpond.stores.access import StoreAccess
from millpond.stores.protocol import Log

logger = logging.getLogger(__name__)

Replan = Callable[[PersistentQuery, SessionContext], Sink]
"""The plan of a query that the catalog remembers, made again from its SQL."""


class Queries:
    """The running queries by id. The catalog is told of every change of state."""

    def __init__(
        self,
        catalog: Catalog,
        engine: Engine,
        log: Callable[[str], Log],
        access: Callable[[str], StoreAccess],
        settings: Settings,
        replan: Replan,
    ) -> None:
        self.catalog, self.engine, self.log, self.access = catalog, engine, log, access
        self.settings, self.replan = settings, replan
        self.slots = Slots(engine.slots)
        self.history = History()
        self.lives: dict[str, QueryLife] = {}
        self.lock = threading.Lock()

    def checkpoint(self, query_id: str) -> Path:
        return (self.settings.data_dir / "checkpoints" / query_id).absolute()

    # --- the server starts and stops ---

    def resume_all(self) -> None:
        """After a restart of the server: every query that should run runs again. One that cannot is `errored`."""
        self._sweep()
        for query in self.catalog.queries():
            if query.intended_state is QueryState.RUNNING and query.id not in self.lives:
                self._resume(query)
            elif query.state is QueryState.TERMINATE_REQUESTED:
                self._update(query.id, state=QueryState.TERMINATED, mode="", mode_reason="", error="")

    def _sweep(self) -> None:
        """Checkpoints of queries that are gone: a server that was killed while it dropped them left them behind."""
        known = {query.id for query in self.catalog.queries()}
        folder = self.checkpoint("x").parent
        for path in folder.iterdir() if folder.exists() else ():
            if path.name not in known:
                shutil.rmtree(path, ignore_errors=True)

    def _resume(self, query: PersistentQuery) -> None:
        """One query that cannot be planned must not keep the others, or the server, from starting."""
        try:
            self.start(query, self._plan_again(query))
        except Exception as error:
            if not isinstance(error, MillpondError):
                logger.exception("query %s cannot be resumed", query.id)
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            self._update(query.id, state=QueryState.ERRORED, error=reason, mode="", mode_reason="")

    def _plan_again(self, query: PersistentQuery) -> Sink:
        context = SessionContext(database=query.database, schema=query.schema, store=query.store, role=query.owner)
        return self.replan(query, context)

    def stop_all(self) -> None:
        """The server stops: what should run keeps its intended state."""
        with self.lock:
            lives = list(self.lives.values())
        stops = [threading.Thread(target=life.stop) for life in lives]
        for stop in stops:
            stop.start()
        for stop in stops:
            stop.join()

    # --- one query ---

    def start(self, query: PersistentQuery, plan: Sink) -> None:
        """Begin the life of a query that the catalog has already."""
        self._begin(self._life(query, plan))

    def _life(self, query: PersistentQuery, plan: Sink) -> QueryLife:
        """Raises what keeps its stores from being connected to."""
        return QueryLife(
            query,
            plan,
            Checkpoint(self.checkpoint(query.id)),
            Surroundings(self.engine, self.log, self.access, self.slots, self.settings),
            lambda status: self._report(query.id, status),
        )

    def _begin(self, life: QueryLife) -> None:
        query = life.query
        self.history.note(query.id, QueryState.STARTING.value)
        with self.lock:
            self.lives[query.id] = life
        life.start()

    def restart(self, query: PersistentQuery) -> None:
        """Stop the query if it runs, and start it again from its checkpoint.

        Raises why it cannot be planned, and QUERY_NOT_STOPPED.
        """
        life = self._life(query, self._plan_again(query))
        self._end(query.id)
        running, starting = QueryState.RUNNING, QueryState.STARTING
        self._update(query.id, intended_state=running, state=starting, error="", mode="", mode_reason="")
        self._begin(life)

    def terminate(self, query: PersistentQuery) -> None:
        """Stop the query for good. Its checkpoint is kept: RESTART goes on where it stopped.

        Raises QUERY_NOT_STOPPED: it is ended all the same, only later.
        """
        self._update(query.id, intended_state=QueryState.TERMINATED, state=QueryState.TERMINATE_REQUESTED)
        try:
            self._end(query.id)
        except MillpondError:
            self._once_ended(query.id, self._terminated)
            raise
        self._terminated(query.id)

    def _terminated(self, query_id: str) -> None:
        self._update(query_id, state=QueryState.TERMINATED, mode="", mode_reason="", error="")

    def forget(self, query_id: str) -> None:
        """The checkpoint goes: its sink does not exist any more, or its start was undone.

        A run that does not stop may still write into it, so it goes when that has ended.
        """
        try:
            self._end(query_id)
        except MillpondError:
            self._once_ended(query_id, self._clear)
        else:
            self._clear(query_id)

    def _once_ended(self, query_id: str, then: Callable[[str], None]) -> None:
        """Do `then` when the run that does not stop has ended, unless the query was started again."""
        life = self.lives[query_id]

        def wait() -> None:
            life.thread.join()
            with self.lock:
                again = self.lives.get(query_id) not in (None, life)
                if not again:
                    self.lives.pop(query_id, None)
            try:
                if not again:
                    then(query_id)
            except Exception as error:  # noqa: BLE001 - the boundary of the thread; the server may have ended meanwhile
                logger.warning("the end of query %s is not noted: %s", query_id, error)

        threading.Thread(target=wait, name=f"end of {query_id[:8]}", daemon=True).start()

    def _clear(self, query_id: str) -> None:
        self.engine.forget(query_id)
        self.history.forget(query_id)
        shutil.rmtree(self.checkpoint(query_id), ignore_errors=True)

    def _end(self, query_id: str) -> None:
        """Raises QUERY_NOT_STOPPED; then the life stays known until it has ended, and nothing of it is removed."""
        life = self.lives.get(query_id)
        if life is not None and not life.stop():
            raise MillpondError("QUERY_NOT_STOPPED", id=query_id, seconds=f"{STOP_SECONDS:g}")
        with self.lock:
            self.lives.pop(query_id, None)

    # --- how they stand ---

    def _report(self, query_id: str, status: Status) -> None:
        """Called by the query's own thread, which must go on even if the catalog cannot be written."""
        try:
            known = self.catalog.query(query_id)
            if known is None or known.intended_state is not QueryState.RUNNING:
                return
            self._update(
                query_id,
                state=status.state,
                mode=status.mode,
                mode_reason=status.mode_reason,
                error=status.error,
            )
        except MillpondError as error:
            logger.warning("the state of query %s is not written: %s", query_id, error.sentence)

    def _update(
        self,
        query_id: str,
        state: QueryState,
        intended_state: QueryState | None = None,
        error: str | None = None,
        mode: str | None = None,
        mode_reason: str | None = None,
    ) -> None:
        self.catalog.update_query(
            query_id, state=state, intended_state=intended_state, error=error, mode=mode, mode_reason=mode_reason
        )
        self.history.note(query_id, state.value, error or mode_reason or mode or "")

    def status(self, query_id: str) -> Status | None:
        life = self.lives.get(query_id)
        return life.status if life else None

    def filling(self, relation_id: str) -> Status | None:
        """The status of the query that writes a view."""
        return next((life.status for life in self._writers(relation_id)), None)

    def unread(self, relation_id: str) -> int:
        """Rows that the query which writes a view will read; 0 if none runs or its store is away."""
        with contextlib.suppress(MillpondError):
            lives = self._writers(relation_id)
            return sum(life.unread() for life in lives if life.status.state is not QueryState.ERRORED)
        return 0

    def _writers(self, relation_id: str) -> list[QueryLife]:
        """The lives of the queries that write into a relation."""
        return [life for life in list(self.lives.values()) if life.plan.relation.id == relation_id]

    def lag(self, query_id: str) -> Lag | None:
        """What the query has not read from its sources; None if that is not known, because it was never started
        or is terminated. Raises STORE_UNREACHABLE."""
        life = self.lives.get(query_id)
        return life.lag() if life else None

    def metrics(self, query_id: str) -> Mapping[str, int]:
        """Figures of a running query: the engine's, and rows_out, lag and lag_ms if its store answers and tells them.

        Empty if it does not run.
        """
        life = self.lives.get(query_id)
        if life is None:
            return {}
        figures = dict(self.engine.figures(query_id))
        with contextlib.suppress(MillpondError):
            figures["rows_out"] = life.rows_out()
            lag = {"lag": (told := life.lag()).rows, "lag_ms": told.milliseconds}
            figures |= {name: value for name, value in lag.items() if value is not None}
        return figures
