"""Shapes: equal for statements that differ in literals alone."""

from __future__ import annotations

import timeit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from millpond.errors import MillpondError
from millpond.sql import literal_ordinal, parse, shape_of
from millpond.sql.statements import Query
from tests.sql.cases import canonical_statements, corpus


@pytest.mark.parametrize(
    ("text", "shape", "literals"),
    [
        ("SELECT v FROM u WHERE url = './home'", "SELECT v FROM u WHERE url = ?", ("./home",)),
        ("SELECT 1, 2.5, -3, 'a''b', ''", "SELECT ?, ?, -?, ?, ?", (1, 2.5, 3, "a'b", "")),
        ('SELECT "a\'1", `b"2` FROM t1', 'SELECT "a\'1", `b"2` FROM t1', ()),
        ("SELECT 1 -- it's 5\n, 2", "SELECT ? -- it's 5\n, ?", (1, 2)),
        ("SELECT 1 /* it's 5 */ , 2", "SELECT ? /* it's 5 */ , ?", (1, 2)),
        ("SELECT 1-1, a-b, a->b, a/b, a/1", "SELECT ?-?, a-b, a->b, a/b, a/?", (1, 1, 1)),
        ("SELECT a1, b_2, c$3, x[1], f(2) FROM t4.u5", "SELECT a1, b_2, c$3, x[?], f(?) FROM t4.u5", (1, 2)),
        ("WHERE a=1AND", "WHERE a=1AND", ()),
    ],
)
def test_literals_become_placeholders(text: str, shape: str, literals: tuple[object, ...]) -> None:
    assert shape_of(text) == (shape, literals)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'a",
        'SELECT "a, 1',
        "SELECT 1 /* a",
        "SELECT 1, ?",
        "SELECT ‘a’, 1",
        "SELECT X'00', 1",
        "SELECT n'a', 1",
        "SELECT 1.50",
        "SELECT 1e3",
        "SELECT 007",
        "SELECT .5, 1",
        "SELECT 1.2.3",
        "SELECT 12345678901234567890",
        f"SELECT {'9' * 5_000}",
        "SELECT 0.1234567890123456789",
    ],
)
def test_when_in_doubt_the_shape_is_the_text(text: str) -> None:
    assert shape_of(text) == (text, ())


def filled(shape: str, literals: tuple[object, ...]) -> str:
    """`shape` with its placeholders outside names and comments filled again."""
    written = iter([f"'{v.replace(chr(39), chr(39) * 2)}'" if isinstance(v, str) else str(v) for v in literals])
    return "".join(next(written) if char == "?" else char for char in shape)


@pytest.mark.parametrize("text", [t for t in canonical_statements() if "?" not in t])
def test_a_shape_filled_again_is_the_statement(text: str) -> None:
    assert filled(*shape_of(text)) == text


@pytest.mark.parametrize("text", corpus())
def test_ordinals_of_the_tree_are_places_in_the_shape(text: str) -> None:
    try:
        (statement,) = parse(text)
    except (MillpondError, ValueError):
        return
    _, literals = shape_of(text)
    if not isinstance(statement, Query) or not literals:
        return
    for node in statement.tree.find_all(exp.Literal):
        ordinal = literal_ordinal(node)
        if ordinal is not None:
            assert str(literals[ordinal]) == node.name


@settings(max_examples=300, deadline=None)
@given(st.text("a1'\"`-/*? .;\n\\x‘", max_size=25), st.text(max_size=5))
def test_two_statements_of_one_shape_differ_in_literals_alone(text: str, other: str) -> None:
    shape, literals = shape_of(text)
    if not literals:
        assert shape == text or parses_not(text) or shape_of(shape) == (shape, ())
        return
    changed = tuple(other if isinstance(v, str) else v for v in literals)
    again = filled(shape, changed) if shape.count("?") == len(literals) else ""
    if again and not set(other) & set("‘’‚‛′“”„‟″"):
        assert shape_of(again) == (shape, changed)


def parses_not(text: str) -> bool:
    try:
        parse(text)
    except MillpondError:
        return True
    return False


def test_a_shape_is_found_in_microseconds() -> None:
    text = "SELECT visits FROM url_visits WHERE url = './home' LIMIT 10"
    seconds = min(timeit.repeat(lambda: shape_of(text), number=1000, repeat=20)) / 1000
    assert seconds < 30e-6, f"{seconds * 1e6:.1f} microseconds; 3 on a quiet machine"
