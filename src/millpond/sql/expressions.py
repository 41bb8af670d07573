"""Expressions: text -> sqlglot trees, by precedence climbing.

From loose to tight: OR, AND, NOT, the predicates (which do not chain), ``+ - ||``, ``* / %``, unary
minus, then ``->`` and ``[]``. Trees have sqlglot's usual shape; a negated predicate is always exp.Not
around the plain one.
"""

from __future__ import annotations

from functools import reduce

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millpond.sql import calls, select
from millpond.sql.cursor import Cursor
from millpond.sql.datatypes import data_type
from millpond.sql.names import identifier_node, node_of
from millpond.sql.nodes import FieldAccess
from millpond.sql.type_trees import type_tree
from millpond.sql.words import INTERVAL_UNITS, RESERVED

_SUMS: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "||": exp.DPipe}
_PRODUCTS: dict[str, type[exp.Binary]] = {"*": exp.Mul, "/": exp.Div, "%": exp.Mod}
_COMPARISONS: dict[str, type[exp.Binary]] = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
_LITERAL_TYPES = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ")
_LEFT_DEEP = 16
_AN_EXPRESSION = "an expression"


def expression(cursor: Cursor) -> exp.Expr:
    """The expression that must be next. Raises SYNTAX or UNSUPPORTED at the first token that does not fit."""
    cursor.deeper()
    tree = _disjunction(cursor)
    cursor.depth -= 1
    return tree


def expressions(cursor: Cursor) -> list[exp.Expr]:
    """One or more expressions with commas between them."""
    found = [expression(cursor)]
    while cursor.accept(","):
        found.append(expression(cursor))
    return found


def _disjunction(cursor: Cursor) -> exp.Expr:
    operands = [_conjunction(cursor)]
    while cursor.accept("OR"):
        operands.append(_conjunction(cursor))
    return _connected(exp.Or, operands)


def _conjunction(cursor: Cursor) -> exp.Expr:
    operands = [_negation(cursor)]
    while cursor.accept("AND"):
        operands.append(_negation(cursor))
    return _connected(exp.And, operands)


def _connected(klass: type[exp.Connector], operands: list[exp.Expr]) -> exp.Expr:
    """The operands from left to right; a long list as a balanced tree, which readers can recurse into."""
    if len(operands) <= _LEFT_DEEP:
        return reduce(lambda left, right: klass(this=left, expression=right), operands)
    middle = len(operands) // 2
    left, right = _connected(klass, operands[:middle]), _connected(klass, operands[middle:])
    return klass(this=left, expression=right)


def _negation(cursor: Cursor) -> exp.Expr:
    if not cursor.at("NOT"):
        return _predicate(cursor)
    cursor.deeper()
    cursor.advance()
    tree = exp.Not(this=_negation(cursor))
    cursor.depth -= 1
    return tree


def _predicate(cursor: Cursor) -> exp.Expr:
    tree = term(cursor)
    found = _compared(cursor, tree)
    if found is None:
        return tree
    if cursor.at_any(tuple(_COMPARISONS)) or cursor.at_any(("IS", "IN", "LIKE", "BETWEEN")):
        cursor.problem(f"Put parentheses around what comes before '{cursor.token_text()}'.")
    return found


def _compared(cursor: Cursor, left: exp.Expr) -> exp.Expr | None:
    """The predicate that begins after `left`; None if there is none."""
    if cursor.at_any(tuple(_COMPARISONS)):
        klass = _COMPARISONS[cursor.key()]
        cursor.advance()
        return klass(this=left, expression=term(cursor))
    if cursor.accept("IS"):
        return _is(cursor, left)
    negated = cursor.at("NOT") and cursor.key(1) in ("IN", "LIKE", "BETWEEN", "ILIKE", "RLIKE", "SIMILAR")
    if negated:
        cursor.advance()
    found: exp.Expr | None = None
    if cursor.accept("BETWEEN"):
        found = _between(cursor, left)
    elif cursor.accept("IN"):
        found = _in(cursor, left)
    elif cursor.accept("LIKE"):
        found = _like(cursor, left)
    elif negated:
        cursor.fail("IN", "LIKE", "BETWEEN")
    return exp.Not(this=found) if negated and found is not None else found


def _is(cursor: Cursor, left: exp.Expr) -> exp.Expr:
    negated = cursor.accept("NOT")
    if cursor.accept("DISTINCT", "FROM"):
        klass = exp.NullSafeEQ if negated else exp.NullSafeNEQ
        return klass(this=left, expression=term(cursor))
    if cursor.accept("NULL"):
        right: exp.Expr = exp.Null()
    elif cursor.at_any(("TRUE", "FALSE")):
        right = exp.Boolean(this=cursor.advance().text.upper() == "TRUE")
    else:
        cursor.fail("NULL", "TRUE", "FALSE", "DISTINCT FROM")
    tree = exp.Is(this=left, expression=right)
    return exp.Not(this=tree) if negated else tree


def _between(cursor: Cursor, left: exp.Expr) -> exp.Expr:
    low = term(cursor)
    cursor.expect("AND")
    return exp.Between(this=left, low=low, high=term(cursor))


def _in(cursor: Cursor, left: exp.Expr) -> exp.Expr:
    cursor.expect("(")
    if cursor.at_any(select.QUERY_STARTS) and select.at_query(cursor):
        found = exp.In(this=left, query=exp.Subquery(this=select.query_tree(cursor)))
    else:
        found = exp.In(this=left, expressions=expressions(cursor))
    _close(cursor)
    return found


def _like(cursor: Cursor, left: exp.Expr) -> exp.Expr:
    tree: exp.Expr = exp.Like(this=left, expression=term(cursor))
    if cursor.accept("ESCAPE"):
        token = None if cursor.ended else cursor.token
        escape = exp.Literal.string(cursor.string("the escape character in single quotes"))
        if token is not None:
            cursor.marked(escape, token)
        tree = exp.Escape(this=tree, expression=escape)
    return tree


def term(cursor: Cursor) -> exp.Expr:
    """An expression that binds tighter than the predicates."""
    tree = _product(cursor)
    while cursor.at_any(tuple(_SUMS)):
        klass = _SUMS[cursor.advance().text]
        right = _product(cursor)
        tree = klass(this=tree, expression=right)
        if klass is exp.DPipe:
            tree.set("safe", True)
    return tree


def _product(cursor: Cursor) -> exp.Expr:
    tree = _unary(cursor)
    while cursor.at_any(tuple(_PRODUCTS)):
        klass = _PRODUCTS[cursor.advance().text]
        tree = klass(this=tree, expression=_unary(cursor))
    return tree


def _unary(cursor: Cursor) -> exp.Expr:
    if not cursor.at_any(("-", "+")):
        return _postfix(cursor)
    cursor.deeper()
    minus = cursor.advance().text == "-"
    operand = _unary(cursor)
    cursor.depth -= 1
    return exp.Neg(this=operand) if minus else operand


def _postfix(cursor: Cursor) -> exp.Expr:
    tree, depth = _primary(cursor), cursor.depth
    while True:
        cursor.deeper()
        if cursor.accept("->"):
            tree = FieldAccess(this=tree, field=_field(cursor))
        elif cursor.accept("["):
            tree = exp.Bracket(this=tree, expressions=[expression(cursor)])
            if not cursor.accept("]"):
                cursor.fail("]")
        else:
            cursor.depth = depth
            return tree


def _field(cursor: Cursor) -> exp.Identifier:
    """A struct's member; any word may name it."""
    if not cursor.at_name():
        cursor.fail("a field's name")
    return node_of(cursor, cursor.advance())


def _primary(cursor: Cursor) -> exp.Expr:
    if cursor.ended:
        cursor.fail(_AN_EXPRESSION)
    if cursor.at_type(TokenType.STRING, TokenType.NUMBER, TokenType.HEX_STRING):
        return _literal(cursor)
    if cursor.at("("):
        return _parenthesised(cursor)
    if cursor.at_any(("NULL", "TRUE", "FALSE")):
        word = cursor.advance().text.upper()
        return exp.Null() if word == "NULL" else exp.Boolean(this=word == "TRUE")
    if cursor.at("CASE"):
        return _case(cursor)
    if cursor.at("EXISTS", "("):
        return _exists(cursor)
    special = _typed_literal(cursor) or _list(cursor) or calls.call(cursor)
    return special or _column(cursor)


def _literal(cursor: Cursor) -> exp.Expr:
    token = cursor.advance()
    if token.token_type == TokenType.HEX_STRING:
        if len(token.text) % 2:
            cursor.problem("A binary string has two digits for each byte.", back=1)
        return cursor.marked(exp.HexString(this=token.text.upper()), token)
    if token.token_type == TokenType.STRING:
        if cursor.at_type(TokenType.STRING):
            cursor.problem("Two strings in a row. Put || between them, or double the quote (') inside a string.")
        return cursor.marked(exp.Literal.string(token.text), token)
    if cursor.at_type(TokenType.VAR) and cursor.touches():
        cursor.problem(f"'{token.text}{cursor.token_text()}' is neither a number nor a name.", back=1)
    return cursor.marked(exp.Literal.number(token.text), token)


def _parenthesised(cursor: Cursor) -> exp.Expr:
    if select.at_query(cursor, ahead=1):
        cursor.advance()
        tree: exp.Expr = exp.Subquery(this=select.query_tree(cursor))
    else:
        cursor.advance()
        tree = exp.Paren(this=expression(cursor))
        if cursor.at(","):
            cursor.unsupported("A row of several values in parentheses", "Compare the values one by one.")
    _close(cursor)
    return tree


def _close(cursor: Cursor) -> None:
    if not cursor.accept(")"):
        cursor.fail(")")


def _case(cursor: Cursor) -> exp.Expr:
    cursor.advance()
    operand = None if cursor.at("WHEN") else expression(cursor)
    branches = []
    while cursor.accept("WHEN"):
        condition = expression(cursor)
        cursor.expect("THEN")
        branches.append(exp.If(this=condition, true=expression(cursor)))
    if not branches:
        cursor.fail("WHEN")
    otherwise = expression(cursor) if cursor.accept("ELSE") else None
    if not cursor.accept("END"):
        cursor.fail("WHEN", "ELSE", "END")
    return exp.Case(this=operand, ifs=branches, default=otherwise)


def _exists(cursor: Cursor) -> exp.Expr:
    cursor.advance(2)
    tree = exp.Exists(this=select.query_tree(cursor))
    _close(cursor)
    return tree


def _typed_literal(cursor: Cursor) -> exp.Expr | None:
    """DATE '...', TIMESTAMP '...' as a CAST, INTERVAL '...' unit; None for anything else."""
    if cursor.at("INTERVAL") and cursor.at_type(TokenType.STRING, TokenType.NUMBER, ahead=1):
        return _interval(cursor)
    if cursor.at_any(_LITERAL_TYPES) and cursor.at_type(TokenType.STRING, ahead=1):
        kind = data_type(cursor)
        return exp.Cast(this=_literal(cursor), to=type_tree(kind))
    return None


def _interval(cursor: Cursor) -> exp.Expr:
    cursor.advance()
    token = cursor.advance()
    amount = cursor.marked(exp.Literal.string(token.text), token)
    unit = cursor.key().removesuffix("S")
    if unit not in INTERVAL_UNITS:
        cursor.fail(*INTERVAL_UNITS)
    cursor.advance()
    if cursor.at("TO") or cursor.at("("):
        cursor.unsupported("An INTERVAL with a range of units", "Add intervals of one unit each.")
    return exp.Interval(this=amount, unit=exp.Var(this=unit))


def _list(cursor: Cursor) -> exp.Expr | None:
    """ARRAY[...]; MAP[k, v, ...] is the function MAP(k, v, ...)."""
    if not (cursor.at("ARRAY", "[") or cursor.at("MAP", "[")):
        return None
    token = cursor.advance(2)
    items = [] if cursor.at("]") else expressions(cursor)
    if not cursor.accept("]"):
        cursor.fail(",", "]")
    if token.text.upper() == "ARRAY":
        return cursor.marked(exp.Array(expressions=items), token)
    return cursor.marked(exp.Anonymous(this="MAP", expressions=items), token)


def _column(cursor: Cursor) -> exp.Expr:
    """A column with up to three qualifiers, or `relation.*`."""
    if not cursor.at_name() or (cursor.at_type(TokenType.VAR) and cursor.key() in RESERVED):
        cursor.fail(_AN_EXPRESSION)
    parts: list[exp.Expr] = [identifier_node(cursor, "a column")]
    while cursor.accept("."):
        if len(parts) == 4:
            cursor.problem("A column's name has at most 4 parts; write -> to get at a field of a STRUCT.")
        if cursor.accept("*"):
            parts.append(exp.Star())
            break
        parts.append(identifier_node(cursor, "a column after the dot"))
    if cursor.at("(") and len(parts) > 1:
        cursor.unsupported("A function with a qualified name", "Write the function's name alone.")
    keys = ("this", "table", "db", "catalog")
    return exp.Column(**dict(zip(keys, reversed(parts), strict=False)))
