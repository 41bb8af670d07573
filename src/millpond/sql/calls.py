"""Function calls. Each is exp.Anonymous, but for the few whose arguments have a syntax of their own."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millpond.sql import expressions
from millpond.sql.cursor import Cursor
from millpond.sql.datatypes import data_type
from millpond.sql.type_trees import type_tree
from millpond.sql.words import INTERVAL_UNITS, RESERVED

_NOW: dict[str, type[exp.Expr]] = {
    "CURRENT_DATE": exp.CurrentDate,
    "CURRENT_TIME": exp.CurrentTime,
    "CURRENT_TIMESTAMP": exp.CurrentTimestamp,
    "LOCALTIME": exp.Localtime,
    "LOCALTIMESTAMP": exp.Localtimestamp,
}
_NO_FUNCTION = RESERVED - {"LEFT", "RIGHT"}
_FIELDS = (*INTERVAL_UNITS, "DOW", "ISODOW", "DOY", "EPOCH", "CENTURY", "DECADE", "MILLENNIUM", "ISOYEAR")


def call(cursor: Cursor) -> exp.Expr | None:
    """The call that begins here; None if it is no call."""
    if cursor.at_any(tuple(_NOW)) and cursor.key(1) != ".":
        return _now(cursor)
    if cursor.key(1) != "(" or not cursor.at_type(TokenType.VAR, TokenType.IDENTIFIER) or cursor.key() in _NO_FUNCTION:
        return None
    if cursor.at_type(TokenType.IDENTIFIER):
        cursor.problem("A function's name is written without quotes.")
    token = cursor.advance(2)
    special = _SPECIAL.get(token.text.upper())
    tree = special(cursor) if special else exp.Anonymous(this=token.text, expressions=_arguments(cursor))
    if not cursor.accept(")"):
        cursor.fail(*_after_argument(tree))
    _refuse_suffix(cursor)
    return cursor.marked(tree, token)


def _after_argument(tree: exp.Expr) -> tuple[str, ...]:
    return (",", ")") if isinstance(tree, exp.Anonymous) else (")",)


def _now(cursor: Cursor) -> exp.Expr:
    token = cursor.advance()
    if cursor.at("(", ")"):
        cursor.advance(2)
    elif cursor.at("("):
        cursor.problem(f"{token.text.upper()} takes no argument.")
    return cursor.marked(_NOW[token.text.upper()](), token)


def _arguments(cursor: Cursor) -> list[exp.Expr]:
    if cursor.at(")"):
        return []
    if cursor.at("*") and cursor.key(1) == ")":
        cursor.advance()
        return [exp.Star()]
    if cursor.accept("DISTINCT"):
        return [exp.Distinct(expressions=expressions.expressions(cursor))]
    found = expressions.expressions(cursor)
    if cursor.at("ORDER", "BY"):
        cursor.unsupported("ORDER BY inside a function", "Values are taken in the order in which they come.", 2)
    return found


def _refuse_suffix(cursor: Cursor) -> None:
    """What may follow a call in other dialects."""
    if cursor.at("OVER", "(") or cursor.at("FILTER", "(") or cursor.at("WITHIN", "GROUP"):
        cursor.fail()
    if cursor.at("IGNORE", "NULLS") or cursor.at("RESPECT", "NULLS"):
        cursor.unsupported(f"{cursor.key()} NULLS", "Aggregates leave out NULLs anyway.", 2)


def _cast(cursor: Cursor) -> exp.Expr:
    return exp.Cast(**_cast_arguments(cursor))


def _try_cast(cursor: Cursor) -> exp.Expr:
    return exp.TryCast(**_cast_arguments(cursor))


def _cast_arguments(cursor: Cursor) -> dict[str, exp.Expr]:
    operand = expressions.expression(cursor)
    cursor.expect("AS")
    return {"this": operand, "to": type_tree(data_type(cursor))}


def _extract(cursor: Cursor) -> exp.Expr:
    unit = cursor.key()
    if unit not in _FIELDS or cursor.at_type(TokenType.STRING):
        cursor.fail(*_FIELDS)
    cursor.advance()
    cursor.expect("FROM")
    return exp.Extract(this=exp.Var(this=unit), expression=expressions.expression(cursor))


def _trim(cursor: Cursor) -> exp.Expr:
    """TRIM([[LEADING | TRAILING | BOTH] [characters] FROM] text)."""
    side = cursor.key() if cursor.at_any(("LEADING", "TRAILING", "BOTH")) and cursor.key(1) != ")" else None
    if side:
        cursor.advance()
    characters = None if side and cursor.at("FROM") else expressions.expression(cursor)
    if cursor.accept("FROM"):
        return exp.Trim(this=expressions.expression(cursor), expression=characters, position=side)
    if side or not cursor.at(")"):
        cursor.fail("FROM") if side else cursor.fail("FROM", ")")
    return exp.Trim(this=characters)


def _json(name: str) -> Callable[[Cursor], exp.Expr]:
    """JSON_VALUE and JSON_QUERY(text, path [RETURNING type]); the type becomes a third argument."""

    def read(cursor: Cursor) -> exp.Expr:
        arguments = expressions.expressions(cursor)
        if cursor.accept("RETURNING"):
            arguments.append(type_tree(data_type(cursor)))
        if cursor.at_any(("NULL", "ERROR", "DEFAULT", "EMPTY", "WITH", "WITHOUT")):
            cursor.unsupported(f"{cursor.key()} in {name}", "What is not there or does not fit is NULL.")
        return exp.Anonymous(this=name, expressions=arguments)

    return read


def _substring(cursor: Cursor) -> exp.Expr:
    """SUBSTRING(text FROM start [FOR length]) is SUBSTRING(text, start [, length])."""
    arguments = _arguments(cursor)
    if len(arguments) == 1 and cursor.accept("FROM"):
        arguments.append(expressions.expression(cursor))
        if cursor.accept("FOR"):
            arguments.append(expressions.expression(cursor))
    return exp.Anonymous(this="SUBSTRING", expressions=arguments)


def _position(cursor: Cursor) -> exp.Expr:
    """POSITION(part IN text) is POSITION(part, text)."""
    found = expressions.term(cursor)
    if not cursor.accept("IN"):
        cursor.expect(",")
    return exp.Anonymous(this="POSITION", expressions=[found, *expressions.expressions(cursor)])


_SPECIAL: dict[str, Callable[[Cursor], exp.Expr]] = {
    "CAST": _cast,
    "TRY_CAST": _try_cast,
    "EXTRACT": _extract,
    "TRIM": _trim,
    "JSON_VALUE": _json("JSON_VALUE"),
    "JSON_QUERY": _json("JSON_QUERY"),
    "SUBSTRING": _substring,
    "POSITION": _position,
}
"""Calls whose arguments are not just expressions with commas between them."""
