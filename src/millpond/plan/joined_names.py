"""What the columns of two joined relations are called, and what names mean above the join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from millpond.errors import MillpondError
from millpond.plan.calls import call
from millpond.plan.expressions import ColumnRef, Expr
from millpond.plan.nodes import HIDDEN, Join, JoinType, walk
from millpond.plan.scope import JoinedScope, Scope
from millpond.plan.scope import Source as Names
from millpond.plan.source import Source
from millpond.sql.position import position_of
from millpond.types import Column


def joined(left: Source, right: Source) -> tuple[tuple[Column, ...], JoinedScope]:
    """The columns of the result, and the scope in which they have their old names."""
    taken: set[str] = set()
    parts = [_renamed(side, taken) for side in (left, right)]
    columns = tuple(c for part, _ in parts for c in part)
    names = tuple(n for _, sources in parts for n in sources)
    scope = JoinedScope(names, where="the joined relations")
    if isinstance(left.scope, JoinedScope):
        scope = replace(scope, shared=left.scope.shared, hidden=left.scope.hidden)
    return columns, scope


def _renamed(side: Source, taken: set[str]) -> tuple[tuple[Column, ...], tuple[Names, ...]]:
    """Columns called `relation.column`, those of an earlier join as they are; `taken` grows."""
    if any(isinstance(node, Join) for node in walk(side.node)):
        taken |= {c.name for c in side.node.columns}
        return side.node.columns, side.scope.sources
    new: dict[str, str] = {}
    sources: list[Names] = []
    for source in side.scope.sources:
        names = [reference.name for _, reference in source.pairs()]
        prefix = _free(source.name[-1], [*names, *(c.name for c in HIDDEN)], taken)
        new |= {name: prefix + name for name in (*names, *((c.name for c in HIDDEN) if source.hidden else ()))}
        references = tuple(new[name] for name in names)
        sources.append(replace(source, references=references, hidden_prefix=prefix))
    columns = tuple(replace(c, name=new[c.name]) for c in side.node.columns)
    return columns, tuple(sources)


def _free(relation: str, names: Sequence[str], taken: set[str]) -> str:
    """What makes `names` differ from those that are taken, if it is put before them: `relation.`, or with primes."""
    while any(f"{relation}.{name}" in taken for name in names):
        relation += "'"
    taken.update(f"{relation}.{name}" for name in names)
    return f"{relation}."


def shared(names: Sequence[exp.Expr], scope: JoinedScope, join_type: JoinType) -> tuple[list[Expr], JoinedScope]:
    """USING (names): the equalities, and the scope in which each of the columns is there once.

    Its value is that of the side which always has a row. Raises UNSUPPORTED for FULL, COLUMN_NOT_FOUND.
    """
    if join_type is JoinType.FULL:
        raise MillpondError(
            "UNSUPPORTED",
            position=position_of(names[0]),
            feature="USING in a FULL JOIN",
            instead="Write ON a.x = b.x, and COALESCE(a.x, b.x) for the column of both.",
        )
    left = replace(scope, sources=scope.sources[:-1], where="the left side of the join")
    right = Scope.of_sources(scope.sources[-1], where=f"'{scope.sources[-1].name[-1]}'")
    conditions: list[Expr] = []
    merged: dict[str, ColumnRef] = dict(scope.shared)
    for node in names:
        name = scope.fold(node.name) if not node.args.get("quoted") else node.name
        a, b = (side.resolve(name, (), position_of(node)) for side in (left, right))
        conditions.append(call("=", [a, b]))
        merged[name] = b if join_type is JoinType.RIGHT else a
        scope = replace(scope, hidden=scope.hidden | {a.name, b.name})
    return conditions, replace(scope, shared=tuple(merged.items()))
