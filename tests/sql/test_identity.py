"""Text -> statement -> canonical text."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis.strategies import uuids

from millpond.sql import parse, print_statement
from millpond.sql.statements import Identifier, Name, Terminate
from tests.sql.cases import Case, canonical_statements, cases


@pytest.mark.parametrize("text", canonical_statements())
def test_a_canonical_statement_prints_to_itself(text: str) -> None:
    (statement,) = parse(text)
    assert print_statement(statement) == text
    assert statement.text == text


@pytest.mark.parametrize("case", cases("spellings.sql"), ids=lambda c: c.expected[:60])
def test_another_spelling_prints_to_the_canonical_one(case: Case) -> None:
    (statement,) = parse(case.written)
    assert print_statement(statement) == case.expected
    assert (statement,) == parse(case.expected)


@example(UUID("4c80808d-1e98-40fd-a192-f83cfa1a1e6b"))
@example(UUID("0b100000-0000-4000-8000-000000000000"))
@given(uuids())
def test_an_id_may_be_any_uuid(query: UUID) -> None:
    (statement,) = parse(f"TERMINATE QUERY {query}")
    assert statement == Terminate(Name((Identifier(str(query)),)))


def test_a_batch_is_its_statements_without_empty_ones() -> None:
    text = "-- first\nSELECT 1 ; ;\n\n /* second */ list queries -- done\n;;SHOW STORES"
    assert [s.text for s in parse(text)] == ["SELECT 1", "list queries", "SHOW STORES"]


@pytest.mark.parametrize("text", ["", " \n", ";", "-- nothing", "/* ; */ ;; "])
def test_nothing_is_no_statement(text: str) -> None:
    assert parse(text) == ()


def test_the_text_of_a_statement_is_as_written() -> None:
    text = "select ‘a’,\n  “B” -- x\n from t"
    (statement,) = parse(f"  {text} ;")
    assert statement.text == text
