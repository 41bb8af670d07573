"""Trees have the shape that sqlglot gives to the same text, where Millpond does not say otherwise."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser

from millpond.sql import parse
from millpond.sql.dialect import Millpond
from millpond.sql.nodes import FieldAccess, SourceProperties, WindowSource
from millpond.sql.statements import Property, Query


class PlainSpark(Spark):
    """Spark's grammar with no function known to it."""

    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}


def tree(text: str) -> exp.Query:
    (statement,) = parse(text)
    assert isinstance(statement, Query)
    return statement.tree


def without_flags(node: exp.Expr) -> exp.Expr:
    """`node` without what Spark's grammar adds for its own generator."""
    for part in node.walk():
        for flag in ("typed", "safe", "nulls_first"):
            part.set(flag, None)
    return node


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, b AS c, t.*, * FROM db.s.t AS u WHERE x = 1 AND y <> 'z' OR NOT q",
        "SELECT a + b * c - d / e % f, -a, (a + b) * c FROM t",
        "SELECT a IS NULL, a IS NOT NULL, a IN (1, 2), a NOT IN (SELECT b FROM u), a BETWEEN 1 AND 2 FROM t",
        "SELECT EXISTS(SELECT 1), (SELECT 2), a LIKE 'x', a LIKE 'x' ESCAPE '!' FROM t",
        "SELECT CASE WHEN a THEN 1 ELSE 2 END, CASE a WHEN 1 THEN 2 END FROM t",
        "SELECT TRY_CAST(a AS DECIMAL(10, 2)), EXTRACT(YEAR FROM a), TRIM(LEADING 'x' FROM a) FROM t",
        "SELECT COUNT(*), COUNT(DISTINCT a, b), F(a, 'x'), x[1], CURRENT_DATE, CURRENT_TIMESTAMP FROM t",
        "SELECT a FROM t JOIN u ON t.x = u.x LEFT JOIN v ON v.x = u.x CROSS JOIN w",
        "SELECT a FROM t GROUP BY a, b HAVING COUNT(*) > 1 ORDER BY a DESC, b LIMIT 10 OFFSET 5",
        "SELECT a FROM (SELECT b FROM t) AS x UNION ALL SELECT c FROM y ORDER BY a LIMIT 1",
        "SELECT DISTINCT a FROM t WHERE a > INTERVAL '5' MINUTE AND b IS DISTINCT FROM c",
    ],
)
def test_a_tree_is_the_usual_one(text: str) -> None:
    expected = sqlglot.parse_one(text, dialect=PlainSpark)
    assert without_flags(tree(text)) == without_flags(expected)


def test_negated_predicates_are_not_around_the_plain_one() -> None:
    for text in ("a NOT LIKE 'x'", "a NOT IN (1)", "a IS NOT NULL", "a NOT BETWEEN 1 AND 2"):
        assert isinstance(tree(f"SELECT {text} FROM t").expressions[0], exp.Not)


def test_a_window_is_a_source_in_whole_milliseconds() -> None:
    source = tree("SELECT 1 FROM HOP(a.b, SIZE 1 DAY, ADVANCE BY 90 SECONDS) AS h WITH ('k' = 'v')").args["from_"].this
    assert isinstance(source, WindowSource)
    assert (source.args["kind"], source.args["size"], source.args["step"]) == ("HOP", 86_400_000, 90_000)
    assert isinstance(source.this, exp.Table)
    assert source.alias == "h"
    properties = source.args["source_properties"]
    assert isinstance(properties, SourceProperties)
    assert properties.args["properties"] == (Property("k", "v"),)


def test_an_unnest_has_all_its_names_in_the_alias() -> None:
    (join,) = tree("SELECT v FROM t CROSS JOIN UNNEST(a) WITH ORDINALITY AS u(v, n)").args["joins"]
    unnest = join.this
    assert isinstance(unnest, exp.Unnest)
    assert [c.name for c in unnest.args["alias"].args["columns"]] == ["v", "n"]
    assert unnest.args["offset"] is True


def test_an_arrow_is_a_field_access() -> None:
    access = tree('SELECT a->b->"C" FROM t').expressions[0]
    assert isinstance(access, FieldAccess)
    assert isinstance(access.this, FieldAccess)
    assert access.args["field"].name == "C"


def test_every_function_call_is_anonymous() -> None:
    for call in (
        "COALESCE(a, 1)",
        "LISTAGG(a, ',')",
        "IF(a, 1, 2)",
        "LEFT(a, 1)",
        "SUM(a)",
        "DATE(a)",
        "NEXT(a)",
    ):
        assert isinstance(tree(f"SELECT {call} FROM t").expressions[0], exp.Anonymous)


def test_a_long_condition_is_shallow_enough_to_recurse_into() -> None:
    where = tree("SELECT 1 FROM t WHERE " + " OR ".join(f"a = {n}" for n in range(3000))).args["where"].this

    def depth(node: exp.Expr) -> int:
        return 1 + max(depth(node.this), depth(node.expression)) if isinstance(node, exp.Or) else 1

    assert depth(where) < 40


def test_sqlglot_reads_queries_with_the_dialect() -> None:
    assert sqlglot.parse_one("SELECT a->b FROM t", dialect=Millpond).sql(dialect=Millpond) == "SELECT a->b FROM t"


@pytest.mark.parametrize("text", ["SHOW STORES", "SELECT FROM", "GRANT ROLE r TO USER u"])
def test_sqlglot_never_gets_an_opaque_command(text: str) -> None:
    with pytest.raises(ParseError):
        sqlglot.parse(text, dialect=Millpond)
