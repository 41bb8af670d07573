"""All persistent queries of a server: start, stop, restart, and how each stands."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import PersistentQuery, QueryState, SessionContext
from millpond.config import Settings
from millpond.errors import MillpondError
from millpond.plan.nodes import Scan, Sink, walk
from millpond.queries.checkpoint import Checkpoint
from millpond.queries.life import QueryLife, Status
from millpond.queries.slots import Slots
from millpond.spark.run import Engine
from millpond.stores.protocol import Log

Replan = Callable[[PersistentQuery, SessionContext], Sink]
"""The plan of a query that the catalog remembers, made again from its SQL."""


class Queries:
    """The running queries by id. The catalog is told of every change of state."""

    def __init__(
        self,
        catalog: Catalog,
        engine: Engine,
        log: Callable[[str], Log],
        bootstrap: Callable[[str], str],
        settings: Settings,
        replan: Replan,
    ) -> None:
        self.catalog, self.engine, self.log, self.bootstrap = catalog, engine, log, bootstrap
        self.settings, self.replan = settings, replan
        self.slots = Slots(engine.slots)
        self.lives: dict[str, QueryLife] = {}
        self.lock = threading.Lock()

    def checkpoint(self, query_id: str) -> Path:
        return (self.settings.data_dir / "checkpoints" / query_id).absolute()

    def start(self, query: PersistentQuery, plan: Sink) -> None:
        """Begin the life of a query that the catalog has already."""
        store = plan.relation.store
        life = QueryLife(
            query=query,
            plan=plan,
            engine=self.engine,
            log=self.log(store),
            bootstrap=self.bootstrap(store),
            checkpoint=Checkpoint(self.checkpoint(query.id)),
            slots=self.slots,
            settings=self.settings,
            report=lambda status: self._report(query.id, status),
        )
        with self.lock:
            self.lives[query.id] = life
        life.start()

    def resume_all(self) -> None:
        """After a restart of the server: every query that should run runs again. One that cannot is `errored`."""
        for query in self.catalog.queries():
            if query.intended_state is QueryState.RUNNING and query.id not in self.lives:
                self._resume(query)

    def _resume(self, query: PersistentQuery) -> None:
        try:
            self.start(query, self._plan_again(query))
        except MillpondError as error:
            self.catalog.update_query(query.id, state=QueryState.ERRORED, error=str(error), mode="", mode_reason="")

    def _plan_again(self, query: PersistentQuery) -> Sink:
        context = SessionContext(database=query.database, schema=query.schema, store=query.store, role=query.owner)
        return self.replan(query, context)

    def restart(self, query: PersistentQuery) -> None:
        """Stop the query if it runs, and start it again from its checkpoint."""
        self._end(query.id)
        self.catalog.update_query(query.id, intended_state=QueryState.RUNNING, state=QueryState.STARTING, error="")
        self._resume(replace(query, intended_state=QueryState.RUNNING))

    def terminate(self, query: PersistentQuery) -> None:
        """Stop the query for good. Its checkpoint is kept: RESTART goes on where it stopped."""
        self.catalog.update_query(query.id, intended_state=QueryState.TERMINATED, state=QueryState.TERMINATE_REQUESTED)
        self._end(query.id)
        self.catalog.update_query(query.id, state=QueryState.TERMINATED, mode="", mode_reason="", error="")

    def forget(self, query_id: str) -> None:
        """The checkpoint goes: its sink does not exist any more, or its start was undone."""
        self._end(query_id)
        shutil.rmtree(self.checkpoint(query_id), ignore_errors=True)

    def _end(self, query_id: str) -> None:
        with self.lock:
            life = self.lives.pop(query_id, None)
        if life is not None:
            life.stop()

    def stop_all(self) -> None:
        """The server stops: what should run keeps its intended state."""
        with self.lock:
            lives = list(self.lives.values())
        stops = [threading.Thread(target=life.stop) for life in lives]
        for stop in stops:
            stop.start()
        for stop in stops:
            stop.join()

    def _report(self, query_id: str, status: Status) -> None:
        known = self.catalog.query(query_id)
        if known is None or known.intended_state is not QueryState.RUNNING:
            return
        told = (known.state, known.mode, known.mode_reason, known.error)
        if told != (status.state, status.mode, status.mode_reason, status.error):
            self.catalog.update_query(
                query_id,
                state=status.state,
                mode=status.mode,
                mode_reason=status.mode_reason,
                error=status.error,
            )

    def status(self, query_id: str) -> Status | None:
        life = self.lives.get(query_id)
        return life.status if life else None

    def filling(self, relation_id: str) -> Status | None:
        """The status of the query that writes a view."""
        for life in list(self.lives.values()):
            if life.plan.relation.id == relation_id:
                return life.status
        return None

    def lag(self, query_id: str) -> int | None:
        """Rows in the source's topic behind the last committed batch; None if it does not run."""
        life = self.lives.get(query_id)
        return life._waiting() if life else None

    def metrics(self, query_id: str) -> Mapping[str, int]:
        """Figures of a running query; empty if it does not run."""
        return self.engine.figures(query_id) if query_id in self.lives else {}

    def progress(self, query_id: str) -> Mapping[str, Any]:
        life = self.lives.get(query_id)
        return life.progress() if life else {}


def starting_offsets(plan: Sink, log: Log) -> str | None:
    """`starting.position` as partition -> offset in JSON, fixed when the query is made; None: from the beginning."""
    scan = next(n for n in walk(plan) if isinstance(n, Scan))
    topic, position = scan.relation.topic, scan.starting_position
    if position == "earliest":
        return None
    offsets = log.end_offsets(topic) if position == "latest" else log.offsets_at(topic, int(position))
    return json.dumps({str(p): o for p, o in offsets.items()})
