"""Which columns a query makes the decoder build, and that pruning changes nothing else."""

from __future__ import annotations

import pytest

from millpond.plan.nodes import Filter, Scan, Sink, Unnest, Window, walk
from millpond.plan.pruning import prune_scan
from millpond.plan.stages import StartQuery
from tests.plan.planning import Session, node_of, stage_of

KNOWN = """
CREATE STREAM clicks (event_time BIGINT, url VARCHAR, userid VARCHAR, ip VARCHAR, tags ARRAY<VARCHAR>)
  WITH ('value.format' = 'json', 'timestamp' = 'event_time');
CREATE STREAM plain (url VARCHAR, at TIMESTAMP) WITH ('value.format' = 'json');
CREATE CHANGELOG users (id VARCHAR, name VARCHAR, age INTEGER, PRIMARY KEY (id)) WITH ('value.format' = 'json');
"""

NEEDED = [
    ("CREATE STREAM s AS SELECT * FROM plain", {"url", "at"}),
    ("CREATE STREAM s AS SELECT url FROM clicks", {"url", "event_time"}),
    ("CREATE STREAM s AS SELECT url FROM plain WITH ('timestamp' = 'at')", {"url", "at"}),
    ("CREATE STREAM s AS SELECT 1 AS one FROM plain", set()),
    ("CREATE STREAM s AS SELECT rowkey() AS k FROM plain", set()),
    ("CREATE STREAM s AS SELECT upper(url) AS u FROM clicks WHERE length(ip) > 3", {"url", "ip", "event_time"}),
    ("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM plain", set()),
    ("CREATE CHANGELOG c AS SELECT url, count(DISTINCT ip) AS n FROM clicks GROUP BY url", {"url", "ip", "event_time"}),
    ("CREATE CHANGELOG c AS SELECT at FROM plain GROUP BY at HAVING max(url) > 'a'", {"url", "at"}),
    ("CREATE STREAM s AS SELECT t.tag FROM clicks CROSS JOIN UNNEST(tags) AS t(tag)", {"tags", "event_time"}),
    (
        "CREATE CHANGELOG c AS SELECT window_start, window_end, count(*) AS n FROM TUMBLE(clicks, SIZE 1 DAY)"
        " GROUP BY window_start, window_end",
        {"event_time"},
    ),
    ("CREATE MATERIALIZED VIEW v AS SELECT name FROM users", {"id", "name"}),
    ("CREATE MATERIALIZED VIEW v AS SELECT name FROM users WHERE age > 1", {"id", "name", "age"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    session.run(KNOWN)
    return session


def plan_of(session: Session, sql: str) -> Sink:
    return stage_of(session.plan(sql), StartQuery).plan


@pytest.mark.parametrize(("sql", "needed"), NEEDED)
def test_a_scan_builds_what_is_used_above_it(session: Session, sql: str, needed: set[str]) -> None:
    assert node_of(prune_scan(plan_of(session, sql)), Scan).needed == frozenset(needed)


@pytest.mark.parametrize("sql", [sql for sql, _ in NEEDED])
def test_only_columns_that_are_passed_on_go(session: Session, sql: str) -> None:
    plan = plan_of(session, sql)
    pruned = prune_scan(plan)
    for before, after in zip(walk(plan), walk(pruned), strict=True):
        assert type(after) is type(before)
        gone = set(before.columns) - set(after.columns)
        assert gone <= set(node_of(plan, Scan).columns)
        assert not gone or isinstance(after, Scan | Filter | Window | Unnest)
