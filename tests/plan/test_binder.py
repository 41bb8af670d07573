"""Names, types and errors of bound expressions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp

from millpond.errors import MillpondError, Position
from millpond.plan.binder import bind, bind_condition
from millpond.plan.expressions import AggregateCall, Call, Cast, ColumnRef, Expr, FieldAccess, Literal
from millpond.plan.scope import Scope, Source
from millpond.plan.tree import columns_of, contains_aggregate, is_deterministic, rewrite, rewrite_top
from millpond.sql.parser import parse
from millpond.sql.statements import Query
from millpond.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    NULL,
    TIMESTAMP,
    VARCHAR,
    ArrayType,
    Column,
    DataType,
    DecimalType,
    Field,
    MapType,
    StructType,
)

INNER = StructType(fields=(Field("Zip", INTEGER),))
PREF = StructType(fields=(Field("seat", VARCHAR), Field("inner", INNER)))
COLUMNS = (
    Column("url", VARCHAR),
    Column("userId", VARCHAR),
    Column("n", INTEGER),
    Column("big", BIGINT),
    Column("price", DecimalType(precision=10, scale=2)),
    Column("ratio", DOUBLE),
    Column("ts", TIMESTAMP),
    Column("day", DATE),
    Column("pref", PREF),
    Column("tags", ArrayType(element=VARCHAR)),
    Column("counts", MapType(key=VARCHAR, value=BIGINT)),
    Column("ok", BOOLEAN),
)
CLICKS = Scope.of_relation(("demo", "public", "clicks"), COLUMNS)


def tree_of(sql: str) -> exp.Expr:
    (query,) = parse(f"SELECT {sql}")
    assert isinstance(query, Query)
    tree: exp.Expr = query.tree.expressions[0]
    return tree


def bound(sql: str, scope: Scope = CLICKS) -> Expr:
    return bind(tree_of(sql), scope)


def refused(sql: str, scope: Scope = CLICKS) -> MillpondError:
    with pytest.raises(MillpondError) as caught:
        bound(sql, scope)
    assert caught.value.sentence
    assert caught.value.hint is not None
    return caught.value


NAMES = {
    "url": "url",
    "URL": "url",
    "clicks.url": "url",
    "public.clicks.url": "url",
    "demo.public.clicks.URL": "url",
    '"userId"': "userId",
    "userid": "userId",
    '"USERID"': "userId",
}


@pytest.mark.parametrize(("sql", "name"), NAMES.items())
def test_a_name_matches_exactly_and_then_without_case(sql: str, name: str) -> None:
    assert bound(sql) == ColumnRef(VARCHAR, name)


def test_of_two_names_that_differ_in_case_the_exact_one_is_meant() -> None:
    scope = Scope.of_columns([Column("A", INTEGER), Column("a", BIGINT)])
    assert bound("a", scope).type == BIGINT
    assert bound('"A"', scope).type == INTEGER
    both = Scope.of_columns([Column("Ab", INTEGER), Column("aB", BIGINT)])
    assert refused("ab", both).name == "AMBIGUOUS_COLUMN"


def test_a_dialect_may_fold_to_upper_case() -> None:
    columns = Source((Column("A", INTEGER), Column("a", BIGINT)))
    assert bound("a", Scope((columns,), fold=str.upper)).type == INTEGER


MEMBERS = [
    "pref->inner->zip",
    'pref."inner".zip',
    'clicks.pref."inner".zip',
    "pref['inner']->\"Zip\"",
    "(pref->inner)->Zip",
]


@pytest.mark.parametrize("sql", MEMBERS)
def test_members_of_a_struct_are_reached_by_arrows_dots_and_brackets(sql: str) -> None:
    inner = FieldAccess(INNER, ColumnRef(PREF, "pref"), "inner")
    assert bound(sql) == FieldAccess(INTEGER, inner, "Zip")


def test_a_relation_comes_before_a_struct_of_its_name() -> None:
    pair = (Column("clicks", StructType(fields=(Field("url", INTEGER), Field("only", BIGINT)))), Column("url", VARCHAR))
    scope = Scope.of_relation(("clicks",), pair)
    assert bound("clicks.url", scope).type == VARCHAR
    assert bound("clicks.only", scope).type == BIGINT


def joined() -> Scope:
    left = Source((Column("id", BIGINT), Column("a", INTEGER)), ("l",), ("l_id", "l_a"), hidden=True, hidden_prefix="l")
    right = Source((Column("id", BIGINT), Column("b", INTEGER)), ("r",), ("r_id", "r_b"))
    return Scope.of_sources(left, right)


def test_a_join_s_columns_are_told_apart_by_their_relation() -> None:
    assert bound("l.id", joined()) == ColumnRef(BIGINT, "l_id")
    assert bound("b", joined()) == ColumnRef(INTEGER, "r_b")
    assert refused("id", joined()).name == "AMBIGUOUS_COLUMN"
    assert [name for name, _ in joined().columns(("r",))] == ["id", "b"]
    assert columns_of(bound("rowtime(l)", joined())) == {"l__rowtime"}


def both() -> Scope:
    left = Source((Column("id", BIGINT),), ("l",), ("l.id",), hidden=True, hidden_prefix="l.")
    right = Source((Column("id", BIGINT),), ("r",), ("r.id",), hidden=True, hidden_prefix="r.", store_type="KINESIS")
    return Scope.of_sources(left, right)


def test_row_functions_of_a_joined_row_are_of_the_left_most_source_but_for_its_time() -> None:
    assert columns_of(bound("rowtime()", both())) == {"__rowtime"}
    assert columns_of(bound("rowtime(r)", both())) == {"r.__rowtime"}
    assert columns_of(bound("rowkey()", both())) == {"l.__key"}
    assert columns_of(bound("rowmeta()", both())) == {"l.__topic", "l.__partition", "l.__offset"}
    assert columns_of(bound("rowmeta(r)->sequence_number", both())) >= {"r.__sequence"}
    twice = Scope.of_sources(*(replace(source, name=("same",)) for source in both().sources))
    assert refused("rowkey(same)", twice).name == "ROW_FUNCTION_NOT_ALLOWED"


KINESIS = Scope.of_relation(("k",), COLUMNS, store_type="KINESIS")


def test_hidden_columns_are_reached_by_the_row_functions_only_where_there_are_records() -> None:
    assert bound("rowtime()").type == BIGINT
    assert columns_of(bound("rowkey(clicks)")) == {"__key"}
    assert columns_of(bound("rowmeta()->offset")) == {"__topic", "__partition", "__offset"}
    assert refused("rowtime()", Scope.of_columns(COLUMNS)).name == "ROW_FUNCTION_NOT_ALLOWED"
    assert refused("rowtime(r)", joined()).name == "ROW_FUNCTION_NOT_ALLOWED"
    assert columns_of(bound("rowmeta()", KINESIS)) == {"__topic", "__key", "__partition", "__sequence"}
    assert str(bound("rowmeta()->shard_id", KINESIS).type) == "VARCHAR"
    assert refused("__rowtime").name == "COLUMN_NOT_FOUND"
    keyless = Scope.of_relation(("t",), COLUMNS, key_type=None)
    assert bound("rowkey()", keyless) == Literal(VARCHAR, None)


TYPES = {
    "1": "INTEGER",
    "2147483648": "BIGINT",
    "-2147483648": "INTEGER",
    "9223372036854775808": "DECIMAL(19, 0)",
    "1.50": "DECIMAL(3, 2)",
    "0.001": "DECIMAL(3, 3)",
    "1e3": "DOUBLE",
    "'x'": "VARCHAR",
    "null": "NULL",
    "true": "BOOLEAN",
    "x'00'": "BYTES",
    "date '2024-01-01'": "DATE",
    "timestamp '2024-01-01 00:00:00'": "TIMESTAMP(3)",
    "timestamp '2024-01-01 00:00:00.000001'": "TIMESTAMP(6)",
    "n + 1": "INTEGER",
    "n + big": "BIGINT",
    "n + price": "DECIMAL(13, 2)",
    "price * price": "DECIMAL(21, 4)",
    "price / 3": "DECIMAL(21, 13)",
    "price + ratio": "DOUBLE",
    "n / 2": "INTEGER",
    "n + null": "INTEGER",
    "ts + interval '1' day": "TIMESTAMP(3)",
    "day + interval '1' day": "DATE",
    "day + interval '1' hour": "TIMESTAMP(3)",
    "tags[1]": "VARCHAR",
    "counts['a']": "BIGINT",
    "count(*)": "BIGINT",
    "sum(n)": "BIGINT",
    "sum(price)": "DECIMAL(38, 2)",
    "sum(ratio)": "DOUBLE",
    "avg(n)": "DOUBLE",
    "avg(price)": "DECIMAL(38, 6)",
    "max(day)": "DATE",
    "listagg(url)": "VARCHAR",
    "latest_by_offset(price)": "DECIMAL(10, 2)",
    "collect_list(n)": "ARRAY<INTEGER>",
    "case when ok then n else price end": "DECIMAL(12, 2)",
    "case when ok then ts else '2024-01-01' end": "TIMESTAMP(3)",
    "coalesce(null, n)": "INTEGER",
    "cast(n as varchar(3))": "VARCHAR(3)",
    "json_query(url, '$.a' returning array<varchar>)": "ARRAY<VARCHAR>",
    "json_value(url, '$.a' returning bigint)": "BIGINT",
    "array[1, 2.5]": "ARRAY<DECIMAL(11, 1)>",
    "map['a', n]": "MAP<VARCHAR, INTEGER>",
    "rowmeta()": "STRUCT<topic VARCHAR, partition INTEGER, offset BIGINT, timestamp_type VARCHAR>",
}


@pytest.mark.parametrize(("sql", "type_"), TYPES.items())
def test_an_expression_has_the_type_of_the_reference(sql: str, type_: str) -> None:
    assert str(bound(sql).type) == type_


def test_implicit_casts_are_written_out() -> None:
    expr = bound("n + big")
    assert expr == Call(BIGINT, "+", (Cast(BIGINT, ColumnRef(INTEGER, "n")), ColumnRef(BIGINT, "big")))
    assert bound("big = 1") == Call(BOOLEAN, "=", (ColumnRef(BIGINT, "big"), Literal(BIGINT, 1)))


def test_values_of_one_representation_are_not_cast() -> None:
    scope = Scope.of_columns([Column("a", TIMESTAMP), Column("b", DataType("TIMESTAMP_LTZ")), Column("c", BYTES)])
    assert bound("a < b", scope) == Call(
        BOOLEAN, "<", (ColumnRef(TIMESTAMP, "a"), ColumnRef(DataType("TIMESTAMP_LTZ"), "b"))
    )


def test_aggregates_keep_distinct_and_count_star_has_no_argument() -> None:
    assert bound("count(*)") == AggregateCall(BIGINT, "count", ())
    assert bound("count(distinct n)") == AggregateCall(BIGINT, "count", (ColumnRef(INTEGER, "n"),), True)
    assert bound("first_value(n)") == AggregateCall(INTEGER, "earliest_by_offset", (ColumnRef(INTEGER, "n"),))


ERRORS = {
    "nope": "COLUMN_NOT_FOUND",
    "clicks.nope": "COLUMN_NOT_FOUND",
    "other.url": "COLUMN_NOT_FOUND",
    "pref->nope": "COLUMN_NOT_FOUND",
    "url->x": "TYPE_MISMATCH",
    "uper(url)": "FUNCTION_NOT_FOUND",
    "upper(n)": "WRONG_ARGUMENTS",
    "upper(url, url)": "WRONG_ARGUMENTS",
    "upper(distinct url)": "WRONG_ARGUMENTS",
    "sum(url)": "WRONG_ARGUMENTS",
    "count(n, n)": "WRONG_ARGUMENTS",
    "map['a', 1, 'a', 2]": "WRONG_ARGUMENTS",
    "map[url, 1]": "WRONG_ARGUMENTS",
    "date_format(ts, url)": "WRONG_ARGUMENTS",
    "rowtime(1)": "WRONG_ARGUMENTS",
    "url + 1": "TYPE_MISMATCH",
    "url = n": "TYPE_MISMATCH",
    "ok = n": "TYPE_MISMATCH",
    "tags = tags": "TYPE_MISMATCH",
    "n and ok": "TYPE_MISMATCH",
    "not n": "TYPE_MISMATCH",
    "n is true": "TYPE_MISMATCH",
    "case when n then 1 end": "TYPE_MISMATCH",
    "case when ok then n else 'x' end": "TYPE_MISMATCH",
    "cast(big as timestamp)": "TYPE_MISMATCH",
    "cast(tags as integer)": "TYPE_MISMATCH",
    "tags['a']": "TYPE_MISMATCH",
    "url[1]": "TYPE_MISMATCH",
    "interval '5' minute": "UNSUPPORTED",
    "n in (select 1)": "UNSUPPORTED",
    "json_query(url, '$' returning integer)": "UNSUPPORTED",
}


@pytest.mark.parametrize(("sql", "name"), ERRORS.items())
def test_what_means_nothing_is_refused_by_name(sql: str, name: str) -> None:
    assert refused(sql).name == name


def test_errors_point_at_the_token_and_name_the_nearest() -> None:
    column = refused("n +\n  clicks.urrl")
    assert (column.position, column.hint) == (Position(2, 10, 4), "Did you mean 'url'?")
    function = refused("1 + uper(url)")
    assert (function.position, function.hint) == (Position(1, 12, 4), "Did you mean 'UPPER'?")
    assert refused("upper(n)").hint == "It takes UPPER(VARCHAR)."


def test_extend_replaces_parts_before_they_are_bound() -> None:
    stands_for = ColumnRef(BIGINT, "g")
    extended = bind(tree_of("n + nope"), CLICKS, lambda t: stands_for if t.sql() == "nope" else None)
    assert columns_of(extended) == {"n", "g"}


def test_a_condition_is_a_boolean() -> None:
    assert bind_condition(tree_of("n > 1"), CLICKS).type == BOOLEAN
    assert bind_condition(tree_of("null"), CLICKS) == Literal(BOOLEAN, None)
    with pytest.raises(MillpondError) as error:
        bind_condition(tree_of("n"), CLICKS)
    assert error.value.name == "TYPE_MISMATCH"


def test_a_very_long_condition_is_bound_flat() -> None:
    expr = bound(" OR ".join(f"n = {i}" for i in range(3000)))
    assert depth(expr) < 20


def depth(expr: Expr) -> int:
    return 1 + max((depth(c) for c in expr.children()), default=0)


def test_questions_about_expressions() -> None:
    assert contains_aggregate(bound("1 + sum(n)"))
    assert not contains_aggregate(bound("1 + n"))
    assert columns_of(bound("case when ok then n else big end + counts[url]")) == {"ok", "n", "big", "counts", "url"}
    assert is_deterministic(bound("upper(url)"))
    assert not is_deterministic(bound("concat(url, uuid())"))


def test_rewriting_reaches_every_part() -> None:
    everything = bound("case when ok then cast(n as bigint) else counts[pref->seat] + length(tags[n]) end")

    def renamed(expr: Expr) -> Expr:
        return ColumnRef(expr.type, expr.name + "2") if isinstance(expr, ColumnRef) else expr

    assert columns_of(rewrite(everything, renamed)) == {"ok2", "n2", "counts2", "pref2", "tags2"}
    aggregate = bound("1 + sum(n)")
    replaced = rewrite_top(aggregate, lambda e: ColumnRef(e.type, "s") if isinstance(e, AggregateCall) else None)
    assert columns_of(replaced) == {"s"}


def test_the_type_of_a_bare_null_is_null() -> None:
    assert bound("null") == Literal(NULL, None)
