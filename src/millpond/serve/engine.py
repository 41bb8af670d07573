"""The facade that `api` and `cli` see: text in, answers and subscriptions out."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from typing import TypeVar

from sqlglot import exp

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import ORGANIZATION, RelationKind, SessionContext
from millpond.catalog.names import dotted, resolve_database, resolve_schema, resolve_store
from millpond.config import Settings
from millpond.errors import MillpondError
from millpond.plan.attachments import Files
from millpond.plan.explain import explain
from millpond.plan.planner import Planner, parts
from millpond.plan.pointing import point
from millpond.plan.properties import SETTINGS, read_properties
from millpond.plan.sources import resolve_table
from millpond.plan.stages import Planned
from millpond.queries.registry import Queries
from millpond.serve.answers import Answer, Metric, Subscription
from millpond.serve.describe import describe
from millpond.serve.described import described_statement
from millpond.serve.following import Following
from millpond.serve.listing import list_things
from millpond.serve.live_facts import LiveFacts
from millpond.serve.metrics import samples
from millpond.serve.pulling import Pulling
from millpond.serve.reachability import Reachability
from millpond.serve.runner import Runner
from millpond.spark.run import Engine
from millpond.sql import statements as st
from millpond.sql.parser import parse
from millpond.stores.connections import Connections
from millpond.types import VARCHAR, Column
from millpond.views.reader import ViewReader
from millpond.views.supervisor import Supervisor

SUMMARY = tuple(Column(name, VARCHAR) for name in ("Type", "Name", "Command", "Summary", "Path"))
"""The one row that a statement with effects answers; Path is a JSON array."""
LOOKS = (st.List, st.Describe, st.Use, st.Set, st.Explain, st.CanI)
"""Statements that change nothing on the server: they wait for no other statement."""
LOOK_THREADS = 4
DRAIN_SECONDS = 60
"""How long a stop waits for a statement: a CREATE waits for topics and for the view store, about 10 s each; a
query that does not stop takes 30."""
SHORT = 2_000
"""Characters of a text that is read in some milliseconds, faster than another thread begins."""
_Given = TypeVar("_Given")
_Made = TypeVar("_Made")
logger = logging.getLogger(__name__)


class StreamEngine:
    """Executes statements. Statements with effects run one at a time; queries and looks run side by side."""

    def __init__(
        self,
        catalog: Catalog,
        queries: Queries,
        connections: Connections,
        spark: Engine,
        views: Supervisor,
        broker_alive: Callable[[], bool],
        settings: Settings,
        emulator_alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self.catalog, self.queries, self.connections, self.spark = catalog, queries, connections, spark
        self.views, self.settings = views, settings
        self.broker_alive, self.emulator_alive = broker_alive, emulator_alive
        self.facts = LiveFacts(catalog, queries, connections.log, self._view_report)
        self.reader = ViewReader(views.path, settings.pull_timeout_seconds)
        self.pulling = Pulling(catalog, queries, self.reader, self.facts, views.progress)
        self.following = Following(catalog, connections, self.reader)
        self.runner = Runner(
            catalog,
            queries,
            views,
            connections.log,
            connections.check,
            self.following.end,
            connections.codecs,
        )
        self.reachability = Reachability(lambda: [s.name for s in catalog.stores()], connections.reach)
        self.threads = ThreadPoolExecutor(settings.pull_threads, thread_name_prefix="pull")
        self.looks = ThreadPoolExecutor(LOOK_THREADS, thread_name_prefix="look")
        self.effects = ThreadPoolExecutor(1, thread_name_prefix="statement")
        self.running: set[Future[Answer]] = set()
        self.draining = threading.Event()

    async def execute(
        self,
        sql: str,
        context: SessionContext,
        *,
        attachments: Mapping[str, bytes] | None = None,
        resume: str | None = None,
    ) -> Sequence[Answer | Subscription]:
        """Run every statement of `sql` in order; the context flows from one to the next. Raises MillpondError.

        An error ends the batch: what the statements before it did stays, their subscriptions are closed.
        """
        answers: list[Answer | Subscription] = []
        try:
            for statement in await _aside(parse, sql, len(sql)):
                answers.append(await self._located(statement, context, resume, attachments or {}))
                context = answers[-1].context
        except BaseException:
            for answer in answers:
                if not isinstance(answer, Answer):
                    await answer.aclose()
            raise
        return answers

    async def _located(
        self, statement: st.Statement, context: SessionContext, resume: str | None, files: Files
    ) -> Answer | Subscription:
        """The answer of one statement; positions in its errors are places in its own text."""
        try:
            return await self._one(statement, context, resume, files)
        except RecursionError:
            # The parser bounds each kind of nesting, but not all of them together.
            feature, instead = "A statement this deeply nested", "Let a materialized view compute a part of it."
            raise MillpondError("UNSUPPORTED", feature=feature, instead=instead, sql=statement.text) from None
        except MillpondError as error:
            point(error, statement)
            error.sql = error.sql or statement.text
            raise

    async def _one(
        self, statement: st.Statement, context: SessionContext, resume: str | None, files: Files
    ) -> Answer | Subscription:
        loop = asyncio.get_running_loop()
        if isinstance(statement, st.Query):
            if await _aside(partial(self._is_pull, statement), context, len(statement.text)):
                pulled = self.pulling.answer
                return await loop.run_in_executor(self.threads, pulled, statement.text, statement, context)
            return await self.following.query(statement, context, resume)
        if isinstance(statement, st.PrintEntity):
            return await self.following.entity(statement, context)
        if isinstance(statement, LOOKS):
            return await loop.run_in_executor(self.looks, self._statement, statement, context, files)
        return await self._effect(statement, context, files)

    async def _effect(self, statement: st.Statement, context: SessionContext, files: Files) -> Answer:
        """A statement with effects, which goes on if the client goes. Raises SERVER_STOPPING after `refuse`."""
        if self.draining.is_set():
            raise MillpondError("SERVER_STOPPING")
        running = self.effects.submit(self._statement, statement, context, files)
        self.running.add(running)
        running.add_done_callback(self.running.discard)
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            if self.draining.is_set() and running.cancelled():
                raise MillpondError("SERVER_STOPPING") from None
            raise

    def pull(self, sql: str, context: SessionContext) -> Answer | None:
        """The answer of a cheap pull query that was planned before; None: then use `execute`."""
        return self.pulling.fast(sql, context)

    def _is_pull(self, query: st.Query, context: SessionContext) -> bool:
        """A SELECT over views (or no relation) is answered now, unless EMIT CHANGES; any other is followed."""
        if query.emit_changes:
            return False
        tables = list(query.tree.find_all(exp.Table))
        if len(tables) != 1 or query.tree.find(exp.Subquery, exp.With):
            return True
        path = [p.name.lower() for p in tables[0].parts]
        if path[:-1] in (["deltastream", "sys"], ["sys"]):
            return True
        return resolve_table(tables[0], self.catalog, context).kind is RelationKind.VIEW

    # --- statements that answer once ---

    def _statement(self, statement: st.Statement, context: SessionContext, files: Files) -> Answer:
        match statement:
            case st.List():
                return list_things(statement.kind, self.catalog, context, self.facts, statement.scope, statement.store)
            case st.Describe():
                return describe(statement.kind, statement.name, self.catalog, context, self.facts, statement.store)
            case st.Use():
                return self._use(statement, context)
            case st.Set():
                return self._set(statement, context)
            case st.Explain():
                return self._explain(statement, context, files)
            case st.CanI():
                rows = [("privilege", statement.privilege, "CAN I", "yes", "[]")]
                return Answer(SUMMARY, rows, context, statement="CAN_I")
        planned = self._plan(statement, context, files)
        self.runner.run(planned.stages)
        return Answer(SUMMARY, [_summary(planned)], context, planned.summary, planned.command.replace(" ", "_"))

    def _plan(self, statement: st.Statement, context: SessionContext, files: Files) -> Planned:
        return Planner(
            self.catalog, context, self.connections.topic, files, self.connections.columns, self.connections.descriptors
        ).plan(statement)

    def _explain(self, statement: st.Explain, context: SessionContext, files: Files) -> Answer:
        inner = statement.statement
        if isinstance(inner, st.Query) and self._is_pull(inner, context):
            lines = self.pulling.explain(inner, context)
        elif isinstance(inner, st.Query):
            lines = self.following.explain(inner, context)
        else:
            planned = self._plan(inner, context, files)
            if statement.json:
                return described_statement(planned, self.catalog, context)
            lines = explain(planned)
        return Answer((Column("plan", VARCHAR),), [(line,) for line in lines], context, statement="EXPLAIN")

    def _use(self, statement: st.Use, context: SessionContext) -> Answer:
        name = parts(statement.name)
        match statement.kind:
            case "database":
                found = resolve_database(self.catalog, name, context).name
                context = replace(context, database=found, schema="public")
            case "schema":
                schema = resolve_schema(self.catalog, name, context)
                context = replace(context, database=schema.database, schema=schema.name)
            case "store":
                context = replace(context, store=resolve_store(self.catalog, name, context).name)
            case "role":
                context = replace(context, role=name[-1][0])
            case "organization":
                if dotted(name).lower() not in (ORGANIZATION, context.organization):
                    raise _not_there("ORGANIZATION_NOT_FOUND", statement.name, own=ORGANIZATION)
            case "compute_pool":
                raise _not_there("COMPUTE_POOL_NOT_FOUND", statement.name)
            case _:
                raise MillpondError(
                    "UNSUPPORTED", feature=f"USE {statement.kind.upper()}", instead="See the reference."
                )
        row = (statement.kind, name[-1][0], "USE", f"{statement.kind} is '{name[-1][0]}' now", "[]")
        return Answer(SUMMARY, [row], context, statement="USE")

    def _set(self, statement: st.Set, context: SessionContext) -> Answer:
        columns = (Column("Key", VARCHAR), Column("Value", VARCHAR))
        settings = dict(context.settings)
        if statement.key is not None and statement.unset:
            settings.pop(statement.key, None)
        elif statement.key is not None:
            given = read_properties((st.Property(statement.key, statement.value),), SETTINGS, "SET")
            settings.update({k: str(v) for k, v in given.items()})
        context = replace(context, settings=settings)
        return Answer(columns, sorted(settings.items()), context, statement="SET")

    # --- health and figures ---

    def healthy(self) -> Mapping[str, str]:
        """Component -> 'ok' or what is wrong."""
        return {
            "broker": self._broker_health(),
            "kinesis": "ok" if self.emulator_alive() else "the embedded Kinesis emulator is down",
            "spark": "ok" if self.spark.healthy() else "the JVM does not answer",
            "catalog": "ok",
            "views": self.views.health(),
        }

    async def reachable(self) -> Mapping[str, str]:
        """Store -> 'ok' or the error that it ends with."""
        return await self.reachability.states()

    def _broker_health(self) -> str:
        return "ok" if self.broker_alive() else "the embedded broker is down"

    def _view_report(self, relation_id: str) -> Mapping[str, float]:
        found = self.views.progress(relation_id)
        if found is None:
            return {}
        report: dict[str, float] = {"rows": found.rows, "bytes": found.bytes, "changelog lag": found.lag}
        report["offsets read since start"] = found.offsets_read
        if found.freshness_ms is not None:
            report["freshness ms"] = found.freshness_ms
        return report

    def metrics(self) -> Iterable[Metric]:
        """Everything /metrics shows beside HTTP's own figures."""
        return samples(self.catalog, self.queries, self.facts, self._view_report)

    async def aclose(self) -> None:
        """End all subscriptions; on the event loop that they live on."""
        await self.following.close()

    def refuse(self) -> None:
        """No more statements with effects; those that wait for their turn end with SERVER_STOPPING."""
        self.draining.set()
        self.effects.shutdown(wait=False, cancel_futures=True)

    def drain(self) -> None:
        """`refuse`, and wait: what is being carried out ends, or is undone, before parts stop."""
        self.refuse()
        if wait(set(self.running), timeout=DRAIN_SECONDS).not_done:
            logger.warning("a statement was still being carried out after %d s", DRAIN_SECONDS)

    def close(self) -> None:
        """Stop answering; what runs below is stopped by its owner."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        self.reachability.close()
        self.looks.shutdown(wait=False, cancel_futures=True)
        self.effects.shutdown(wait=False, cancel_futures=True)
        self.reader.close()


async def _aside(work: Callable[[_Given], _Made], given: _Given, length: int) -> _Made:
    """`work(given)`; for a text of some `length` in another thread, for others are served by this one."""
    return work(given) if length <= SHORT else await asyncio.to_thread(work, given)


def _not_there(error: str, name: st.Name, **params: str) -> MillpondError:
    return MillpondError(error, position=name.position, name=".".join(p.text for p in name.parts), **params)


def _summary(planned: Planned) -> tuple[str, str, str, str, str]:
    path = json.dumps(planned.path, ensure_ascii=False)
    return planned.type, planned.name, planned.command, planned.summary, path
