"""Where the source makes errors, read from its syntax trees."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from tests.house.source import Module, modules

OWN_PARAMETERS = frozenset({"position", "sql"})
"""Parameters of every `MillpondError`, not of its text."""


@dataclass(frozen=True)
class Raise:
    """One call `MillpondError("NAME", ...)`. `params` is None where they cannot be read (`**params`)."""

    where: str
    names: tuple[str, ...]
    """More than one for `"A" if x else "B"`; empty where the name cannot be read."""
    params: frozenset[str] | None


def raises(among: Iterable[Module]) -> Iterator[Raise]:
    """Every place where an error is made by name."""
    for module in among:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and _called(node) == "MillpondError":
                yield _raise(module, node)


@cache
def literals() -> frozenset[str]:
    """Every text constant of the source: errors that are made through a table or a helper are named so."""
    return frozenset(
        node.value
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def parameters(template: str) -> set[str]:
    """The names between braces."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _raise(module: Module, call: ast.Call) -> Raise:
    keywords = [k.arg for k in call.keywords]
    known = None if None in keywords else frozenset(k for k in keywords if k) - OWN_PARAMETERS
    return Raise(f"{module.shown}:{call.lineno}", tuple(_names(call)), known)


def _names(call: ast.Call) -> Iterator[str]:
    given = call.args[0] if call.args else None
    choices = [given.body, given.orelse] if isinstance(given, ast.IfExp) else [given]
    for choice in choices:
        if isinstance(choice, ast.Constant) and isinstance(choice.value, str):
            yield choice.value
