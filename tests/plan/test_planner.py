"""Statements besides CREATE: their stages and their answer, and plans made again for a restart."""

from __future__ import annotations

import pytest

from millpond.catalog.model import QueryState, RelationKind, SessionContext
from millpond.errors import MillpondError
from millpond.plan import stages as sg
from millpond.plan.capabilities import CAPABILITIES, Capability, Mode, Verdict, capability, verdict
from millpond.plan.explain import show
from millpond.plan.nodes import Aggregate, Kind, Node, Scan, Sink, walk
from millpond.plan.planner import plan_into
from millpond.sql import statements as st
from millpond.sql.parser import parse
from tests.plan.planning import Session, Topic, node_of, stage_of

KNOWN = """
CREATE STREAM clicks (event_time BIGINT, url VARCHAR, "userId" VARCHAR, price DECIMAL(6, 2) NOT NULL)
  WITH ('value.format' = 'json', 'starting.position' = 'latest');
CREATE CHANGELOG users (id VARCHAR, name VARCHAR, PRIMARY KEY (id)) WITH ('value.format' = 'json');
CREATE MATERIALIZED VIEW visits AS SELECT url, count(*) AS n FROM clicks GROUP BY url
  QUERY WITH ('query.name' = 'counting');
CREATE STREAM taps (n INTEGER, url VARCHAR, who VARCHAR, price DECIMAL(6, 2)) WITH ('value.format' = 'json');
CREATE INDEX ON visits (n);
CREATE DATABASE shop;
CREATE SCHEMA more IN DATABASE shop;
"""


@pytest.fixture
def session() -> Session:
    session = Session({"clicks": Topic(2, 1)})
    session.run(KNOWN)
    return session


def kinds(planned: sg.Planned) -> list[str]:
    return [type(s).__name__ for s in planned.stages]


DROPPED_VIEW = ["StopQuery", "RemoveView", "UnregisterRelation", "DeleteTopic"]
PLANS = [
    ("CREATE STREAM IF NOT EXISTS Clicks (x INTEGER) WITH ('value.format' = 'json')", "CREATE", "clicks", []),
    ("CREATE MATERIALIZED VIEW IF NOT EXISTS visits AS SELECT url FROM clicks", "CREATE", "visits", []),
    ("CREATE DATABASE IF NOT EXISTS shop", "CREATE", "shop", []),
    ("CREATE DATABASE \"Shop\"", "CREATE", "Shop", ["AddNamespace"]),
    ("CREATE SCHEMA IF NOT EXISTS shop.more", "CREATE", "more", []),
    ("CREATE SCHEMA other IN DATABASE SHOP", "CREATE", "other", ["AddNamespace"]),
    ("CREATE INDEX IF NOT EXISTS visits_n ON visits (url)", "CREATE", "visits_n", []),
    ("CREATE INDEX Fast ON visits (N, URL)", "CREATE", "fast", ["AddIndex"]),
    ("INSERT INTO ENTITY a.\"B\" VALUE('{}')", "INSERT", "a.B", ["WriteEntity"]),
    ("DROP MATERIALIZED VIEW visits", "DROP", "visits", DROPPED_VIEW),
    ("DROP RELATION users", "DROP", "users", ["UnregisterRelation"]),
    ("DROP STREAM IF EXISTS nowhere", "DROP", "nowhere", []),
    ("DROP INDEX visits_n", "DROP", "visits_n", ["RemoveIndex"]),
    ("DROP SCHEMA shop.more", "DROP", "more", ["RemoveNamespace"]),
    ("DROP DATABASE shop", "DROP", "shop", ["RemoveNamespace"]),
    ("TERMINATE QUERY counting", "TERMINATE", None, ["StopQuery"]),
    ("RESTART QUERY counting", "RESTART", None, ["RestartQuery"]),
    ("ALTER RELATION users SET description = 'those who click'", "ALTER", "users", ["UpdateRelation"]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "command", "name", "stages"), PLANS)
def test_stages_and_answer(session: Session, sql: str, command: str, name: str | None, stages: list[str]) -> None:
    planned = session.plan(sql)
    assert kinds(planned) == stages
    assert planned.command == command
    assert name is None or planned.name == name


def test_a_terminated_query_is_terminated_again_without_effect(session: Session) -> None:
    session.run("TERMINATE QUERY counting")
    assert session.plan("TERMINATE QUERY counting").stages == ()


def test_the_name_of_a_terminated_query_is_free_again(session: Session) -> None:
    session.run("TERMINATE QUERY counting")
    planned = session.plan(
        "INSERT INTO users SELECT url, \"userId\" FROM clicks QUERY WITH ('query.name' = 'counting')"
    )
    assert stage_of(planned, sg.StartQuery).query.name == "counting"


def test_a_version_of_a_query_is_another_query(session: Session) -> None:
    properties = "'query.name' = 'counting', 'query.version' = 2"
    planned = session.plan(f"INSERT INTO users SELECT url, url FROM clicks QUERY WITH ({properties})")
    assert stage_of(planned, sg.StartQuery).query.version == 2


def test_a_query_whose_sink_is_gone_is_not_restarted(session: Session) -> None:
    session.run("DROP MATERIALIZED VIEW visits")
    with pytest.raises(MillpondError) as caught:
        session.plan("RESTART QUERY counting")
    assert caught.value.name == "RELATION_NOT_FOUND"


def test_a_description_is_all_that_is_altered(session: Session) -> None:
    stage = stage_of(session.plan("ALTER RELATION users SET description = 'x'"), sg.UpdateRelation)
    assert (stage.relation.description, stage.before.description) == ("x", "")
    assert stage.relation.columns == stage.before.columns


CAST = "cast(Decimal('1.5') as DECIMAL(6, 2))"
INSERTED = [
    ("INSERT INTO users VALUES ('a', 'Ann')", [["'a'", "'Ann'"]]),
    ("INSERT INTO users (NAME, id) VALUES ('A', 'a'), (NULL, 'b' || 'c')", [["'a'", "'A'"], ["||('b', 'c')", "NULL"]]),
    ("INSERT INTO clicks (\"userId\", price) VALUES ('a', 1)", [["NULL", "NULL", "'a'", "cast(1 as DECIMAL(6, 2))"]]),
    ("INSERT INTO clicks (price, url) VALUES (1.5, '/')", [["NULL", "'/'", "NULL", CAST]]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "rows"), INSERTED)
def test_rows_have_all_columns_in_order(session: Session, sql: str, rows: list[list[str]]) -> None:
    stage = stage_of(session.plan(sql), sg.WriteRows)
    assert [[show(e) for e in row] for row in stage.rows] == rows
    for row in stage.rows:
        assert [e.type for e in row] == [c.type for c in stage.relation.columns]


POSITIONS = [
    ("CREATE STREAM s AS SELECT name FROM users_stream", {}, "earliest"),
    ("CREATE STREAM s AS SELECT url FROM clicks", {}, "latest"),
    ("CREATE STREAM s AS SELECT url FROM clicks", {"starting.position": "earliest"}, "earliest"),
    ("CREATE STREAM s WITH ('starting.position' = 1700000000000) AS SELECT url FROM clicks", {}, "1700000000000"),
    (
        "CREATE STREAM s WITH ('starting.position' = 5) AS SELECT 1 FROM clicks WITH ('starting.position'='earliest')",
        {},
        "earliest",
    ),
]


@pytest.mark.parametrize(("sql", "settings", "position"), POSITIONS)
def test_where_a_query_begins_to_read(sql: str, settings: dict[str, str], position: str) -> None:
    session = Session(context=SessionContext(settings=settings))
    session.run(KNOWN + "CREATE STREAM users_stream (name VARCHAR) WITH ('value.format' = 'json');")
    planned = session.plan(sql)
    assert node_of(stage_of(planned, sg.StartQuery).plan, Scan).starting_position == position


def test_those_who_read_a_result_do_not_begin_where_its_query_did(session: Session) -> None:
    session.run("CREATE STREAM s WITH ('starting.position' = 'latest') AS SELECT url FROM clicks")
    planned = session.plan("CREATE STREAM t AS SELECT url FROM s")
    assert node_of(stage_of(planned, sg.StartQuery).plan, Scan).starting_position == "earliest"


AGAIN = [
    "CREATE STREAM s WITH ('key.columns' = 'url', 'value.columns.exclude' = 'url', 'starting.position' = 5, "
    "'kafka.producer.acks' = '1') AS SELECT url, price FROM clicks",
    "CREATE CHANGELOG c AS SELECT url, count(DISTINCT price) AS n FROM clicks GROUP BY url HAVING count(*) > 1",
    "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM clicks GROUP BY url",
    "CREATE MATERIALIZED VIEW v AS SELECT name FROM users WHERE name > 'x'",
    'INSERT INTO users SELECT url, max("userId") FROM clicks GROUP BY url',
    "INSERT INTO taps SELECT 1, NULL, NULL, price FROM clicks",
]


@pytest.mark.parametrize("sql", AGAIN)
def test_a_restart_runs_the_same_plan(session: Session, sql: str) -> None:
    plan = stage_of(session.run(sql)[-1], sg.StartQuery).plan
    (statement,) = parse(sql)
    assert isinstance(statement, st.CreateRelationAs | st.InsertSelect)
    sink = session.catalog.relation_by_id(plan.relation.id)
    assert sink is not None
    again = plan_into(statement, sink, session.catalog, session.context)
    assert list(walk(again))[1:] == list(walk(plan))[1:]
    assert (again.key, again.having, again.exclude, again.producer) == (
        plan.key,
        plan.having,
        plan.exclude,
        plan.producer,
    )


def test_a_query_knows_its_names_sources_and_text(session: Session) -> None:
    sql = "CREATE STREAM s AS SELECT url FROM clicks QUERY WITH ('query.name' = \"q\")"
    query = stage_of(session.plan(sql), sg.StartQuery).query
    clicks = session.catalog.relation("default", "public", "clicks")
    assert clicks is not None
    assert (query.sql, query.name, query.version, query.sources) == (sql, "q", 1, (clicks.id,))
    assert (query.intended_state, query.state) == (QueryState.RUNNING, QueryState.STARTING)
    assert (query.database, query.schema, query.store) == ("default", "public", "kafka")


def test_a_view_is_only_written_by_its_own_query(session: Session) -> None:
    view = session.relation("CREATE MATERIALIZED VIEW v WITH ('topic' = 'mine') AS SELECT url FROM clicks")
    assert (view.kind, view.topic) == (RelationKind.VIEW, "mine")


def test_every_node_of_every_plan_says_how_it_runs(session: Session) -> None:
    for sql in AGAIN:
        for node in walk(stage_of(session.plan(sql), sg.StartQuery).plan):
            assert capability(node).how


def test_the_slowest_node_decides_the_mode(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    plan: Sink = stage_of(session.plan(AGAIN[1]), sg.StartQuery).plan
    assert verdict(plan) == Verdict(Mode.REAL_TIME)
    slow = Capability("somehow", frozenset({Mode.MICRO_BATCH}), "it must wait.", "Do without it.")
    aggregate: tuple[type[Node], Kind] = (Aggregate, Kind.UPSERT)
    monkeypatch.setitem(CAPABILITIES, aggregate, slow)
    assert verdict(plan) == Verdict(Mode.MICRO_BATCH, "it must wait.", "Do without it.")
