"""Where things stand, for whoever refuses them later."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlglot import exp

from millpond.errors import Position, underline
from millpond.sql import parse, position_of
from millpond.sql.position import Lines
from millpond.sql.statements import CreateRelation, CreateRelationAs, Query, Statement


def parsed(text: str) -> Statement:
    (statement,) = parse(text)
    return statement


def underlined(text: str, position: Position | None) -> str:
    assert position is not None
    return text.splitlines()[position.line - 1][position.column - 1 :][: position.length]


QUERY = """SELECT a.url, "B""c"->d, missing(x, 1),
  'it''s' || y, COUNT(*)
FROM db.s."T" AS a
WHERE ünï > 10.5"""


@pytest.mark.parametrize(
    ("wanted", "token"),
    [
        (lambda t: next(c for c in t.find_all(exp.Column) if c.name == "url"), "a"),
        (lambda t: next(i for i in t.find_all(exp.Identifier) if i.name == "url"), "url"),
        (lambda t: next(i for i in t.find_all(exp.Identifier) if i.name == 'B"c'), '"B""c"'),
        (lambda t: next(i for i in t.find_all(exp.Identifier) if i.name == "d"), "d"),
        (lambda t: next(f for f in t.find_all(exp.Anonymous) if f.name == "missing"), "missing"),
        (lambda t: next(i for i in t.find_all(exp.Literal) if i.is_string), "'it''s'"),
        (lambda t: t.find(exp.DPipe), "'it''s'"),
        (lambda t: t.find(exp.Table), "db"),
        (lambda t: t.find(exp.GT), "ünï"),
        (lambda t: t.find(exp.GT).expression, "10.5"),
    ],
)
def test_a_node_knows_its_token(wanted: Callable[[exp.Query], exp.Expr], token: str) -> None:
    statement = parsed(QUERY)
    assert isinstance(statement, Query)
    assert underlined(QUERY, position_of(wanted(statement.tree))) == token


def test_a_node_without_a_token_below_it_has_no_position() -> None:
    assert position_of(exp.column("a")) is None


def test_positions_are_relative_to_the_statement() -> None:
    first, second = parse("SELECT 1;\n\n  SELECT a,\n  b FROM t")
    assert isinstance(second, Query)
    assert first.text == "SELECT 1"
    places = [position_of(column) for column in second.tree.expressions]
    assert [underlined(second.text, place) for place in places] == ["a", "b"]
    assert places == [Position(1, 8, 1), Position(2, 3, 1)]


def test_a_query_inside_a_statement_has_the_text_of_the_whole() -> None:
    text = "CREATE STREAM s AS\nSELECT a FROM t"
    statement = parsed(text)
    assert isinstance(statement, CreateRelationAs)
    assert statement.query.text == text
    assert underlined(text, position_of(statement.query.tree.expressions[0])) == "a"


def test_names_and_properties_know_where_they_stand() -> None:
    text = "CREATE STREAM db.\"s\".clicks (a INT)\nWITH ('topic' = 'x', 'nope' = 1)"
    statement = parsed(text)
    assert isinstance(statement, CreateRelation)
    assert underlined(text, statement.name.position) == 'db."s".clicks'
    assert [underlined(text, p.position) for p in statement.properties] == ["'topic'", "'nope'"]


@pytest.mark.parametrize(
    ("text", "offset", "line", "column"),
    [
        ("ab", 0, 1, 1),
        ("ab", 2, 1, 3),
        ("a\nb", 2, 2, 1),
        ("a\r\nb", 3, 2, 1),
        ("a\n", 2, 2, 1),
        ("", 0, 1, 1),
    ],
)
def test_an_offset_is_a_line_and_a_column(text: str, offset: int, line: int, column: int) -> None:
    position = Lines(text).position(offset, offset + 1)
    assert (position.line, position.column, position.length) == (line, column, 1)
    assert underline(text, position).endswith("^")
