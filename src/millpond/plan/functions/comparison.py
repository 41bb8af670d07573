"""Comparisons and logic: operators whose result is BOOLEAN."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.errors import MillpondError
from millpond.plan.expressions import Call, Literal
from millpond.plan.functions.forms import constant, ordered, quoted, quoted_spark
from millpond.plan.functions.table import Function, function
from millpond.types import BOOLEAN


def _compare(name: str, spark: str, sqlite: str) -> Function:
    """An operator of two alike scalars."""

    def form(call: Call, args: Sequence[str]) -> str:
        return f"({ordered(call.args[0], args[0])} {sqlite} {args[1]})"

    return function(name, "S, S", BOOLEAN, spark, form, operator=True)


def _between(call: Call, args: Sequence[str]) -> str:
    return f"({ordered(call.args[0], args[0])} BETWEEN {args[1]} AND {args[2]})"


def _in(call: Call, args: Sequence[str]) -> str:
    return f"({args[0]} IN ({', '.join(args[1:])}))"


def _escape(call: Call) -> str:
    """The escape character of LIKE, '' without one."""
    if len(call.args) < 3:
        return ""
    escape = str(constant(call, 2))
    if len(escape) != 1:
        raise MillpondError("INVALID_CONSTANT", kind="ESCAPE", text=escape, reason="it must be one character")
    pattern = call.args[1]
    if not isinstance(pattern, Literal):
        raise MillpondError(
            "UNSUPPORTED",
            feature="ESCAPE with a computed pattern",
            instead="Write the pattern as a constant.",
        )
    _check_escapes(str(pattern.value), escape)
    return escape


def _check_escapes(pattern: str, escape: str) -> None:
    at = pattern.find(escape)
    while at >= 0:
        if pattern[at + 1 : at + 2] not in ("%", "_", escape):
            reason = f"after '{escape}' must follow %, _ or '{escape}'"
            raise MillpondError("INVALID_CONSTANT", kind="LIKE pattern", text=pattern, reason=reason)
        at = pattern.find(escape, at + 2)


def _like_spark(call: Call, args: Sequence[str]) -> str:
    """Without ESCAPE nothing escapes, but Spark's default is the backslash: it is doubled."""
    escape, pattern = _escape(call), call.args[1]
    if escape:
        return f"({args[0]} LIKE {args[1]} ESCAPE {quoted_spark(escape)})"
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        return f"({args[0]} LIKE {quoted_spark(pattern.value.replace(chr(92), chr(92) * 2))})"
    return f"({args[0]} LIKE replace({args[1]}, '\\\\', '\\\\\\\\'))"


def _like_sqlite(call: Call, args: Sequence[str]) -> str:
    escape = _escape(call)
    return f"({args[0]} LIKE {args[1]}" + (f" ESCAPE {quoted(escape)})" if escape else ")")


FUNCTIONS: tuple[Function, ...] = (
    _compare("=", "({0} = {1})", "="),
    _compare("<>", "({0} <> {1})", "<>"),
    _compare("<", "({0} < {1})", "<"),
    _compare("<=", "({0} <= {1})", "<="),
    _compare(">", "({0} > {1})", ">"),
    _compare(">=", "({0} >= {1})", ">="),
    _compare("is not distinct from", "({0} <=> {1})", "IS"),
    _compare("is distinct from", "(NOT ({0} <=> {1}))", "IS NOT"),
    function("between", "S, S, S", BOOLEAN, "({0} BETWEEN {1} AND {2})", _between, operator=True),
    function("in", "S, S...", BOOLEAN, _in, _in, operator=True),
    function("is null", "ANY", BOOLEAN, "({0} IS NULL)", "({0} IS NULL)", operator=True),
    function("is not null", "ANY", BOOLEAN, "({0} IS NOT NULL)", "({0} IS NOT NULL)", operator=True),
    function("and", "BOOLEAN, BOOLEAN", BOOLEAN, "({0} AND {1})", "({0} AND {1})", operator=True),
    function("or", "BOOLEAN, BOOLEAN", BOOLEAN, "({0} OR {1})", "({0} OR {1})", operator=True),
    function("not", "BOOLEAN", BOOLEAN, "(NOT {0})", "(NOT {0})", operator=True),
    function("like", "VARCHAR, VARCHAR, [LITERAL]", BOOLEAN, _like_spark, _like_sqlite, operator=True),
)
