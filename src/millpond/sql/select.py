"""SELECT, set operations and WITH: text -> exp.Select, exp.Union, exp.Except, exp.Intersect."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millpond.sql import expressions, sources
from millpond.sql.cursor import Cursor
from millpond.sql.names import identifier_node
from millpond.sql.words import NOT_AN_ALIAS

QUERY_STARTS = ("SELECT", "(")
"""The keys that a query begins with; a parenthesis may begin an expression as well, see `at_query`."""


def at_query(cursor: Cursor, ahead: int = 0) -> bool:
    """Whether a query begins `ahead` tokens from here, perhaps in parentheses."""
    while cursor.key(ahead) == "(":
        ahead += 1
    return cursor.key(ahead) in ("SELECT", "WITH")


def query_tree(cursor: Cursor) -> exp.Query:
    """The query that must be next: WITH, operands of UNION and its like, then ORDER BY and LIMIT of the whole."""
    cursor.deeper()
    shared = _shared(cursor)
    tree = _set_operation(cursor)
    if not isinstance(tree, exp.Subquery):
        _order_and_limit(cursor, tree)
    cursor.depth -= 1
    if shared:
        tree.set("with_", exp.With(expressions=shared))
        return tree
    inner: exp.Query = tree.this if isinstance(tree, exp.Subquery) else tree
    return inner


def _shared(cursor: Cursor) -> list[exp.CTE]:
    """WITH name AS (query), ...: the queries that the one after them may name."""
    found: list[exp.CTE] = []
    if not cursor.at("WITH"):
        return found
    if cursor.at("WITH", "RECURSIVE"):
        cursor.unsupported("WITH RECURSIVE", "Write the steps out as sub-queries.", 2)
    while cursor.accept("," if found else "WITH"):
        name = identifier_node(cursor, "the name of a query")
        if cursor.at("("):
            cursor.unsupported("Names for the columns of this query", "Use AS in its SELECT list.")
        cursor.expect("AS", "(")
        tree = query_tree(cursor)
        if not cursor.accept(")"):
            cursor.fail(")")
        found.append(exp.CTE(this=tree, alias=exp.TableAlias(this=name)))
    return found


def _set_operation(cursor: Cursor) -> exp.Query:
    """UNION and EXCEPT from left to right; INTERSECT binds its operands first."""
    tree = _intersection(cursor)
    operands = 1
    while cursor.at("UNION") or cursor.at("EXCEPT"):
        operands = _one_more(cursor, operands)
        kind = exp.Union if cursor.accept("UNION") else exp.Except
        cursor.accept("EXCEPT")
        distinct = _distinct(cursor, may_be_all=kind is exp.Union)
        tree = kind(this=tree, expression=_intersection(cursor), distinct=distinct)
    return tree


def _intersection(cursor: Cursor) -> exp.Query:
    tree = _operand(cursor)
    operands = 1
    while cursor.at("INTERSECT"):
        operands = _one_more(cursor, operands)
        cursor.advance()
        distinct = _distinct(cursor, may_be_all=False)
        tree = exp.Intersect(this=tree, expression=_operand(cursor), distinct=distinct)
    return tree


MOST_OPERANDS = 200
"""Of UNION and its like in a row: each takes some frames of Python's stack."""


def _one_more(cursor: Cursor, operands: int) -> int:
    if operands == MOST_OPERANDS:
        cursor.problem(f"This is more than {MOST_OPERANDS} operands of UNION, EXCEPT or INTERSECT.")
    return operands + 1


def _distinct(cursor: Cursor, may_be_all: bool) -> bool:
    """Whether equal rows become one; ALL says no."""
    if cursor.at("ALL") and not may_be_all:
        cursor.unsupported("ALL here", "EXCEPT and INTERSECT take equal rows as one.")
    if cursor.accept("ALL"):
        return False
    cursor.accept("DISTINCT")
    return True


def _operand(cursor: Cursor) -> exp.Query:
    """A SELECT, or a query in parentheses, which are kept as an exp.Subquery unless they change nothing."""
    if cursor.at("SELECT"):
        return _select(cursor)
    if not cursor.accept("("):
        cursor.fail("SELECT")
    tree = query_tree(cursor)
    if not cursor.accept(")"):
        cursor.fail(")")
    simple = isinstance(tree, exp.Select) and not any(tree.args.get(k) for k in ("order", "limit", "offset", "with_"))
    return tree if simple else exp.Subquery(this=tree)


def _select(cursor: Cursor) -> exp.Select:
    cursor.advance()
    distinct = exp.Distinct() if cursor.accept("DISTINCT") else None
    if distinct is not None and cursor.at("ON"):
        cursor.unsupported("DISTINCT ON", "Use GROUP BY.")
    cursor.accept("ALL")
    tree = exp.Select(distinct=distinct, expressions=_items(cursor))
    if cursor.accept("FROM"):
        tree.set("from_", exp.From(this=sources.source(cursor)))
        tree.set("joins", sources.joins(cursor) or None)
    if cursor.accept("WHERE"):
        tree.set("where", exp.Where(this=expressions.expression(cursor)))
    if cursor.accept("GROUP"):
        cursor.expect("BY")
        tree.set("group", _group(cursor))
    if cursor.accept("HAVING"):
        tree.set("having", exp.Having(this=expressions.expression(cursor)))
    return tree


def _items(cursor: Cursor) -> list[exp.Expr]:
    found = [_item(cursor)]
    while cursor.accept(","):
        found.append(_item(cursor))
    return found


def _item(cursor: Cursor) -> exp.Expr:
    if cursor.at("*"):
        star = cursor.marked(exp.Star(), cursor.advance())
        _refuse_star_suffix(cursor)
        return star
    if cursor.at("FROM"):
        cursor.fail("an expression")
    tree = expressions.expression(cursor)
    if isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star):
        _refuse_star_suffix(cursor)
        return tree
    name = alias(cursor)
    return exp.Alias(this=tree, alias=name) if name else tree


def _refuse_star_suffix(cursor: Cursor) -> None:
    if cursor.at("EXCEPT", "(") or cursor.at("EXCLUDE") or cursor.at("REPLACE"):
        cursor.unsupported(f"* {cursor.key()}", "Write the columns out.")


def alias(cursor: Cursor) -> exp.Identifier | None:
    """`AS name`, or a name that can be nothing else."""
    if cursor.accept("AS"):
        return identifier_node(cursor, "a name after AS")
    word = cursor.at_type(TokenType.VAR) and cursor.key() not in NOT_AN_ALIAS
    return identifier_node(cursor, "a name") if word or cursor.at_type(TokenType.IDENTIFIER) else None


def _group(cursor: Cursor) -> exp.Group:
    if cursor.at_any(("ALL", "ROLLUP", "CUBE")) or cursor.at("GROUPING", "SETS"):
        cursor.unsupported(f"GROUP BY {cursor.key()}", "Write the expressions out, one query for each grouping.")
    return exp.Group(expressions=expressions.expressions(cursor))


def _order_and_limit(cursor: Cursor, tree: exp.Query) -> None:
    if cursor.accept("ORDER"):
        cursor.expect("BY")
        ordered = [_ordered(cursor)]
        while cursor.accept(","):
            ordered.append(_ordered(cursor))
        tree.set("order", exp.Order(expressions=ordered))
    limit(cursor, tree)
    if cursor.accept("OFFSET"):
        tree.set("offset", exp.Offset(expression=_whole(cursor)))
        limit(cursor, tree)


def limit(cursor: Cursor, tree: exp.Query) -> None:
    """LIMIT n, if it is next and not there yet."""
    if tree.args.get("limit") is None and cursor.accept("LIMIT"):
        tree.set("limit", exp.Limit(expression=_whole(cursor)))
        if cursor.at(","):
            cursor.unsupported("LIMIT with two numbers", "Write LIMIT n OFFSET m.")


def _whole(cursor: Cursor) -> exp.Expr:
    start = cursor.index
    number = cursor.count("a whole number")
    return cursor.marked(exp.Literal.number(number), cursor.token_at(start))


def _ordered(cursor: Cursor) -> exp.Ordered:
    """`nulls_first` is None where it is not written."""
    tree = expressions.expression(cursor)
    descending = cursor.accept("DESC")
    if not descending:
        cursor.accept("ASC")
    nulls_first = None
    if cursor.accept("NULLS"):
        nulls_first = cursor.accept("FIRST")
        if not nulls_first:
            cursor.expect("LAST")
    return exp.Ordered(this=tree, desc=descending or None, nulls_first=nulls_first)
