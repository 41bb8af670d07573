"""What a function is: its names, what it takes and returns, and how each engine writes it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TypeAlias

from millpond.plan.expressions import Call, Expr
from millpond.plan.functions.signature import Signature
from millpond.types import DataType

Form: TypeAlias = str | Callable[[Call, Sequence[str]], str]
"""How a call is written: a template ("lower({0})", "concat({args})") or a function of the call and its written args."""

FAMILIES = ("comparison", "arithmetic", "text", "regex", "temporal", "json", "nested", "conditional", "row")


@dataclass(frozen=True, slots=True)
class Function:
    """One scalar function or operator. Several may share a spelling and differ in what they take.

    `name` is unique and is `Call.function`; `spellings` are the SQL names (lower case; () for operators).
    `sqlite` is None where a pull query must refuse it.
    """

    name: str
    signature: Signature
    spark: Form
    sqlite: Form | None
    spellings: tuple[str, ...]
    family: str = ""
    deterministic: bool = True

    def describe(self) -> str:
        """`LPAD(VARCHAR, INTEGER, [VARCHAR])`, for messages and docs."""
        return f"{(self.spellings or (self.name,))[0].upper()}({self.signature.text})"


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate. `sqlite(arguments, their texts, DISTINCT or not)` writes it; None where a pull query refuses it."""

    name: str
    signature: Signature
    sqlite: Callable[[Sequence[Expr], Sequence[str], bool], str] | None
    spellings: tuple[str, ...]

    def describe(self) -> str:
        return f"{self.spellings[0].upper()}({self.signature.text})"


def function(
    name: str,
    takes: str,
    returns: DataType | Callable[[Sequence[Expr]], DataType],
    spark: Form,
    sqlite: Form | None,
    *,
    aliases: Sequence[str] = (),
    operator: bool = False,
    deterministic: bool = True,
) -> Function:
    """A table entry; `name` is also its first spelling unless `aliases` starts with "!" (then only the aliases)."""
    only = bool(aliases) and aliases[0] == "!"
    spellings = tuple(aliases[1:]) if only else (name, *aliases)
    return Function(
        name,
        Signature.parse(takes, returns),
        spark,
        sqlite,
        () if operator else spellings,
        deterministic=deterministic,
    )


@cache
def _by_name() -> dict[str, Function]:
    table: dict[str, Function] = {}
    for family in FAMILIES:
        module = import_module(f"millpond.plan.functions.{family}")
        for entry in module.FUNCTIONS:
            if entry.name in table:
                raise AssertionError(f"two functions are called {entry.name}")
            table[entry.name] = entry
    return table


@cache
def _by_spelling() -> dict[str, tuple[Function, ...]]:
    found: dict[str, tuple[Function, ...]] = {}
    for entry in _by_name().values():
        for spelling in entry.spellings:
            found[spelling] = (*found.get(spelling, ()), entry)
    return found


@cache
def _aggregates() -> dict[str, AggregateFunction]:
    from millpond.plan.functions.aggregates import AGGREGATES

    return {spelling: a for a in AGGREGATES for spelling in a.spellings}


def all_functions() -> Iterator[Function]:
    """Every scalar function and operator, family by family."""
    for family in FAMILIES:
        yield from import_module(f"millpond.plan.functions.{family}").FUNCTIONS


def all_aggregates() -> Iterator[AggregateFunction]:
    """Every aggregate function."""
    yield from dict.fromkeys(_aggregates().values())


def get_function(name: str) -> Function:
    """The function that `Call.function` names."""
    return _by_name()[name]


def find_functions(spelling: str) -> tuple[Function, ...]:
    """The functions that may be called as `spelling` (any case); empty if there is none."""
    return _by_spelling().get(spelling.lower(), ())


def find_aggregate(spelling: str) -> AggregateFunction | None:
    """The aggregate called `spelling` (any case), or None."""
    return _aggregates().get(spelling.lower())


def nearest(spelling: str) -> str | None:
    """The function name most like `spelling`, if one is alike at all."""
    names = [*_by_spelling(), *_aggregates()]
    found = difflib.get_close_matches(spelling.lower(), names, n=1, cutoff=0.6)
    return found[0].upper() if found else None


def written(form: Form, call: Call, args: Sequence[str]) -> str:
    """`call` in the engine of `form`, its arguments already rendered."""
    if isinstance(form, str):
        return form.format(*args, args=", ".join(args))
    return form(call, args)
