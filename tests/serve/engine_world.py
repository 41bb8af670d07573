"""A whole engine without a JVM and a broker: real catalog, planner and view store, a log in memory, a fake Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millpond.catalog.catalog import Catalog
from millpond.catalog.lookup import existing_store
from millpond.catalog.model import PersistentQuery, Relation, SessionContext
from millpond.config import Settings
from millpond.errors import MillpondError
from millpond.plan.nodes import Sink
from millpond.queries.registry import Queries
from millpond.serve.answers import Answer
from millpond.serve.engine import StreamEngine
from millpond.serve.replan import replan
from millpond.stores.connections import Connections
from millpond.stores.formats.records import encode_key, encode_value
from millpond.stores.memory import MemoryLog
from millpond.stores.protocol import Log, Record, TopicDescription
from millpond.views.progress import ViewProgress
from millpond.views.schema import ViewIndex, table_name
from millpond.views.store import ViewStore
from tests.catalog.examples import KAFKA
from tests.queries.fake_engine import FakeEngine

CLICKS = "CREATE STREAM clicks (url VARCHAR, device VARCHAR) WITH ('topic' = 'clicks', 'value.format' = 'json')"
VISITS = "CREATE MATERIALIZED VIEW visits AS SELECT url, count(*) AS n FROM clicks GROUP BY url"


class LocalViews:
    """The supervisor's place, with the store in this process. `fail` names a method that raises the next time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = ViewStore(path)
        self.reports: dict[str, ViewProgress] = {}
        self.fail = ""
        self.changed_stores: list[str] = []

    def _check(self, method: str) -> None:
        if self.fail == method:
            self.fail = ""
            raise MillpondError("VIEW_WRITER_STOPPED", what=method)

    def add(self, relation: Relation) -> None:
        self.store.create_view(relation)
        self._check("add")

    def remove(self, relation_id: str) -> None:
        self._check("remove")
        self.store.drop_view(relation_id)

    def add_index(self, relation_id: str, name: str, columns: tuple[str, ...]) -> None:
        self._check("add_index")
        self.store.create_index(relation_id, ViewIndex(name, columns))

    def remove_index(self, relation_id: str, name: str) -> None:
        self._check("remove_index")
        self.store.drop_index(relation_id, name)

    def store_changed(self, store: str) -> None:
        self.changed_stores.append(store)

    def progress(self, relation_id: str) -> ViewProgress | None:
        return self.reports.get(relation_id)

    def health(self) -> str:
        return "ok"

    def tables(self) -> set[str]:
        found = self.store._connection.execute(
            "SELECT name FROM sqlite_schema WHERE name GLOB 'v_*' AND type = 'table'"
        )
        return {name for (name,) in found}

    def indexes(self, relation_id: str) -> set[str]:
        return {name.rpartition(".")[2] for name in self.store._indexes(relation_id)} - {"_primary_key"}


class OneLog(Connections):
    """Every store is the same log in memory."""

    def __init__(self, catalog: Catalog, memory: MemoryLog) -> None:
        super().__init__(catalog)
        self.memory = memory
        self.checked: list[tuple[str, dict[str, str]]] = []
        self.fault: MillpondError | None = None
        """What the check of a store finds."""

    def log(self, store: str) -> Log:
        existing_store(self.catalog, store)
        return self.memory

    def check(self, store_type: str, properties: Mapping[str, str]) -> None:
        self.checked.append((store_type, dict(properties)))
        if self.fault is not None:
            raise self.fault

    def topic(self, store: str, topic: str) -> TopicDescription | None:
        return self.memory.describe(topic) if topic in self.memory.topics() else None


@dataclass
class EngineWorld:
    """`ask` statements; look at what is there afterwards."""

    data_dir: Path
    catalog: Catalog = field(default_factory=Catalog.in_memory)
    log: MemoryLog = field(default_factory=MemoryLog)
    spark: FakeEngine = field(default_factory=FakeEngine)

    def __post_init__(self) -> None:
        self.catalog.create_store(KAFKA)
        self.settings = Settings(data_dir=self.data_dir)
        self.views = LocalViews(self.data_dir / "views.db")
        self.connections = connections = OneLog(self.catalog, self.log)

        def again(query: PersistentQuery, context: SessionContext) -> Sink:
            return replan(query, self.catalog, context)

        log, access = connections.log, connections.access
        self.queries = Queries(self.catalog, self.spark, log, access, self.settings, again)
        views: Any = self.views
        self.engine = StreamEngine(
            self.catalog, self.queries, connections, self.spark, views, lambda: True, self.settings
        )

    async def ask(
        self, sql: str, context: SessionContext | None = None, attachments: Mapping[str, bytes] | None = None
    ) -> Answer:
        """The last statement's answer."""
        answer = (await self.engine.execute(sql, context or SessionContext(), attachments=attachments))[-1]
        assert isinstance(answer, Answer)
        return answer

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in (await self.ask(sql)).rows]

    def relation(self, name: str) -> Relation:
        found = self.catalog.relation("default", "public", name)
        assert found is not None
        return found

    def fill(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        """Give a view rows, as its changelog would."""
        relation = self.relation(name)
        records = []
        for n, row in enumerate(rows):
            values = {c.name: v for c, v in zip(relation.columns, row, strict=True)}
            key = encode_key(relation, [values[c] for c in relation.key_columns])
            records.append(Record(relation.topic, 0, n, 1, key, encode_value(relation, row)))
        self.views.store.stage(relation.id, records)
        self.views.store.finish_load(relation.id, {0: len(rows)})

    def picture(self) -> dict[str, Any]:
        """Everything that a statement may leave behind."""
        views = {table_name(r.id): r.name for r in self.catalog.relations()}
        return {
            "databases": [d.name for d in self.catalog.databases()],
            "schemas": [(s.database, s.name) for s in self.catalog.schemas()],
            "relations": [(r.name, r.id, r.description) for r in self.catalog.relations()],
            "queries": sorted((q.id, q.intended_state.value) for q in self.catalog.queries()),
            "indexes": [(i.name, i.relation) for i in self.catalog.indexes()],
            "topics": self.log.topics(),
            "running": sorted(self.queries.lives),
            "tables": sorted(views.get(t, t) for t in self.views.tables()),
            "store indexes": {r.name: self.views.indexes(r.id) for r in self.catalog.relations()},
            "checkpoints": sorted(p.name for p in (self.data_dir / "checkpoints").glob("*")),
        }

    async def close(self) -> None:
        self.log.away = False
        await self.engine.aclose()
        self.queries.stop_all()
        self.engine.close()
        self.views.store.close()
        self.catalog.close()
