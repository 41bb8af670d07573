"""Pull queries by shape: what is shared gives the same answers as what is planned anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from millpond.catalog.model import Index, SessionContext
from millpond.errors import MillpondError
from millpond.serve.facts import NoFacts
from millpond.serve.pull.prepared import CACHED, SENTINEL, SENTINEL_NUMBER
from millpond.serve.pulling import Pulling
from millpond.sql.parser import parse
from millpond.sql.statements import Query
from millpond.views.reader import ViewReader
from millpond.views.schema import ViewIndex
from tests.serve.shop import CONTENTS, Shop, open_shop
from tests.serve.test_pull import NoQueries

CONTEXT = SessionContext()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with open_shop(tmp_path_factory.mktemp("shop")) as shop:
        yield shop


@pytest.fixture(scope="module")
def pulling(shop: Shop) -> Pulling:
    return new_pulling(shop)


def new_pulling(shop: Shop) -> Pulling:
    return Pulling(shop.catalog, NoQueries(), shop.reader, NoFacts())


def outcome(pulling: Pulling, sql: str) -> Any:
    """Columns and rows, or the error's name."""
    try:
        (query,) = parse(sql)
        assert isinstance(query, Query)
        answer = pulling.answer(query.text, query, CONTEXT)
    except MillpondError as error:
        return error.name
    return answer.columns, [tuple(row) for row in answer.rows]


def plan(pulling: Pulling, sql: str) -> Any:
    outcome(pulling, sql)
    found = pulling.prepared.find(sql, CONTEXT)
    assert found is not None
    return found[0]


# --- what is shared ---


def test_statements_that_differ_in_a_key_share_a_plan(pulling: Pulling) -> None:
    one = plan(pulling, "SELECT visits FROM visits WHERE url = './home' AND device = 'd1'")
    other = pulling.prepared.find("SELECT visits FROM visits WHERE url = 'it''s' AND device = 'x'", CONTEXT)
    assert other == (one, ("it's", "x"))


@pytest.mark.parametrize("around", ["{};", "  {} ;\n", "{}", "\n{}"])
def test_a_plan_is_found_with_what_stands_around_the_statement(around: str, pulling: Pulling) -> None:
    sql = "SELECT visits FROM visits WHERE device = 'd1'"
    one = plan(pulling, sql)
    assert pulling.prepared.find(around.format(sql), CONTEXT) == (one, ("d1",))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "SELECT url FROM visits WHERE url > '' ORDER BY url LIMIT 1",
            "SELECT url FROM visits WHERE url > '' ORDER BY url LIMIT 2",
        ),
        ("SELECT substr(url, 1) AS s FROM visits", "SELECT substr(url, 3) AS s FROM visits"),
        ("SELECT 1 AS x", "SELECT 'a' AS x"),
        ("SELECT url FROM visits WHERE visits = 2", "SELECT url FROM visits WHERE visits = 3000000000"),
        ("SELECT url FROM visits WHERE visits = 2", "SELECT url FROM visits WHERE visits = '2'"),
        ("SELECT url FROM visits WHERE visits = 2", "SELECT url FROM visits WHERE visits = 2.5"),
        ("SELECT url, count(*) FROM visits GROUP BY 1", "SELECT url, count(*) FROM visits GROUP BY 2"),
        ("SELECT url FROM visits ORDER BY 1", "SELECT url FROM visits ORDER BY 2"),
        ("SELECT id FROM kinds WHERE price = 10", "SELECT id FROM kinds WHERE price = 10.5"),
    ],
)
def test_other_literals_are_not_shared(one: str, other: str, shop: Shop) -> None:
    shared = new_pulling(shop)
    outcome(shared, one)
    assert outcome(shared, other) == outcome(new_pulling(shop), other)
    assert outcome(shared, one) == outcome(new_pulling(shop), one)


# --- the same answers ---

texts = st.one_of(
    st.sampled_from(
        ["./home", "./cart", "d1", "", "Ann", "O'Hara", "'", "''", "%", "_", "?", ";", "--", "2024-02-29", "9.5", "1"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from([SENTINEL.format(n) for n in range(3)]),
)
numbers = st.one_of(
    st.integers(-3, 3),
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**31, 2**31 - 1, -(2**31), 2**63, 2**63 - 1, SENTINEL_NUMBER, SENTINEL_NUMBER + 1, 1987654321]),
    st.decimals(-1000, 1000, places=2),
)
literals = st.one_of(texts.map(lambda t: "'" + t.replace("'", "''") + "'"), numbers.map(str))

TEMPLATES = (
    "SELECT url, visits FROM visits WHERE url = {0} ORDER BY url, device",
    "SELECT url FROM visits WHERE visits = {0} OR visits > {1} ORDER BY url, device",
    "SELECT url FROM visits WHERE url IN ({0}, {1}, './pay') ORDER BY url, device",
    "SELECT id FROM kinds WHERE price = {0} OR price < {1} ORDER BY id",
    "SELECT id FROM kinds WHERE ratio = {0} OR tiny < {1} ORDER BY id",
    "SELECT id FROM kinds WHERE big = {0} OR part >= {1} ORDER BY id",
    "SELECT id FROM kinds WHERE day = {0} OR seen < {1} ORDER BY id",
    "SELECT id FROM kinds WHERE flag = {0} ORDER BY id LIMIT {1}",
    "SELECT visits = {0} AS same, {1} AS constant FROM visits ORDER BY url, device LIMIT 2",
    "SELECT visits = {0} AS same, count(*) AS n FROM visits GROUP BY visits = {0} ORDER BY 1",
    "SELECT substr(url, {0}) AS s FROM visits WHERE device = {1} ORDER BY url",
    "SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM visits WHERE visits > {0} AND device = u.device) ORDER BY 1",
    "WITH x AS (SELECT * FROM visits WHERE visits > {0}) SELECT a.url FROM x a JOIN x b ON b.visits < {1} ORDER BY 1",
    "SELECT CASE WHEN visits = {0} THEN {1} ELSE NULL END AS c FROM visits ORDER BY url, device",
    "SELECT url FROM visits WHERE visits BETWEEN {0} AND {1} ORDER BY url LIMIT 1",
    "SELECT age FROM users WHERE age = {0} UNION SELECT {1} ORDER BY 1",
)


@settings(max_examples=400, deadline=None)
@given(template=st.sampled_from(TEMPLATES), asked=st.lists(st.tuples(literals, literals), min_size=2, max_size=4))
@example(template=TEMPLATES[0], asked=[("'a'", "1"), ("'\x01mp0\x01'", "1"), ("'./home'", "1")])
@example(template=TEMPLATES[3], asked=[("1", "1"), ("12345678901", "12345678901"), ("9.50", "-5")])
@example(template=TEMPLATES[1], asked=[("2", "1"), (str(SENTINEL_NUMBER + 1), "1"), ("1", str(SENTINEL_NUMBER))])
def test_shared_plans_answer_as_new_ones_do(
    template: str, asked: list[tuple[str, str]], shop: Shop, pulling: Pulling
) -> None:
    for pair in asked:
        sql = template.format(*pair)
        assert outcome(pulling, sql) == outcome(new_pulling(shop), sql), sql


# --- what is forgotten ---


def test_a_view_made_again_under_its_name_is_planned_again(shop: Shop) -> None:
    pulling = new_pulling(shop)
    sql = "SELECT * FROM short WHERE k = 'a'"
    one = shop.make("short", {"k": "VARCHAR", "n": "BIGINT"}, ["k"], [("a", 1)])
    assert outcome(pulling, sql)[1] == [("a", 1)]
    shop.catalog.drop_relation(one.id)
    assert pulling.fast(sql, CONTEXT) is None
    assert outcome(pulling, sql) == "RELATION_NOT_FOUND"
    two = shop.make("short", {"k": "VARCHAR", "w": "VARCHAR"}, ["k"], [("a", "x")])
    assert outcome(pulling, sql)[1] == [("a", "x")]
    shop.catalog.drop_relation(two.id)


def test_sessions_in_other_schemas_do_not_share(shop: Shop) -> None:
    pulling = new_pulling(shop)
    sql = "SELECT visits FROM visits WHERE device = 'd1'"
    outcome(pulling, sql)
    assert pulling.prepared.find(sql, replace(CONTEXT, database="other")) is None


def test_the_cache_has_a_limit(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millpond.serve.pull.prepared.CACHED", 10)
    pulling = new_pulling(shop)
    for n in range(25):
        outcome(pulling, f"SELECT {n} AS n")
    assert sum(len(s.plans) for s in pulling.prepared.shapes.values()) <= 10 < CACHED
    outcome(pulling, "SELECT 1 AS n -- " + "x" * 20_000)
    assert all(len(key[0]) < 100 for key in pulling.prepared.shapes if isinstance(key[0], str))


# --- what is cheap ---


@pytest.mark.parametrize(
    ("sql", "cheap"),
    [
        ("SELECT visits FROM visits WHERE url = './home' AND device = 'd1'", True),
        ("SELECT visits FROM visits WHERE url IN ('./home', './cart')", True),
        (
            "SELECT visits FROM users u JOIN visits v ON url = './home' AND v.device = u.device WHERE userid = 'u1'",
            True,
        ),
        ("SELECT * FROM visits", False),
        ("SELECT * FROM visits WHERE url > 'a'", False),
        ("SELECT visits FROM visits WHERE device = 'd1'", False),
        ("SELECT url FROM visits WHERE url = './home' ORDER BY visits", False),
        ("SELECT * FROM users u LEFT JOIN visits v ON v.visits = u.age WHERE u.userid = 'u1'", False),
        ("SELECT 1 AS x", False),
        ("SELECT name FROM deltastream.sys.relations WHERE name = 'visits'", False),
    ],
)
def test_only_lookups_by_equal_keys_are_cheap(sql: str, cheap: bool, pulling: Pulling) -> None:
    expected = outcome(pulling, sql)
    fast = pulling.fast(sql, CONTEXT)
    assert (fast is not None) is cheap
    if fast is not None:
        assert (fast.columns, [tuple(row) for row in fast.rows]) == expected


def test_a_new_index_makes_a_query_cheap(shop: Shop) -> None:
    pulling = new_pulling(shop)
    users = shop.make("people", *CONTENTS["users"])
    sql = "SELECT userid FROM people WHERE age = 41"
    assert outcome(pulling, sql)[1] == [("u3",)]
    assert pulling.fast(sql, CONTEXT) is None
    shop.store.create_index(users.id, ViewIndex("by_age", ("age",)))
    shop.catalog.create_index(Index("by_age", users.id, ("age",), 0))
    assert outcome(pulling, sql)[1] == [("u3",)]
    assert pulling.fast(sql, CONTEXT) is not None
    assert "by_age" in "\n".join(pulling.explain(parse(sql)[0], CONTEXT))  # type: ignore[arg-type]


# --- what takes too long ---

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n WHERE ?1 <> ?2"


def test_a_query_that_takes_too_long_is_ended_and_the_next_one_answered(shop: Shop) -> None:
    views = ViewReader(shop.reader.path, 0.05)
    pulling = Pulling(shop.catalog, NoQueries(), views, NoFacts())
    sql = "SELECT visits FROM visits WHERE url = './home' AND device = 'd1'"
    first = outcome(pulling, sql)
    prepared = plan(pulling, sql)
    quick, prepared.sql = prepared.sql, ENDLESS
    assert outcome(pulling, sql) == "QUERY_TIMED_OUT"
    prepared.sql = quick
    assert outcome(pulling, sql) == first
    views.close()


def test_a_query_over_the_catalog_that_takes_too_long_is_ended(shop: Shop) -> None:
    views = ViewReader(shop.reader.path, 0.05)
    pulling = Pulling(shop.catalog, NoQueries(), views, NoFacts())
    many = ", ".join(f"deltastream.sys.relation_columns AS c{n}" for n in range(12)).replace(", ", " CROSS JOIN ")
    assert outcome(pulling, f"SELECT count(*) AS n FROM {many}") == "QUERY_TIMED_OUT"


def test_a_regular_expression_that_never_ends_is_ended(shop: Shop) -> None:
    views = ViewReader(shop.reader.path, 0.05)
    pulling = Pulling(shop.catalog, NoQueries(), views, NoFacts())
    assert outcome(pulling, f"SELECT REGEXP_REPLACE('{'a' * 50}!', '(a|a)+$', 'b') AS r") == "QUERY_TIMED_OUT"
    views.close()


def test_a_value_that_is_too_large_is_named_as_such(pulling: Pulling) -> None:
    assert outcome(pulling, "SELECT REPEAT('x', 2000000000) AS r") == "VALUE_TOO_LARGE"


def test_a_long_statement_is_planned_once_without_parameters(shop: Shop) -> None:
    pulling = new_pulling(shop)
    many = ", ".join(f"'./p{n}'" for n in range(2_000))
    (query,) = parse(f"SELECT url FROM visits WHERE url IN ({many}, './home')")
    assert isinstance(query, Query)
    prepared, bindings = pulling.prepared.prepare(query.text, query, CONTEXT)
    assert (prepared.parameters, bindings) == ((), ())
    assert pulling.answer(query.text, query, CONTEXT).rows


# --- values that have no result ---


def test_a_value_without_a_result_is_named_as_such(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    pulling = new_pulling(shop)
    sql = "SELECT visits FROM visits WHERE url = './home' AND device = 'd1'"
    outcome(pulling, sql)
    plan(pulling, sql).sql = "SELECT sum(x) FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT 1) WHERE ?1 <> ?2"
    assert outcome(pulling, sql) == "ROW_NOT_EVALUATED"
