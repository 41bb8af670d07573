"""FROM of a query over views: sources, joins, and the scope that they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from millpond.plan.binder import bind_condition
from millpond.plan.calls import call
from millpond.plan.expressions import ColumnRef
from millpond.plan.scope import JoinedScope, Scope, Source
from millpond.serve.pull.refused import refuse_aggregates, refused
from millpond.serve.pull.subqueries import subqueries
from millpond.serve.pull.tables import find_table
from millpond.sql.nodes import WindowSource
from millpond.sql.position import position_of

if TYPE_CHECKING:
    from millpond.serve.pull.compiler import Compiler

JOINS = {
    "": "JOIN",
    "INNER": "JOIN",
    "LEFT": "LEFT JOIN",
    "RIGHT": "RIGHT JOIN",
    "FULL": "FULL JOIN",
    "CROSS": "CROSS JOIN",
}


class From:
    """Compiles one FROM: `sql` and `scope` once `add` and `join` have been through it."""

    def __init__(self, compiler: Compiler, outer: tuple[Scope, ...]) -> None:
        self.compiler, self.outer = compiler, outer
        self.sql = ""
        self.sources: list[Source] = []
        self.shared: dict[str, ColumnRef] = {}
        self.hidden: frozenset[str] = frozenset()

    @property
    def scope(self) -> JoinedScope:
        """What names mean so far."""
        names = [f"'{s.name[-1]}'" for s in self.sources if s.name]
        where = " or ".join(names) or "a SELECT without FROM"
        return JoinedScope(tuple(self.sources), where, shared=tuple(self.shared.items()), hidden=self.hidden)

    def add(self, item: exp.Expr) -> None:
        """The first source, and the joins that hang on it."""
        self.sql += self._source(item)
        self._joins(item)

    def join(self, join: exp.Join) -> None:
        """One more source. Raises UNSUPPORTED, and what is wrong with its condition."""
        kind = (join.args.get("side") or join.args.get("kind") or "").upper()
        if kind not in JOINS or join.args.get("method"):
            raise refused(f"{kind} JOIN", "Use INNER, LEFT, RIGHT, FULL or CROSS JOIN.", join)
        if join.args.get("within"):
            raise refused("WITHIN between views", "It is for streams: compare times in ON.", join.args["within"])
        left = self.scope
        self.sql += f" {JOINS[kind]} {self._source(join.this)}"
        self._joins(join.this)
        if join.args.get("using"):
            self._using(join.args["using"], left, Scope.of_sources(self.sources[-1]), kind)
        elif join.args.get("on") is not None:
            self.sql += f" ON {self._on(join.args['on'])}"

    def _joins(self, item: exp.Expr) -> None:
        for join in item.args.get("joins") or ():
            self.join(join)

    def _on(self, tree: exp.Expr) -> str:
        scope = self.scope
        condition = bind_condition(tree, scope, subqueries(self.compiler, scope, self.outer))
        return self.compiler.render(refuse_aggregates(condition, "ON", tree, "Aggregate in a sub-query in FROM first."))

    def _using(self, names: Sequence[exp.Expr], left: Scope, right: Scope, kind: str) -> None:
        conditions = []
        for node in names:
            name = node.name if node.args.get("quoted") else node.name.lower()
            a, b = (side.resolve(name, (), position_of(node)) for side in (left, right))
            conditions.append(self.compiler.render(call("=", [a, b])))
            self.hidden |= {a.name, b.name}
            self.shared[name] = self._merged(a, b, kind)
        self.sql += f" ON {' AND '.join(conditions)}"

    def _merged(self, left: ColumnRef, right: ColumnRef, kind: str) -> ColumnRef:
        """The side that is never filled with NULLs; whichever there is, if both may be."""
        if kind == "FULL":
            both = call("coalesce", [left, right])
            return self.compiler.reference(self.compiler.render(both), both.type)
        return right if kind == "RIGHT" else left

    # --- sources ---

    def _source(self, item: exp.Expr) -> str:
        alias = self.compiler.alias()
        if isinstance(item, exp.Table):
            return f"{self._table(item, alias)} AS {alias}"
        if isinstance(item, exp.Subquery):
            inner = self.compiler.compile(item, self.outer)
            self.sources.append(self.compiler.source(alias, (item.alias,) if item.alias else (), inner.columns))
            return f"({inner.sql}) AS {alias}"
        if isinstance(item, WindowSource):
            raise refused(f"{item.args['kind']} over a view", "Window the stream in the view's own query.", item)
        raise refused(f"{item.key.upper()} in FROM", "Name a view or write a sub-query.", item)

    def _table(self, item: exp.Table, alias: str) -> str:
        if item.args.get("source_properties"):
            raise refused("WITH after a source", "It is for queries that read topics.", item)
        shared = self.compiler.shared.get(item.name.lower()) if len(item.parts) == 1 else None
        if shared is not None:
            self.sources.append(self.compiler.source(alias, (item.alias or item.name,), shared.columns))
            return f"({shared.sql})"
        table = find_table(item, self.compiler.reader, self.compiler.context)
        if table.view is not None:
            self.compiler.views.append(table.view)
        else:
            self.compiler.system = True
        name = (item.alias,) if item.alias else table.name
        self.sources.append(self.compiler.source(alias, name, table.columns))
        return table.sql
