"""Prepared pull queries, cached by the statement's shape.

What stands between a request and SQLite is parsing and planning; a program asks the same statement with other keys over
and over. `WHERE url = './home'` and `WHERE url = './cart'` have one shape; a literal that is compared with a column of
its own kind becomes a parameter, every other literal is part of the cache's key. Nothing is shared that may differ.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from millpond.catalog.model import Relation, SessionContext
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.expressions import Literal
from millpond.serve.pull.compiler import Compiled, Compiler
from millpond.sql.parser import parse
from millpond.sql.shape import shape_of
from millpond.sql.statements import Query
from millpond.types import Column
from millpond.views.expressions import literal_to_sqlite
from millpond.views.values import row_decoder

SENTINEL = "\x01mp{}\x01"
SENTINEL_NUMBER = 1_987_000_000
"""Stands for literal number N as SENTINEL_NUMBER + N while the shape is planned: an INTEGER nobody writes."""
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In)
CACHED = 2048
"""Statements kept; a client that makes a new shape each time must not fill the memory."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """One pull query, ready to run. `parameters` are the places of its bound values among the shape's literals."""

    sql: str
    parameters: tuple[int, ...]
    columns: tuple[Column, ...]
    views: tuple[Relation, ...]
    system: bool
    decode: Callable[[Sequence[Any]], Sequence[Any]]

    def bindings(self, literals: Sequence[Any]) -> tuple[Any, ...]:
        """The values to bind, from a statement's own literals."""
        return tuple(literals[n] for n in self.parameters)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is known of a shape: the places that are parameters, and a plan for each set of the other literals."""

    parameters: frozenset[int]
    plans: dict[tuple[Any, ...], Prepared]

    def key(self, literals: Sequence[Any]) -> tuple[Any, ...]:
        kept = [(type(v), v) for n, v in enumerate(literals) if n not in self.parameters]
        kinds = [isinstance(literals[n], str) for n in sorted(self.parameters)]
        return (*kept, *kinds)


class PreparedQueries:
    """The cache; emptied when the catalog changes. Thread-safe."""

    def __init__(self, reader: CatalogReader) -> None:
        self.reader = reader
        self.version = -1
        self.shapes: dict[tuple[object, ...], _Shape] = {}
        self.lock = threading.Lock()

    def find(self, sql: str, context: SessionContext) -> tuple[Prepared, tuple[Any, ...]] | None:
        """The plan of a statement whose shape was planned before, with its bindings."""
        if self.version != self.reader.version:
            return None
        text, literals = shape_of(sql)
        shape = self.shapes.get(_key(text, context))
        prepared = shape.plans.get(shape.key(literals)) if shape else None
        return (prepared, prepared.bindings(literals)) if prepared else None

    def prepare(self, sql: str, query: Query, context: SessionContext) -> tuple[Prepared, tuple[Any, ...]]:
        """Plan `query`, which is `sql` parsed. Raises what is wrong with it."""
        version = self.reader.version
        text, literals = shape_of(sql)
        prepared = self._with_parameters(text, literals, context) if literals else None
        if prepared is None:
            prepared = _prepared(self._compiler(context, _plain), query.tree, ())
        self._keep(version, _key(text, context), literals, prepared)
        return prepared, prepared.bindings(literals)

    def _compiler(self, context: SessionContext, literal: Callable[[Literal], str]) -> Compiler:
        return Compiler(self.reader, context, literal)

    def _keep(self, version: int, key: tuple[object, ...], literals: Sequence[Any], prepared: Prepared) -> None:
        with self.lock:
            if version != self.version:
                self.shapes, self.version = {}, version
            if sum(len(s.plans) for s in self.shapes.values()) >= CACHED:
                self.shapes = {}
            parameters = frozenset(prepared.parameters)
            shape = self.shapes.get(key)
            if shape is None or shape.parameters != parameters:
                shape = self.shapes[key] = _Shape(parameters, {})
            shape.plans[shape.key(literals)] = prepared

    def _with_parameters(self, text: str, literals: Sequence[Any], context: SessionContext) -> Prepared | None:
        """The plan with its comparable literals as parameters; None if there are none, or one cannot be told apart."""
        wanted = self._comparable(text, literals)
        if not wanted:
            return None
        marked = [_sentinel(n, v) if n in wanted else v for n, v in enumerate(literals)]
        used: list[int] = []

        def literal(constant: Literal) -> str:
            n = _sentinel_number(constant.value)
            if n is None or n not in wanted:
                return _plain(constant)
            used.append(n)
            return f"?{sorted(wanted).index(n) + 1}"

        try:
            (query,) = parse(_filled(text, marked))
            assert isinstance(query, Query)
            prepared = _prepared(self._compiler(context, literal), query.tree, tuple(sorted(wanted)))
        except (MillpondError, ValueError):
            return None
        return prepared if sorted(used) == sorted(wanted) and "mp" not in _marks(prepared.sql) else None

    def _comparable(self, text: str, literals: Sequence[Any]) -> set[int]:
        """Places of literals that stand right beside a column in a comparison."""
        marked = [_sentinel(n, v) for n, v in enumerate(literals)]
        try:
            (query,) = parse(_filled(text, marked))
        except (MillpondError, ValueError):
            return set()
        assert isinstance(query, Query)
        found = set()
        for node in query.tree.find_all(exp.Literal):
            n = _sentinel_number(node.name if node.is_string else int(node.name) if node.name.isdigit() else None)
            sides = node.parent
            if n is not None and isinstance(sides, COMPARISONS) and isinstance(sides.this, exp.Column):
                found.add(n)
        return found


def _prepared(compiler: Compiler, tree: exp.Query, parameters: tuple[int, ...]) -> Prepared:
    compiled: Compiled = compiler.compile(tree)
    views = tuple({v.id: v for v in compiler.views}.values())
    return Prepared(compiled.sql, parameters, compiled.columns, views, compiler.system, row_decoder(compiled.columns))


def _plain(constant: Literal) -> str:
    return literal_to_sqlite(constant)


def _key(text: str, context: SessionContext) -> tuple[object, ...]:
    return (text, context.database, context.schema, context.dialect)


def _sentinel(n: int, value: Any) -> Any:
    if isinstance(value, str):
        return SENTINEL.format(n)
    return SENTINEL_NUMBER + n if isinstance(value, int) else value


def _sentinel_number(value: Any) -> int | None:
    if isinstance(value, str) and value.startswith("\x01mp"):
        return int(value[3:-1])
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value - SENTINEL_NUMBER < 100_000:
        return value - SENTINEL_NUMBER
    return None


def _marks(sql: str) -> str:
    """What is left of sentinels in compiled SQL: nothing, if each became a parameter."""
    return sql[sql.index("\x01") :] if "\x01" in sql else ""


def _filled(shape: str, literals: Sequence[Any]) -> str:
    """`shape` with its placeholders filled again. Raises ValueError if they do not fit."""
    pieces = shape.split("?")
    if len(pieces) != len(literals) + 1:
        raise ValueError("placeholders")
    written = [f"'{v.replace(chr(39), chr(39) * 2)}'" if isinstance(v, str) else str(v) for v in literals]
    return "".join(a + b for a, b in zip(pieces, [*written, ""], strict=True))
