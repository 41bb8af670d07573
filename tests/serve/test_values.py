"""Rows of INSERT INTO ... VALUES, planned and evaluated: what of a written value is stored in a column."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from millpond.errors import MillpondError
from millpond.plan import stages as sg
from millpond.serve.values import evaluate_rows
from tests.plan.planning import Session, stage_of

NESTED = """
CREATE STREAM nested (
  prices MAP<VARCHAR, DOUBLE>, lists MAP<BIGINT, ARRAY<BIGINT>>,
  one STRUCT<n BIGINT, price DECIMAL(10, 2), day DATE>, many ARRAY<STRUCT<n BIGINT, label VARCHAR>>
) WITH ('value.format' = 'json');
"""
ONE = {"n": 1, "price": Decimal("2.00"), "day": date(2024, 1, 2)}
STORED = [
    ("prices", "MAP['a', 1, 'b', 2.5]", {"a": 1.0, "b": 2.5}),
    ("lists", "MAP[1, ARRAY[1, 2]]", {1: [1, 2]}),
    ("one", "ROW(1, 2, '2024-01-02')", ONE),
    ("one", "NAMED_STRUCT('n', 1, 'price', 2, 'day', '2024-01-02')", ONE),
    ("one", "CAST(ROW(1, 2, DATE '2024-01-02') AS STRUCT<n BIGINT, price DECIMAL(10, 2), day DATE>)", ONE),
    ("one", "NULL", None),
    ("many", "ARRAY[ROW(1, 'a'), ROW(2.5, 'b')]", [{"n": 1, "label": "a"}, {"n": 2, "label": "b"}]),
    ("many", "ARRAY[NULL]", [None]),
    (
        "many",
        "ARRAY[ROW(1, 'a'), ROW(NULL, 'b'), ROW(NULL, NULL)]",
        [{"n": 1, "label": "a"}, {"n": None, "label": "b"}, {"n": None, "label": None}],
    ),
    ("many", "ARRAY[ROW(NULL, NULL)]", [{"n": None, "label": None}]),
]


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    session.run(NESTED)
    return session


@pytest.mark.parametrize(("column", "value", "stored"), STORED)
def test_the_parts_of_a_nested_value_take_the_types_of_its_column(
    session: Session, column: str, value: str, stored: Any
) -> None:
    stage = stage_of(session.plan(f"INSERT INTO nested ({column}) VALUES ({value})"), sg.WriteRows)
    (row,) = evaluate_rows(stage.relation, stage.rows)
    named = dict(zip((c.name for c in stage.relation.columns), row, strict=True))
    assert named[column] == stored


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("price", "CAST('NaN' AS DOUBLE)", "nan"),
        ("price", "CAST('-Infinity' AS DOUBLE)", "-inf"),
        ("ratio", "CAST('NaN' AS FLOAT)", "nan"),
        ("ratio", "CAST('NaN' AS DOUBLE)", "nan"),
        ("prices", "MAP['a', CAST('NaN' AS DOUBLE)]", "{'a': nan}"),
    ],
)
def test_nan_and_the_infinities_are_stored(column: str, value: str, shown: str) -> None:
    session = Session()
    session.run(
        "CREATE STREAM s (price DOUBLE, ratio FLOAT, prices MAP<VARCHAR, DOUBLE>) WITH ('value.format' = 'json');"
    )
    stage = stage_of(session.plan(f"INSERT INTO s ({column}) VALUES ({value})"), sg.WriteRows)
    (row,) = evaluate_rows(stage.relation, stage.rows)
    assert [repr(found) for found in row if found is not None] == [shown]


REFUSED = [
    ("prices", "MAP['a', 'b']", "CAST(... AS DOUBLE) around the VARCHAR"),
    ("lists", "MAP[1.5, ARRAY[1]]", "CAST(... AS BIGINT) around the DECIMAL(2, 1)"),
    ("one", "ROW(1, 2)", "ROW(...) of BIGINT, DECIMAL(10, 2), DATE"),
    (
        "one",
        "NAMED_STRUCT('price', 1, 'n', 2, 'day', '2024-01-02')",
        "NAMED_STRUCT('n', ..., 'price', ..., 'day', ...)",
    ),
    ("many", "1", "ARRAY[...] with values of STRUCT<n BIGINT, label VARCHAR>"),
    ("prices", "'x'", "MAP['...', ...] with keys of VARCHAR and values of DOUBLE"),
]


@pytest.mark.parametrize(("column", "value", "advice"), REFUSED)
def test_a_value_that_does_not_fit_is_refused_with_what_to_write(
    session: Session, column: str, value: str, advice: str
) -> None:
    with pytest.raises(MillpondError) as caught:
        session.plan(f"INSERT INTO nested ({column}) VALUES ({value})")
    assert caught.value.name == "TYPE_MISMATCH"
    assert advice in caught.value.hint


def test_a_nested_value_that_a_function_makes_is_refused_with_what_to_write(session: Session) -> None:
    planned = session.plan("INSERT INTO nested (lists) VALUES (MAP[1, ARRAY_SLICE(ARRAY[1, 2], 1, 1)])")
    stage = stage_of(planned, sg.WriteRows)
    with pytest.raises(MillpondError) as caught:
        evaluate_rows(stage.relation, stage.rows)
    assert (caught.value.name, "ARRAY[...]" in caught.value.hint) == ("TYPE_MISMATCH", True)
