from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import PersistentQuery, SessionContext
from millpond.config import Settings
from millpond.plan.nodes import Sink
from millpond.plan.planner import Planner
from millpond.plan.pruning import prune_scan
from millpond.plan.stages import EnsureTopic, RegisterRelation, StartQuery
from millpond.queries import life
from millpond.queries.checkpoint import Checkpoint
from millpond.queries.life import QueryLife
from millpond.queries.registry import Queries
from millpond.serve.replan import replan
from millpond.sql.parser import parse
from millpond.stores.access import StoreAccess
from millpond.stores.memory import MemoryLog
from tests.catalog.examples import KAFKA
from tests.queries.fake_engine import FakeEngine, rows

STREAM = "CREATE STREAM clicks (url VARCHAR) WITH ('topic' = 'clicks', 'value.format' = 'json')"
VIEW = "CREATE MATERIALIZED VIEW visits AS SELECT url, count(*) AS n FROM clicks GROUP BY url"
COPY = "CREATE STREAM copy AS SELECT url FROM clicks"


@dataclass
class World:
    """A catalog, a log and an engine of this test's own, and the queries among them."""

    data_dir: Path
    catalog: Catalog = field(default_factory=Catalog.in_memory)
    log: MemoryLog = field(default_factory=MemoryLog)
    engine: FakeEngine = field(default_factory=FakeEngine)

    def __post_init__(self) -> None:
        self.settings = Settings(data_dir=self.data_dir, realtime_backlog_rows=10, catchup_rows=100)
        self.catalog.create_store(KAFKA)
        self.queries = self.server()

    def server(self) -> Queries:
        """The queries of a server that starts now, on the same folder and catalog."""

        def again(query: PersistentQuery, context: SessionContext) -> Sink:
            return replan(query, self.catalog, context)

        return Queries(
            self.catalog,
            self.engine,
            lambda s: self.log,
            lambda s: StoreAccess("KAFKA", {"bootstrap.servers": "b:9092"}),
            self.settings,
            again,
        )

    def restart(self) -> None:
        """The server is stopped, and starts again."""
        self.queries.stop_all()
        self.queries = self.server()
        self.queries.resume_all()

    def run(self, sql: str) -> str:
        """Carry out a statement's stages without undoing anything; the query's id, if it starts one."""
        (statement,) = parse(sql)
        started = ""
        for stage in Planner(self.catalog, SessionContext(), lambda store, topic: None).plan(statement).stages:
            if isinstance(stage, EnsureTopic):
                self.log.create(stage.topic)
            elif isinstance(stage, RegisterRelation):
                self.catalog.create_relation(stage.relation)
            elif isinstance(stage, StartQuery):
                self.catalog.create_query(stage.query)
                self.queries.start(stage.query, prune_scan(stage.plan))
                started = stage.query.id
        return started

    def produce(self, count: int, topic: str = "clicks") -> None:
        self.log.produce(topic, rows(count))

    def query(self, query_id: str) -> PersistentQuery:
        found = self.catalog.query(query_id)
        assert found is not None
        return found

    def life(self, query_id: str) -> QueryLife:
        return self.queries.lives[query_id]

    def checkpoint(self, query_id: str) -> Checkpoint:
        return Checkpoint(self.queries.checkpoint(query_id))

    def sink(self, query_id: str) -> str:
        relation = self.catalog.relation_by_id(self.query(query_id).sink)
        assert relation is not None
        return relation.topic


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A world with the stream `clicks`, whose queries lose no time."""
    monkeypatch.setattr(life, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(life, "LONGEST_PAUSE", 0.01)
    made = World(tmp_path)
    made.run(STREAM)
    yield made
    made.log.away = False
    made.queries.stop_all()
    made.catalog.close()
