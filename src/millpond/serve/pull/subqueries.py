"""Sub-queries inside expressions: scalar, IN, EXISTS, and the outer columns that they may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millpond.plan.binder import Extension, bind
from millpond.plan.coercion import coerce
from millpond.plan.expressions import Expr
from millpond.plan.scope import Scope
from millpond.serve.pull.common import common
from millpond.serve.pull.refused import refused
from millpond.types import BOOLEAN, Column
from millpond.views.schema import quote

if TYPE_CHECKING:
    from millpond.serve.pull.compiler import Compiler


def subqueries(compiler: Compiler, scope: Scope, outer: tuple[Scope, ...]) -> Extension:
    """What the binder is told of sub-queries in an expression whose names mean what `scope` and then `outer` say."""
    return _Subqueries(compiler, scope, outer).extend


class _Subqueries:
    def __init__(self, compiler: Compiler, scope: Scope, outer: tuple[Scope, ...]) -> None:
        self.compiler, self.scope, self.outer = compiler, scope, outer

    def extend(self, tree: exp.Expr) -> Expr | None:
        if isinstance(tree, exp.In) and tree.args.get("query"):
            return self._in(tree)
        if isinstance(tree, exp.Exists):
            inner = self.compiler.compile(tree.this, (self.scope, *self.outer))
            return self.compiler.reference(f"EXISTS ({inner.sql})", BOOLEAN)
        if isinstance(tree, exp.Query):
            return self._scalar(tree)
        if isinstance(tree, exp.Column) and self.outer and not isinstance(tree.this, exp.Star):
            return self._outer_column(tree)
        return None

    def _outer_column(self, tree: exp.Column) -> Expr | None:
        """A column of the nearest query around this one that knows its name, unless this one does."""
        if _known(tree, self.scope):
            return None
        around = next((scope for scope in self.outer if _known(tree, scope)), None)
        return bind(tree, around) if around is not None else None

    def _scalar(self, tree: exp.Query) -> Expr:
        inner = self.compiler.compile(tree, (self.scope, *self.outer))
        if len(inner.columns) != 1:
            raise refused("A sub-query of several columns as a value", "Select one column.", tree)
        sql = inner.sql if _is_one_row(tree) else one_row(inner.sql, inner.columns[0].name)
        return self.compiler.reference(f"({sql})", inner.columns[0].type)

    def _in(self, tree: exp.In) -> Expr:
        inner = self.compiler.compile(tree.args["query"], (self.scope, *self.outer))
        if len(inner.columns) != 1:
            raise refused("IN with a sub-query of several columns", "Select one column.", tree)
        value = bind(tree.this, self.scope, self.extend)
        shared = common(value.type, inner.columns[0].type, "IN", tree)
        listed = self.compiler.conformed(inner, [Column("value", shared)])
        return self.compiler.reference(f"({self.compiler.render(coerce(value, shared))} IN ({listed}))", BOOLEAN)


SEVERAL_ROWS = "several rows of a sub-query"
"""In SQLite's complaint about a JSON path: SQL has no other way to raise an error that can be told from the rest."""


def one_row(sql: str, column: str) -> str:
    """A query for the only value of `sql`: NULL if it has no rows, an error with SEVERAL_ROWS if it has two."""
    raised = f"json_extract('{{}}', '{SEVERAL_ROWS} ' || count(*))"
    rows = f"SELECT {quote(column)} FROM ({sql}) LIMIT 2"
    return f"SELECT CASE WHEN count(*) > 1 THEN {raised} ELSE max({quote(column)}) END FROM ({rows})"


def _is_one_row(tree: exp.Query) -> bool:
    """Whether it is a SELECT of an aggregate without groups, which needs no count."""
    if not isinstance(tree, exp.Select) or tree.args.get("group"):
        return False
    return any(isinstance(listed.unalias(), exp.AggFunc) for listed in tree.expressions)


def _known(tree: exp.Column, scope: Scope) -> bool:
    """Whether `scope` has what the dotted name begins with: a column, or a source."""
    names = [p.name if p.args.get("quoted") else p.name.lower() for p in tree.parts]
    return bool(scope.find(names[0])) or any(scope.has_source(names[:k]) for k in range(1, len(names)))
