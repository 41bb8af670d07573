"""SELECT that is followed: what is taken from each row, and what cannot be done row by row."""

from __future__ import annotations

import pytest

from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError
from millpond.plan.explain import show
from millpond.plan.push import PushPlan, plan_push
from millpond.sql.parser import parse
from millpond.sql.statements import Query
from tests.plan.planning import Session

KNOWN = """
CREATE STREAM clicks (event_time BIGINT, url VARCHAR, "Case" VARCHAR, tags ARRAY<VARCHAR>)
  WITH ('value.format' = 'json');
CREATE STREAM from_start (url VARCHAR) WITH ('value.format' = 'json', 'starting.position' = 'earliest');
CREATE MATERIALIZED VIEW visits AS SELECT url, count(*) AS n FROM clicks GROUP BY url;
"""


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    session.run(KNOWN)
    return session


def push(session: Session, sql: str, **settings: str) -> PushPlan:
    (query,) = parse(sql)
    assert isinstance(query, Query)
    return plan_push(
        query, session.catalog, SessionContext(settings={k.replace("_", "."): v for k, v in settings.items()})
    )


SHAPES = [
    ("SELECT * FROM clicks", "event_time BIGINT, url VARCHAR, Case VARCHAR, tags ARRAY<VARCHAR>", None),
    ("SELECT c.*, NULL AS nothing FROM from_start c", "url VARCHAR, nothing VARCHAR", None),
    ("SELECT url AS Page, event_time / 2, upper(url) FROM clicks", "page VARCHAR, _col1 BIGINT, upper VARCHAR", None),
    ("SELECT \"Case\" FROM clicks WHERE url LIKE '/%'", "Case VARCHAR", "like(url, '/%')"),
    ("SELECT n FROM visits WHERE n > 1 EMIT CHANGES", "n BIGINT", ">(n, 1)"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "columns", "condition"), SHAPES)
def test_columns_and_condition(session: Session, sql: str, columns: str, condition: str | None) -> None:
    plan = push(session, sql)
    assert ", ".join(f"{c.name} {c.type}" for c in plan.columns) == columns
    assert (show(plan.condition) if plan.condition else None) == condition
    assert len(plan.exprs) == len(plan.columns)


POSITIONS = [
    ("SELECT * FROM clicks", {}, "latest"),
    ("SELECT * FROM from_start", {}, "earliest"),
    ("SELECT * FROM from_start", {"starting_position": "1700000000000"}, "1700000000000"),
    ("SELECT * FROM from_start WITH ('starting.position' = 'latest')", {"starting_position": "earliest"}, "latest"),
]


@pytest.mark.parametrize(("sql", "settings", "position"), POSITIONS)
def test_where_it_begins(session: Session, sql: str, settings: dict[str, str], position: str) -> None:
    assert push(session, sql, **settings).starting_position == position


def test_a_limit_is_a_number(session: Session) -> None:
    assert push(session, "SELECT url FROM clicks LIMIT 5").limit == 5
    assert push(session, "SELECT url FROM clicks").limit is None


REFUSED = [
    ("SELECT url, count(*) FROM clicks GROUP BY url", "UNSUPPORTED"),
    ("SELECT max(url) FROM clicks", "UNSUPPORTED"),
    ("SELECT url FROM clicks WHERE count(*) > 1", "UNSUPPORTED"),
    ("SELECT DISTINCT url FROM clicks", "UNSUPPORTED"),
    ("SELECT url FROM clicks ORDER BY url", "UNSUPPORTED"),
    ("SELECT url FROM clicks LIMIT 1 OFFSET 1", "UNSUPPORTED"),
    ("SELECT a.url FROM clicks a JOIN visits b ON a.url = b.url", "UNSUPPORTED"),
    ("SELECT x FROM clicks CROSS JOIN UNNEST(tags) AS t(x)", "UNSUPPORTED"),
    ("SELECT url FROM (SELECT url FROM clicks) AS c", "UNSUPPORTED"),
    ("SELECT url FROM TUMBLE(clicks, SIZE 1 MINUTE)", "UNSUPPORTED"),
    ("SELECT url FROM clicks UNION ALL SELECT url FROM clicks", "UNSUPPORTED"),
    ("SELECT 1", "UNSUPPORTED"),
    ("SELECT url FROM clicks WITH ('starting.positoin' = 'latest')", "UNKNOWN_PROPERTY"),
    ("SELECT url FROM clicks WITH ('source.deserialization.error.handling' = 'TERMINATE')", "UNSUPPORTED"),
    ("SELECT url FROM clicks WITH ('source.allow.latency.millis' = 1)", "UNSUPPORTED"),
    ("SELECT ulr FROM clicks", "COLUMN_NOT_FOUND"),
    ("SELECT x.* FROM clicks", "COLUMN_NOT_FOUND"),
    ("SELECT url FROM nowhere", "RELATION_NOT_FOUND"),
    ("SELECT url FROM clicks WHERE url", "TYPE_MISMATCH"),
]


@pytest.mark.parametrize(("sql", "name"), REFUSED)
def test_what_needs_more_than_a_row_is_refused(session: Session, sql: str, name: str) -> None:
    with pytest.raises(MillpondError) as caught:
        push(session, sql)
    assert caught.value.name == name
    assert caught.value.position is not None
