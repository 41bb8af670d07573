"""How long and how deep a text may be."""

from __future__ import annotations

import time

import pytest

from millpond.errors import MillpondError, Position, mask_secrets
from millpond.sql.parser import parse
from millpond.sql.size import DEEPEST, MOST_CHARACTERS, MOST_TOKENS

PATIENCE_SECONDS = 3.0
"""Far more than it takes, far less than the same work done at each character."""


def refused(text: str) -> MillpondError:
    with pytest.raises(MillpondError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize("bracket", ["(", "[", "(SELECT "])
def test_what_is_nested_too_deeply_is_refused_at_the_first_excess(bracket: str) -> None:
    begun = time.monotonic()
    error = refused("SELECT " + bracket * 1_000_000)
    assert error.name == "SYNTAX"
    assert "nested more than 50 levels deep" in str(error)
    assert error.position == Position(1, 8 + DEEPEST * len(bracket), 1)
    assert time.monotonic() - begun < PATIENCE_SECONDS


@pytest.mark.parametrize("text", [";" * (MOST_TOKENS + 1), "SELECT 1" + " OR a" * MOST_TOKENS, " " * 20_000_001])
def test_a_text_that_is_too_long_is_refused_by_name(text: str) -> None:
    assert refused(text).name == "STATEMENT_TOO_LONG"


@pytest.mark.parametrize("text", ["/*" * 500_000, "'" * 499_999, '"' * 499_999, "`" * 499_999])
def test_what_is_never_closed_is_looked_for_once(text: str) -> None:
    begun = time.monotonic()
    assert refused(text).name == "SYNTAX"
    assert time.monotonic() - begun < PATIENCE_SECONDS


def test_brackets_in_texts_names_and_comments_count_for_nothing() -> None:
    brackets = "(" * 100
    assert len(parse(f"SELECT '{brackets}' AS \"{brackets}\" /* {brackets} */; -- {brackets}")) == 1


def test_many_statements_may_have_brackets() -> None:
    assert len(parse("SELECT (1);" * 200)) == 200


def test_an_insert_of_ten_thousand_rows_is_read() -> None:
    rows = ", ".join(f"({n}, 'name {n}', {n}.5, NULL)" for n in range(10_000))
    assert len(parse(f"INSERT INTO c VALUES {rows}")) == 1
    assert len(rows) < MOST_CHARACTERS


@pytest.mark.parametrize("text", ["a" * 1_000_000, "password" * 100_000, "token " * 100_000, "." * 1_000_000])
def test_secrets_are_looked_for_in_time_that_grows_with_the_text_alone(text: str) -> None:
    begun = time.monotonic()
    assert mask_secrets(text) == text
    assert time.monotonic() - begun < PATIENCE_SECONDS
