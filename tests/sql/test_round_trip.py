"""What is printed is read back as it was; garbage is refused, never more."""

from __future__ import annotations

import contextlib

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from millpond.errors import MillpondError
from millpond.sql import parse, parse_type, print_statement, type_of
from millpond.sql.statements import Statement
from millpond.sql.type_trees import type_tree
from millpond.types import DataType
from tests.sql.cases import corpus
from tests.sql.strategies import anything, data_types, statements

CORPUS = corpus()
MARKS = ["'", '"', "`", "(", ")", ";", "--", "/*"]
FRAGMENTS = sorted({word for text in CORPUS for word in text.split()})


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(statements)
def test_a_printed_statement_is_read_back(statement: Statement) -> None:
    text = print_statement(statement)
    (again,) = parse(text)
    assert again == statement
    assert print_statement(again) == text


@settings(max_examples=200, deadline=None)
@given(data_types)
def test_a_printed_type_is_read_back(data_type: DataType) -> None:
    assert parse_type(str(data_type)) == data_type
    tree = type_tree(data_type)
    assert isinstance(tree, exp.DataType)
    assert type_of(tree) == data_type


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """A statement of the corpus with pieces cut out, doubled, or put in from elsewhere."""
    text = draw(st.sampled_from(CORPUS))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 8)))
        new = draw(st.sampled_from(FRAGMENTS) | anything | st.sampled_from(MARKS))
        text = text[:start] + new + text[end:]
    return text


@settings(max_examples=400, deadline=None)
@given(mutations() | st.text(max_size=40))
def test_garbage_is_refused_with_a_position(text: str) -> None:
    try:
        found = parse(text)
    except MillpondError as error:
        assert error.name in ("SYNTAX", "UNSUPPORTED", "UNKNOWN_PROPERTY")
        assert error.position is not None
        assert error.sql == text
        assert str(error)
    else:
        for statement in found:
            assert parse(print_statement(statement)) == (statement,)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(" ".join))
def test_shuffled_words_are_refused_or_read(text: str) -> None:
    with contextlib.suppress(MillpondError):
        for statement in parse(text):
            assert parse(print_statement(statement)) == (statement,)
