"""Catalog values for tests, and a catalog that has one of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import PersistentQuery, QueryState, Relation, RelationKind, SessionContext, Store
from millpond.types import (
    BIGINT,
    BYTES,
    TIMESTAMP_LTZ,
    VARCHAR,
    ArrayType,
    Column,
    DecimalType,
    Field,
    MapType,
    StructType,
)

CONTEXT = SessionContext()
KAFKA = Store("kafka", "KAFKA", {"uris": "localhost:9092"}, "sysadmin", 0, 0)
CLICKS = Relation(
    id="",
    database="default",
    schema="public",
    name="clicks",
    kind=RelationKind.STREAM,
    columns=(Column("event_time", BIGINT), Column("url", VARCHAR, nullable=False)),
    primary_key=(),
    store="kafka",
    topic="clicks",
    value_format="json",
    key_format=None,
    key_type=None,
    key_columns=(),
    timestamp_column="event_time",
    timestamp_format="sql",
    owner="sysadmin",
    created_at=0,
    updated_at=0,
    properties={"topic": "clicks", "value.format": "json"},
)
NESTED = StructType(
    fields=(
        Field("Phone", VARCHAR),
        Field('a "b"', MapType(key=VARCHAR, value=DecimalType(precision=38, scale=9))),
    )
)
VISITS = replace(
    CLICKS,
    name="url_visits",
    kind=RelationKind.VIEW,
    columns=(Column("url", VARCHAR), Column("tags", ArrayType(element=NESTED)), Column("at", TIMESTAMP_LTZ)),
    primary_key=("url",),
    topic="url_visits",
    key_format="json",
    key_type=StructType(fields=(Field("url", VARCHAR), Field("raw", BYTES))),
    key_columns=("url",),
    description="Visits by url",
)
QUERY = PersistentQuery(
    id="",
    name="count_visits",
    version=1,
    sql="CREATE MATERIALIZED VIEW url_visits AS SELECT url, count(*) AS visits FROM clicks GROUP BY url",
    sink="",
    sources=(),
    owner="sysadmin",
    intended_state=QueryState.RUNNING,
    state=QueryState.STARTING,
    created_at=0,
    updated_at=0,
    database="default",
    schema="public",
    store="kafka",
    properties={"query.name": "count_visits"},
)


def ticking(start: int = 1_700_000_000_000) -> Callable[[], int]:
    """A clock that is a millisecond later at each look."""
    now = start

    def clock() -> int:
        nonlocal now
        now += 1
        return now

    return clock


def furnish(catalog: Catalog) -> tuple[Relation, Relation, PersistentQuery]:
    """A store, the stream `clicks`, the view `url_visits` and the query that reads the one and writes the
    other."""
    catalog.create_store(KAFKA, {"kafka.sasl.password": "hush"})
    clicks, visits = catalog.create_relation(CLICKS), catalog.create_relation(VISITS)
    query = catalog.create_query(replace(QUERY, sources=(clicks.id,), sink=visits.id))
    return clicks, visits, query
