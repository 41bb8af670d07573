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
from millpond.serve.pull.compiler import Compiler
from millpond.sql.parser import parse
from millpond.sql.position import literal_ordinal
from millpond.sql.shape import shape_of
from millpond.sql.statements import Query
from millpond.types import NULL, VARCHAR, Column
from millpond.views.expressions import literal_to_sqlite
from millpond.views.values import row_decoder

SENTINEL = "\x01mp{}\x01"
SENTINEL_NUMBER = 1_987_000_000
"""Stands for literal number N as SENTINEL_NUMBER + N while the shape is planned: an INTEGER, as the literal itself."""
SENTINELS = 100_000
INTEGERS = range(-(2**31), 2**31)
"""Numbers outside are a BIGINT or more: they may be compared in another type than the sentinel."""
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In)
CACHED = 2048
"""Statements kept; a client that makes a new shape each time must not fill the memory."""
LONGEST = 10_000
"""Characters of a statement that is kept: the cache holds texts."""


@dataclass(slots=True, eq=False)
class Prepared:
    """One pull query, ready to run. `parameters` are the places of its bound values among the shape's literals."""

    sql: str
    parameters: tuple[int, ...]
    columns: tuple[Column, ...]
    views: tuple[Relation, ...]
    system: bool
    decode: Callable[[Sequence[Any]], Sequence[Any]]
    cheap: bool | None = None
    """Whether it looks rows up by keys alone; None: nobody has looked yet."""

    def bindings(self, literals: Sequence[Any]) -> tuple[Any, ...]:
        """The values to bind, from a statement's own literals."""
        return tuple(literals[n] for n in self.parameters)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is known of a shape: the places that are parameters, and a plan for each set of the other literals."""

    parameters: frozenset[int]
    plans: dict[tuple[Any, ...], Prepared]

    def key(self, literals: Sequence[Any]) -> tuple[Any, ...]:
        """What a statement of this shape must have in common with another to share its plan."""
        return tuple(_kind(v) if n in self.parameters else (type(v), v) for n, v in enumerate(literals))


class PreparedQueries:
    """The cache; emptied when the catalog changes. Thread-safe."""

    def __init__(self, reader: CatalogReader) -> None:
        self.reader = reader
        self.version = -1
        self.shapes: dict[tuple[object, ...], _Shape] = {}
        self.lock = threading.Lock()

    def find(self, sql: str, context: SessionContext) -> tuple[Prepared, tuple[Any, ...]] | None:
        """The plan of a statement whose shape was planned before, with its bindings."""
        if self.version != self.reader.version or len(sql) > LONGEST:
            return None
        text, literals = shape_of(_bare(sql))
        shape = self.shapes.get(_key(text, context))
        prepared = shape.plans.get(shape.key(literals)) if shape else None
        return (prepared, prepared.bindings(literals)) if prepared else None

    def prepare(self, sql: str, query: Query, context: SessionContext) -> tuple[Prepared, tuple[Any, ...]]:
        """Plan `query`, which is `sql` parsed. Raises what is wrong with it."""
        if len(sql) > LONGEST:
            return _prepared(Compiler(self.reader, context, literal_to_sqlite), query.tree, ()), ()
        version = self.reader.version
        text, literals = shape_of(_bare(sql))
        wanted = _comparable(query.tree, literals)
        prepared = self._with_parameters(text, literals, wanted, context) if wanted else None
        if prepared is None:
            prepared = _prepared(Compiler(self.reader, context, literal_to_sqlite), query.tree, ())
        self._keep(version, _key(text, context), literals, prepared)
        return prepared, prepared.bindings(literals)

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

    def _with_parameters(
        self, text: str, literals: Sequence[Any], wanted: Sequence[int], context: SessionContext
    ) -> Prepared | None:
        """The plan with the `wanted` literals as parameters; None if one of them cannot be told apart."""
        if any(_sentinel_number(v) is not None for v in literals):
            return None
        marked = [_sentinel(n, v) if n in wanted else v for n, v in enumerate(literals)]
        used: set[int] = set()

        def literal(constant: Literal) -> str:
            n = _sentinel_number(constant.value)
            if n is None:
                return literal_to_sqlite(constant)
            used.add(n)
            return f"?{wanted.index(n) + 1}"

        try:
            (query,) = parse(_filled(text, marked))
            assert isinstance(query, Query)
            prepared = _prepared(Compiler(self.reader, context, literal), query.tree, tuple(wanted))
        except (MillpondError, ValueError):
            return None
        return prepared if used == set(wanted) and "\x01" not in prepared.sql else None


def _comparable(tree: exp.Query, literals: Sequence[Any]) -> list[int]:
    """Places of the literals that stand right beside a column in a comparison, and may be parameters."""
    found = set()
    for node in tree.find_all(exp.Literal):
        n, sides = literal_ordinal(node), node.parent
        if n is None or n >= len(literals) or _kind(literals[n]) is None:
            continue
        if isinstance(sides, COMPARISONS) and isinstance(sides.this, exp.Column):
            found.add(n)
    return sorted(found)


def _kind(value: Any) -> str | None:
    """What values must have in common to share a plan; None: they do not."""
    if isinstance(value, str):
        return "text"
    return "integer" if isinstance(value, int) and value in INTEGERS else None


def _prepared(compiler: Compiler, tree: exp.Query, parameters: tuple[int, ...]) -> Prepared:
    compiled = compiler.compile(tree)
    columns = tuple(Column(c.name, VARCHAR) if c.type == NULL else c for c in compiled.columns)
    views = tuple({v.id: v for v in compiler.views}.values())
    return Prepared(compiled.sql, parameters, columns, views, compiler.system, row_decoder(columns))


def _key(text: str, context: SessionContext) -> tuple[object, ...]:
    return (text, context.database, context.schema, context.dialect)


def _bare(sql: str) -> str:
    """The statement without what stands around it: a client sends it with its semicolon, the parser cuts that off."""
    return sql.strip().removesuffix(";").rstrip()


def _sentinel(n: int, value: Any) -> Any:
    return SENTINEL.format(n) if isinstance(value, str) else SENTINEL_NUMBER + n


def _sentinel_number(value: Any) -> int | None:
    """Which literal a sentinel stands for; None for any other value."""
    if isinstance(value, str) and value.startswith("\x01mp") and value.endswith("\x01") and value[3:-1].isdigit():
        return int(value[3:-1])
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value - SENTINEL_NUMBER < SENTINELS:
        return value - SENTINEL_NUMBER
    return None


def _filled(shape: str, literals: Sequence[Any]) -> str:
    """`shape` with its placeholders filled again. Raises ValueError if they do not fit."""
    pieces = shape.split("?")
    if len(pieces) != len(literals) + 1:
        raise ValueError("placeholders")
    written = [f"'{v.replace(chr(39), chr(39) * 2)}'" if isinstance(v, str) else str(v) for v in literals]
    return "".join(a + b for a, b in zip(pieces, [*written, ""], strict=True))
