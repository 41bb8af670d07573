"""The product's own source as data: files, syntax trees, imports, functions, raised errors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "millpond"
TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Module:
    """A file of a package. `name` is dotted; a package's is that of its folder."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def shown(self) -> str:
        return str(self.path.relative_to(ROOT))


def modules() -> tuple[Module, ...]:
    """Every Python file of the package, in the order of paths."""
    return _modules(PACKAGE)


def modules_of_tests() -> tuple[Module, ...]:
    """Every Python file of the tests, in the order of paths."""
    return _modules(TESTS)


@cache
def _modules(package: Path) -> tuple[Module, ...]:
    return tuple(_module(path, package) for path in sorted(package.rglob("*.py")))


def _module(path: Path, package: Path) -> Module:
    parts = path.relative_to(package.parent).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, path, ast.parse(path.read_text("utf-8"), str(path)))


def imported(module: Module) -> Iterator[tuple[str, int]]:
    """(dotted name, line) of everything that the module imports, within functions too."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def functions(module: Module) -> Iterator[tuple[str, int]]:
    """(name, lines) of every function and method, decorators not counted."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            yield node.name, node.end_lineno - node.lineno + 1
