"""Calls: the function that a name and its arguments mean, with the arguments coerced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millpond.errors import MillpondError
from millpond.plan.expressions import AggregateCall, Call, Cast, Expr
from millpond.plan.functions.table import (
    AggregateFunction,
    Function,
    find_aggregate,
    find_functions,
    get_function,
    nearest,
)
from millpond.types import DataType, Sized


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A call by name with bound arguments; `returning` is JSON_QUERY's and JSON_VALUE's RETURNING type."""

    name: str
    args: tuple[Expr, ...]
    distinct: bool = False
    returning: DataType | None = None


def call(name: str, args: Sequence[Expr]) -> Expr:
    """A call of the one function that the table calls `name` (operators, and what the grammar writes itself)."""
    return _choose(name, (get_function(name),), args)


def call_named(written: BoundCall) -> Expr:
    """The call that a user wrote; FUNCTION_NOT_FOUND or WRONG_ARGUMENTS where it means nothing."""
    aggregate = find_aggregate(written.name)
    if aggregate:
        return _aggregate(aggregate, written)
    found = find_functions(written.name)
    if not found:
        near = nearest(written.name)
        raise MillpondError(
            "FUNCTION_NOT_FOUND",
            name=written.name.upper(),
            suggestion=f"Did you mean '{near}'?" if near else "See the functions in the reference.",
        )
    if written.distinct:
        raise _wrong_arguments(written.name, "DISTINCT " + _types(written.args), found)
    bound = _choose(written.name, found, written.args)
    return bound if written.returning is None else _returning(bound, written.returning)


def _returning(bound: Expr, target: DataType) -> Expr:
    """JSON_QUERY(... RETURNING ARRAY<VARCHAR>) is a function of its own; other types are a cast of the text."""
    if isinstance(bound, Call) and bound.function == "json_query" and str(target) == "ARRAY<VARCHAR>":
        return call("json_query_array", bound.args)
    if isinstance(bound, Call) and bound.function == "json_value" and target.name not in ("ARRAY", "MAP", "STRUCT"):
        return bound if target.name == "VARCHAR" else Cast(target, bound)
    raise MillpondError(
        "UNSUPPORTED",
        feature=f"RETURNING {target}",
        instead="JSON_QUERY returns VARCHAR or ARRAY<VARCHAR>, JSON_VALUE any type but ARRAY, MAP and STRUCT.",
    )


def _choose(name: str, functions: Sequence[Function], args: Sequence[Expr]) -> Expr:
    """The first function that takes `args` as they are, else the first that takes them with implicit casts."""
    matches, wrong = _matches(functions, args)
    if not matches:
        raise wrong or _wrong_arguments(name, _types(args), functions)
    function, coerced = next((m for m in matches if m[1][: len(args)] == tuple(args)), matches[0])
    return Call(function.signature.result(coerced), function.name, coerced)


def _matches(
    functions: Sequence[Function], args: Sequence[Expr]
) -> tuple[list[tuple[Function, tuple[Expr, ...]]], MillpondError | None]:
    """The functions that take `args`, with the arguments coerced; and the first constant that one could not read."""
    matches: list[tuple[Function, tuple[Expr, ...]]] = []
    wrong: MillpondError | None = None
    for function in functions:
        try:
            coerced = function.signature.match(args)
        except MillpondError as error:
            wrong = wrong or error
            continue
        if coerced is not None:
            matches.append((function, coerced))
    return matches, wrong


def _aggregate(function: AggregateFunction, written: BoundCall) -> Expr:
    args = function.signature.match(written.args)
    if args is None:
        raise _wrong_arguments(written.name, _types(written.args), [function])
    return AggregateCall(function.signature.result(args), function.name, args, written.distinct)


def _types(args: Sequence[Expr]) -> str:
    return ", ".join(_plain(a.type) for a in args)


def _plain(type: DataType) -> str:
    return type.name if isinstance(type, Sized) else str(type)


def _wrong_arguments(name: str, given: str, functions: Sequence[Function | AggregateFunction]) -> MillpondError:
    if all(isinstance(f, Function) and not f.spellings for f in functions):
        return MillpondError(
            "TYPE_MISMATCH",
            what=f"The operands of '{name.upper()}'",
            given=f"({given})",
            instead="Cast one of them.",
        )
    takes = " or ".join(f.describe() for f in functions)
    return MillpondError("WRONG_ARGUMENTS", name=name.upper(), given=given, takes=takes)
