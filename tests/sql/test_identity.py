"""Text -> statement -> canonical text."""

from __future__ import annotations

import pytest

from millpond.sql import parse, print_statement
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
