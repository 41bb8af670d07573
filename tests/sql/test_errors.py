"""Wrong text is refused at the right token."""

from __future__ import annotations

import pytest

from millpond.errors import MillpondError
from millpond.sql import parse, parse_type
from tests.sql.cases import Case, cases


def refusal(text: str) -> MillpondError:
    with pytest.raises(MillpondError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize("case", cases("errors.sql"), ids=lambda c: c.written[:60])
def test_a_wrong_statement_is_refused_at_its_token(case: Case) -> None:
    name, place, *token = case.expected.split(" ", 2)
    error = refusal(case.written)
    position = error.position
    assert position is not None
    assert error.sql == case.written
    line = case.written.splitlines()[position.line - 1]
    underlined = line[position.column - 1 : position.column - 1 + position.length]
    found = (error.name, f"{position.line}:{position.column}", underlined)
    assert found == (name, place, *(token or [""]))
    assert str(error).count("^") == position.length


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("CRAETE STREAM x", "CREATE"),
        ("CREATE STRAEM x", "STREAM"),
        ("SELCT 1", "SELECT"),
        ("SELECT a FORM t", "FROM"),
        ("SELECT a FROM t WEHRE a", "WHERE"),
        ("LIST RELATION", "RELATIONS"),
        ("DROP DATABSE x", "DATABASE"),
        ("CREATE STREAM x (a BIGNIT)", "BIGINT"),
        ("SELECT a FROM TUMBLE(t, SIEZ 5 MINUTE)", "SIZE"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_nearest_one(text: str, nearest: str) -> None:
    assert f"Did you mean {nearest}?" in refusal(text).sentence


def test_an_error_says_what_was_expected() -> None:
    expected = "Expected ',', ')' or NOT NULL, but the statement ends here."
    assert refusal("CREATE STREAM x (a INT").sentence == expected


@pytest.mark.parametrize("word", ["UNION ALL", "EXCEPT", "INTERSECT"])
def test_a_chain_of_queries_has_an_end(word: str) -> None:
    assert parse(f" {word} ".join(["SELECT 1"] * 200))
    error = refusal(f" {word} ".join(["SELECT 1"] * 3_000))
    assert error.sentence == "This is more than 200 operands of UNION, EXCEPT or INTERSECT."


def test_a_name_has_no_nul_in_it() -> None:
    error = refusal('SELECT 1 AS "a\0b"')
    assert (error.name, error.sentence) == ("SYNTAX", "A name cannot have the character NUL in it.")


def test_a_family_that_is_not_there_says_what_to_do_instead() -> None:
    error = refusal("CREATE VIEW v AS SELECT 1")
    assert (error.name, error.hint) == ("UNSUPPORTED", "Write CREATE MATERIALIZED VIEW ... AS SELECT.")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 2000,
        "SELECT " + "NOT " * 2000 + "a",
        "SELECT " + "- " * 2000 + "1",
        "SELECT " + "(SELECT " * 2000,
        "SELECT a" + "->b" * 2000,
        "SELECT " + "CASE WHEN " * 2000,
        "CREATE STREAM x (a " + "ARRAY<" * 2000,
        "SELECT * FROM " + "(SELECT * FROM " * 2000,
    ],
    ids=lambda text: text[:20],
)
def test_deep_nesting_is_refused(text: str) -> None:
    assert refusal(text).name == "SYNTAX"


def test_a_number_that_no_machine_holds_is_refused() -> None:
    assert refusal("SELECT " + "9" * 5000).name == "SYNTAX"


@pytest.mark.parametrize("text", ["", "VARCHR", "INT INT", "ARRAY<INT", "DECIMAL(2, 3)", "STRUCT<a>", "'INT'", "INT;"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(MillpondError) as caught:
        parse_type(text)
    assert caught.value.name == "SYNTAX"
    assert caught.value.position is not None
