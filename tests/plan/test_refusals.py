"""Statements that cannot be carried out: the named error, where it points, and that nothing is planned."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from millpond.errors import MillpondError, Position
from tests.plan.planning import Session

CASES = [
    pytest.param(name, sql, token, id=f"{name}-{sql}")
    for name, table in tomllib.loads(Path(__file__).with_name("refusals.toml").read_text("utf-8")).items()
    for sql, token in table["cases"]
]

KNOWN = """
CREATE DATABASE shop;
CREATE STREAM clicks (event_time BIGINT, url VARCHAR, userid VARCHAR, ip VARCHAR, tags ARRAY<VARCHAR>)
  WITH ('value.format' = 'json', 'timestamp' = 'event_time');
CREATE STREAM plain (url VARCHAR) WITH ('value.format' = 'json');
CREATE STREAM keyed (url VARCHAR) WITH ('value.format' = 'json', 'key.format' = 'primitive', 'key.type' = 'VARCHAR');
CREATE STREAM windowed (window_start TIMESTAMP) WITH ('value.format' = 'json');
CREATE CHANGELOG users (userid VARCHAR, name VARCHAR, friends ARRAY<VARCHAR>, PRIMARY KEY (userid))
  WITH ('value.format' = 'json');
CREATE CHANGELOG visits_log AS SELECT url, count(*) AS n FROM clicks GROUP BY url;
CREATE MATERIALIZED VIEW url_visits AS SELECT url, count(*) AS visits FROM clicks GROUP BY url
  QUERY WITH ('query.name' = 'counting');
CREATE MATERIALIZED VIEW other_view AS SELECT url FROM clicks;
CREATE MATERIALIZED VIEW with_topic WITH ('topic' = 'view_topic') AS SELECT url FROM clicks;
CREATE STREAM over_view (url VARCHAR) WITH ('value.format' = 'json', 'topic' = 'view_topic');
CREATE INDEX by_visits ON url_visits (visits);
CREATE STREAM twice AS SELECT url FROM clicks;
INSERT INTO twice SELECT url FROM plain;
"""


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    session.run(KNOWN)
    return session


@pytest.mark.parametrize(("name", "sql", "token"), CASES)
def test_a_wrong_statement_is_refused_and_its_token_underlined(
    session: Session, name: str, sql: str, token: str
) -> None:
    with pytest.raises(MillpondError) as caught:
        session.plan(sql)
    assert (caught.value.name, pointed(sql, caught.value.position)) == (name, token)
    assert str(caught.value)


def pointed(sql: str, position: Position | None) -> str:
    """The text that an error points at."""
    if position is None:
        return ""
    line = sql.splitlines()[position.line - 1]
    return line[position.column - 1 : position.column - 1 + position.length]


def test_an_unknown_property_comes_with_the_nearest_known_name(session: Session) -> None:
    with pytest.raises(MillpondError) as caught:
        session.plan("CREATE STREAM s (a INTEGER) WITH ('value.fromat' = 'json')")
    assert "'value.format'" in caught.value.hint
