"""EXPLAIN prints the stages that the runner carries out: texts that are compared whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from millpond.plan import stages as sg
from millpond.plan.explain import describe_stage, explain
from tests.plan.planning import Session, Topic

KNOWN = """
CREATE STREAM clicks (event_time BIGINT, url VARCHAR, userid VARCHAR, tags ARRAY<VARCHAR>)
  WITH ('value.format' = 'json', 'timestamp' = 'event_time');
CREATE CHANGELOG users (id VARCHAR, info STRUCT<name VARCHAR, x INTEGER>, PRIMARY KEY (id))
  WITH ('value.format' = 'json');
CREATE CHANGELOG names (id VARCHAR, name VARCHAR, PRIMARY KEY (id)) WITH ('value.format' = 'json');
CREATE MATERIALIZED VIEW url_visits WITH ('topic' = 'visits') AS SELECT url, count(*) AS visits FROM clicks GROUP BY url
  QUERY WITH ('query.name' = 'counting');
"""
IDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=\.)[0-9a-f]{8}\b")


def cases() -> list[tuple[str, str]]:
    blocks = Path(__file__).with_name("explain.txt").read_text("utf-8").strip().split("\n\n")
    return [(sql.removeprefix("-- "), text) for sql, _, text in (block.partition("\n") for block in blocks)]


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session({"clicks": Topic(4, 2)})
    session.run(KNOWN)
    return session


@pytest.mark.parametrize(("sql", "expected"), cases())
def test_a_statement_is_explained(session: Session, sql: str, expected: str) -> None:
    text = "\n".join(explain(session.plan(sql)))
    assert IDS.sub("<id>", text) == expected


def test_every_stage_has_its_line_and_no_line_is_without_one(session: Session) -> None:
    planned = session.plan("CREATE MATERIALIZED VIEW v AS SELECT url FROM clicks")
    numbered = [line for line in explain(planned) if not line.startswith(" ")]
    assert numbered == [f"{n}. {describe_stage(s)}" for n, s in enumerate(planned.stages, 1)]


def test_every_kind_of_stage_can_be_described() -> None:
    described = describe_stage(sg.AddNamespace("shop", None)), describe_stage(sg.WriteEntity("kafka", "t", "{}"))
    assert described == ("AddNamespace database=shop", "WriteEntity store=kafka topic=t value={}")
