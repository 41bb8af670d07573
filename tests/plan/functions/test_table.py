"""The function table as a whole: complete cases, names that mean one thing, forms that both engines have."""

from __future__ import annotations

import pytest

from millpond.errors import MillpondError
from millpond.plan.expressions import AggregateCall, Call, walk
from millpond.plan.functions.table import (
    all_aggregates,
    all_functions,
    find_aggregate,
    find_functions,
    get_function,
)
from tests.plan.functions.cases import SCALAR_FILES, bound, group_scope, read_cases, sample_scope

BOUND_FROM_HIDDEN_COLUMNS = {"text_key", "integer_key", "kafka_metadata", "kinesis_metadata"}
"""Their cases are in tests/spark/test_functions_agree.py."""


def test_every_function_has_a_case() -> None:
    used = {
        part.function
        for case in read_cases(*SCALAR_FILES)
        for part in walk(bound(case.sql, sample_scope()))
        if isinstance(part, Call)
    }
    assert {f.name for f in all_functions()} - used == BOUND_FROM_HIDDEN_COLUMNS


def test_every_aggregate_that_a_pull_query_has_has_a_case() -> None:
    used = {
        part.function
        for case in read_cases("aggregates")
        for part in walk(bound(case.sql, group_scope()))
        if isinstance(part, AggregateCall)
    }
    assert {a.name for a in all_aggregates() if a.sqlite is not None} == used


def test_every_spelling_finds_its_function() -> None:
    for function in all_functions():
        assert get_function(function.name) is function
        for spelling in function.spellings:
            assert function in find_functions(spelling.upper())


def test_no_name_is_both_a_scalar_function_and_an_aggregate() -> None:
    scalar = {s for f in all_functions() for s in f.spellings}
    assert not scalar & {s for a in all_aggregates() for s in a.spellings}


@pytest.mark.parametrize(
    "name",
    [
        "count",
        "sum",
        "avg",
        "min",
        "max",
        "stddev",
        "listagg",
        "latest_by_offset",
        "earliest_by_offset",
        "first_value",
        "last_value",
    ],
)
def test_the_aggregates_of_the_reference_are_there(name: str) -> None:
    assert find_aggregate(name) is not None


def test_functions_that_differ_from_call_to_call_are_marked() -> None:
    volatile = {f.name for f in all_functions() if not f.deterministic}
    assert volatile == {
        "rand", "rand_integer", "uuid", "current_timestamp", "current_date", "current_time", "unix_now",
    }  # fmt: skip


WRONG_CONSTANTS = [
    "date_format(ts, 'yyyy-foo')",
    "date_format(ts, 'yyyy''T')",
    "to_timestamp(s, 'EEE')",
    "to_timestamp(s, 'ssSSS')",
    "regexp_like(s, '(')",
    "regexp_like(s, '[[a]')",
    "regexp_like(s, '[a&&b]')",
    "regexp_extract(s, '(a)', 2)",
    "regexp_replace(s, 'a', '$1')",
    "regexp_replace(s, 'a', '$')",
    "json_value(s, 'a.b')",
    "json_value(s, '$.a[*]')",
    "date_trunc('fortnight', ts)",
    "to_timestamp_ltz(i, 6)",
    "s like 'a!b' escape '!'",
    "s like 'a' escape 'ab'",
    "ts + interval 'x' minute",
    "ts > 'yesterday'",
    "i = 'seven'",
    "i = '1.5'",
]


@pytest.mark.parametrize("sql", WRONG_CONSTANTS)
def test_a_wrong_constant_is_refused_before_anything_runs(sql: str) -> None:
    from millpond.spark.expressions import to_spark

    with pytest.raises(MillpondError) as error:
        expr = bound(sql, sample_scope())
        to_spark(expr)
    assert error.value.name == "INVALID_CONSTANT"
