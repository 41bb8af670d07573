"""The server put together: what starts when, and what stops in which order."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial

from millpond.api.app import create_app
from millpond.api.server import listen, serve
from millpond.catalog.catalog import Catalog
from millpond.catalog.lookup import existing_store
from millpond.catalog.model import PersistentQuery, RelationKind, SessionContext, Store
from millpond.clock import now_ms
from millpond.config import Settings
from millpond.datadir import check_space, claim
from millpond.embedded import demo as clickstream
from millpond.embedded.broker import Broker
from millpond.embedded.keeper import Child, Keeper
from millpond.embedded.kinesis import PROPERTIES as KINESIS_PROPERTIES
from millpond.embedded.kinesis import SECRETS as KINESIS_SECRETS
from millpond.embedded.kinesis import KinesisEmulator
from millpond.errors import MillpondError
from millpond.jvm.locate import broker_classpath, find_java
from millpond.plan.nodes import Sink
from millpond.queries.registry import Queries
from millpond.serve.engine import StreamEngine
from millpond.serve.replan import replan
from millpond.spark.engine import SparkEngine
from millpond.stores.connect import open_log
from millpond.stores.connections import Connections
from millpond.views.schema import ViewIndex
from millpond.views.supervisor import Supervisor

logger = logging.getLogger(__name__)

MINIMUM_SPACE = 512 << 20
"""Bytes that must be free to start: room for state, checkpoints and a changelog segment."""


def say(text: str) -> None:
    """A line for the person who started the server."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def step(name: str) -> Iterator[None]:
    """Say that something is being started, and how long it took."""
    started = time.monotonic()
    yield
    say(f"  {name} {time.monotonic() - started:6.1f} s")


class Server:
    """A running Millpond. Everything it starts is on `stack`, and stopped in reverse."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.stack = ExitStack()
        self.broker: Broker | None = None
        self.kinesis: KinesisEmulator | None = None
        self.spark: Future[SparkEngine] | None = None
        self.end: Callable[[], object] = lambda: None
        """Ends `run` from any thread."""

    def start(self) -> None:
        """Start everything but HTTP. Raises the named error of what does not start; then nothing is left running."""
        with ExitStack() as stack:
            self.listening = listen(self.settings.host, self.settings.port)
            stack.callback(self.listening.close)
            stack.enter_context(claim(self.settings.data_dir))
            check_space(self.settings.data_dir, MINIMUM_SPACE)
            stack.callback(self._stop_spark)
            if self.settings.embedded:
                self._start_broker(stack)
                self._start_kinesis(stack)
            self._start_engine(stack)
            self.stack = stack.pop_all()

    def _begin_spark(self) -> Future[SparkEngine]:
        """Spark takes longest to start and needs nothing of the others: it starts beside them."""
        executor = ThreadPoolExecutor(1, "spark-start")
        self.spark = executor.submit(SparkEngine, self.settings, self.settings.data_dir / "spark")
        executor.shutdown(wait=False)
        return self.spark

    def _stop_spark(self) -> None:
        """Nothing if it did not start, or is stopped already."""
        starting, self.spark = self.spark, None
        if starting is not None and starting.exception() is None:
            starting.result().stop()

    def _start_broker(self, stack: ExitStack) -> None:
        with step("Kafka broker"):
            self.broker = Broker(
                self.settings.data_dir / "kafka",
                self.settings.kafka_port,
                broker_classpath(),
                find_java(),
                self.settings.broker_memory,
            )
            self.broker.start(meanwhile=self._begin_spark)
            stack.callback(self.broker.stop)
            self._keep(stack, self.broker, "Kafka broker")

    def _start_kinesis(self, stack: ExitStack) -> None:
        """It answers a second or two later: nothing waits for it but what reads from it."""
        self.kinesis = KinesisEmulator(self.settings.data_dir / "kinesis", self.settings.kinesis_port)
        self.kinesis.start()
        self._keep(stack, self.kinesis, "Kinesis emulator")

    def _keep(self, stack: ExitStack, child: Child, name: str) -> None:
        keeper = Keeper(child, name)
        keeper.start()
        stack.callback(keeper.stop)

    def _start_engine(self, stack: ExitStack) -> None:
        settings = self.settings
        with step("catalog     "):
            self.catalog = Catalog.open(settings.data_dir)
            stack.callback(self.catalog.close)
            self._register_stores()
        starting = self.spark or self._begin_spark()
        connections = Connections(self.catalog)
        stack.callback(connections.close)
        with step("views       "):
            views = self._start_views(stack)
        with step("Spark       "):
            spark = starting.result()
            stack.callback(self._stop_spark)

        def again(query: PersistentQuery, context: SessionContext) -> Sink:
            return replan(query, self.catalog, context)

        queries = Queries(self.catalog, spark, connections.log, connections.access, settings, again)
        broker = self.broker.alive if self.broker else lambda: True
        emulator = self.kinesis.alive if self.kinesis else lambda: True
        self.engine = StreamEngine(self.catalog, queries, connections, spark, views, broker, settings, emulator)
        stack.callback(self.engine.close)
        stack.callback(queries.stop_all)
        stack.callback(self.engine.drain)
        queries.resume_all()
        if settings.warm_up and not self.catalog.queries():
            spark.warm_up(lambda: connections.access("kafka"))

    def _start_views(self, stack: ExitStack) -> Supervisor:
        """The writer's process, with every view and index that the catalog knows."""

        def store_of(name: str) -> tuple[str, Mapping[str, str]]:
            store = existing_store(self.catalog, name)
            return store.type, {**store.properties, **self.catalog.store_secrets(name)}

        views = Supervisor(self.settings.data_dir.absolute() / "views" / "views.db", store_of)
        relations = [r for r in self.catalog.relations() if r.kind is RelationKind.VIEW]
        views.start([(r, [ViewIndex(i.name, i.columns) for i in self.catalog.indexes(r.id)]) for r in relations])
        stack.callback(views.stop)
        return views

    def _register_stores(self) -> None:
        """`kafka` and `kinesis` follow what is embedded: their ports may differ from start to start."""
        uris = self.broker.uris if self.broker else self.settings.kafka_uris
        if not uris and self.catalog.store("kafka") is None:
            raise MillpondError("NO_STORE")
        if uris:
            self._register("kafka", "KAFKA", {"uris": uris}, {})
        if self.kinesis:
            self._register("kinesis", "KINESIS", {"uris": self.kinesis.uris, **KINESIS_PROPERTIES}, KINESIS_SECRETS)

    def _register(self, name: str, kind: str, properties: Mapping[str, str], secrets: Mapping[str, str]) -> None:
        known = self.catalog.store(name)
        wanted = {**(known.properties if known else {}), **properties}
        if known is not None and known.properties == wanted:
            return
        now = now_ms()
        store = Store(name, kind, wanted, "sysadmin", known.created_at if known else now, now)
        (self.catalog.update_store if known else self.catalog.create_store)(store, dict(secrets))

    def run(self, ready: Callable[[str], None]) -> None:
        """Serve HTTP until a signal or `end`; then stop everything. `ready` gets the server's address."""
        import uvloop

        with self.stack:
            uvloop.run(self._serve(ready))
            say("Stopping ...")

    async def _serve(self, ready: Callable[[str], None]) -> None:
        app = create_app(self.engine, self.settings, self.engine.metrics)
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        self.end = lambda: loop.call_soon_threadsafe(stop.set)
        host, port = self.settings.host, self.settings.port
        try:
            await serve(app, host, port, listening=self.listening, announce=ready, stop=stop)
        finally:
            self.end = lambda: None  # it has ended: whoever still wants that need not reach the loop
            await self.engine.aclose()


def run_server(settings: Settings) -> int:
    """The command `millpond server`: 0 after a clean stop. Raises the named error of what does not start."""
    started = time.monotonic()
    server = _started(settings)

    def ready(url: str) -> None:
        say(f"Millpond is ready at {url} after {time.monotonic() - started:.1f} s. Ctrl-C stops it.")

    server.run(ready)
    return 0


def run_demo(settings: Settings, rate: float, seconds: float | None) -> int:
    """The command `millpond demo`: an embedded server and the demo on it; the demo's exit code."""
    server = _started(settings)
    assert server.broker is not None and server.kinesis is not None
    uris, outcome, stop = server.broker.uris, [1], threading.Event()
    kinesis = {"uris": server.kinesis.uris, **KINESIS_PROPERTIES, **KINESIS_SECRETS}

    def demo(url: str) -> None:
        try:
            users = partial(open_log, "KINESIS", kinesis)
            outcome[0] = clickstream.run_demo(url, uris, users=users, rate=rate, seconds=seconds, stop=stop)
        except MillpondError as error:
            say(f"error: {error}")
        finally:
            server.end()

    threads: list[threading.Thread] = []

    def ready(url: str) -> None:
        threads.append(threading.Thread(target=demo, args=(url,), name="demo"))
        threads[0].start()

    server.stack.callback(_end_threads, stop, threads)
    server.run(ready)
    return outcome[0]


def _end_threads(stop: threading.Event, threads: list[threading.Thread]) -> None:
    stop.set()
    for thread in threads:
        thread.join(timeout=10)


def _started(settings: Settings) -> Server:
    logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    say(f"Millpond starts in {settings.data_dir.absolute()}")
    server = Server(settings)
    server.start()
    return server
