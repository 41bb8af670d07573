"""One SELECT of a query over views: its list, its clauses, and what may stand in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from millpond.errors import MillpondError
from millpond.plan.binder import Extension, bind, bind_condition
from millpond.plan.expressions import AggregateCall, ColumnRef, Expr, walk
from millpond.plan.outputs import output_name
from millpond.plan.scope import Scope
from millpond.serve.pull.joins import From
from millpond.serve.pull.ordering import Ordering, output_at, sort_key
from millpond.serve.pull.refused import refuse_aggregates, refuse_nested_aggregates, refused
from millpond.serve.pull.subqueries import subqueries
from millpond.sql.position import position_of
from millpond.types import Column
from millpond.views.schema import quote

if TYPE_CHECKING:
    from millpond.serve.pull.compiler import Compiler

REFUSED = ("windows", "qualify", "laterals", "pivots", "sort", "cluster", "distribute")


class Select:
    """Compiles one SELECT; `outer` are the scopes around it, the nearest first."""

    def __init__(self, compiler: Compiler, tree: exp.Select, outer: tuple[Scope, ...]) -> None:
        self.compiler, self.tree, self.outer = compiler, tree, outer
        for clause in REFUSED:
            if tree.args.get(clause):
                raise refused(clause.upper(), "Leave it out.", tree)
        from_ = From(compiler, outer)
        if tree.args.get("from_") is not None:
            from_.add(tree.args["from_"].this)
        for join in tree.args.get("joins") or ():
            from_.join(join)
        self.source, self.scope = from_.sql, from_.scope
        self.extend = subqueries(compiler, self.scope, outer)
        self.names = {ref.name: name for source in self.scope.sources for name, ref in source.pairs()}
        self.names |= {ref.name: name for name, ref in self.scope.shared}
        """Reference -> the name that people know."""

    def compile(self) -> tuple[str, tuple[Column, ...]]:
        """SQLite text, and the columns of its rows."""
        items, trees = self._items()
        where, having = (self.tree.args.get(k) for k in ("where", "having"))
        condition = self._where(where.this) if where else None
        groups = self._groups(items)
        kept = bind_condition(having.this, self.scope, self._having(items)) if having else None
        self.grouped = bool(groups) or having is not None or any(map(_aggregates, (e for _, e in items)))
        self.groups = set(groups)
        for (_, expr), tree in zip(items, trees, strict=True):
            self._check(expr, tree)
        if having is not None and kept is not None:
            self._check(kept, having.this)
        order = Ordering(self.compiler, self.tree, self.scope, items, self.extend, self._check)
        text = self._list(items)
        text += f" FROM {self.source}" if self.source else ""
        text += f" WHERE {self.compiler.render(condition)}" if condition is not None else ""
        text += f" GROUP BY {', '.join(sort_key(self.compiler, g) for g in groups)}" if groups else ""
        text += f" HAVING {self.compiler.render(kept)}" if kept is not None else ""
        return text + order.sql(), tuple(Column(name, expr.type) for name, expr in items)

    def _list(self, items: Sequence[tuple[str, Expr]]) -> str:
        distinct = "DISTINCT " if self.tree.args.get("distinct") else ""
        return f"SELECT {distinct}" + ", ".join(f"{self.compiler.render(e)} AS {quote(name)}" for name, e in items)

    def _items(self) -> tuple[list[tuple[str, Expr]], list[exp.Expr]]:
        """The result columns, and the part of the statement that each comes from."""
        items: list[tuple[str, Expr]] = []
        trees: list[exp.Expr] = []
        for tree in self.tree.expressions:
            if isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)):
                found = self._star(tree)
            else:
                expr = bind(tree.this if isinstance(tree, exp.Alias) else tree, self.scope, self.extend)
                found = [(self._name(tree, expr, len(items)), expr)]
            items += found
            trees += [tree] * len(found)
        return _distinct_names(items), trees

    def _star(self, tree: exp.Expr) -> list[tuple[str, Expr]]:
        qualifier = [p.name for p in tree.parts[:-1]] if isinstance(tree, exp.Column) else []
        found: list[tuple[str, Expr]] = list(self.scope.columns(qualifier))
        if not found and qualifier:
            name = ".".join(qualifier)
            raise MillpondError("RELATION_NOT_FOUND", position=position_of(tree), name=name, suggestion=self._sources())
        if not found:
            raise refused("'*' without FROM", "Name what is to be selected.", tree)
        return found

    def _sources(self) -> str:
        return f"FROM has {self.scope.where}."

    def _name(self, tree: exp.Expr, expr: Expr, position: int) -> str:
        """A plain column keeps its name; its reference is no name for people."""
        if isinstance(expr, ColumnRef) and not isinstance(tree, exp.Alias):
            inner = tree.parts[-1].name if isinstance(tree, exp.Column) else ""
            return self.names.get(expr.name) or inner.lower() or f"_col{position}"
        return output_name(tree, expr, position)

    # --- clauses ---

    def _where(self, tree: exp.Expr) -> Expr:
        condition = bind_condition(tree, self.scope, self.extend)
        return refuse_aggregates(condition, "WHERE", tree, "Filter groups with HAVING.")

    def _groups(self, items: Sequence[tuple[str, Expr]]) -> list[Expr]:
        group = self.tree.args.get("group")
        return [self._group(tree, items) for tree in group.expressions] if group else []

    def _group(self, tree: exp.Expr, items: Sequence[tuple[str, Expr]]) -> Expr:
        """An expression, a result column's place, or its name if no column of FROM has it."""
        if isinstance(tree, exp.Literal) and not tree.is_string:
            expr = output_at(tree, items, "GROUP BY")
        else:
            expr = self._aliased(tree, items) or bind(tree, self.scope, self.extend)
        return refuse_aggregates(expr, "GROUP BY", tree, "Group by plain expressions.")

    def _having(self, items: Sequence[tuple[str, Expr]]) -> Extension:
        """HAVING may name result columns."""
        return lambda tree: self._aliased(tree, items) or self.extend(tree)

    def _aliased(self, tree: exp.Expr, items: Sequence[tuple[str, Expr]]) -> Expr | None:
        if not isinstance(tree, exp.Column) or len(tree.parts) > 1 or self.scope.find(tree.name.lower()):
            return None
        return next((e for name, e in items if name == tree.name or name == tree.name.lower()), None)

    def _check(self, expr: Expr, tree: exp.Expr) -> None:
        """SQLite would pick any row's value for a column that is not grouped: refuse it, as SQL does."""
        refuse_nested_aggregates(expr, tree)
        if self.grouped:
            self._check_grouped(expr, tree)
        elif _aggregates(expr):
            raise MillpondError(
                "AGGREGATE_NOT_ALLOWED",
                position=position_of(tree),
                clause="ORDER BY of a SELECT without groups",
                instead="Select the aggregate, or add a GROUP BY.",
            )

    def _check_grouped(self, expr: Expr, tree: exp.Expr) -> None:
        if expr in self.groups or isinstance(expr, AggregateCall):
            return
        if isinstance(expr, ColumnRef) and expr.name in self.names:
            raise MillpondError("GROUP_BY_NEEDED", position=position_of(tree), expression=self.names[expr.name])
        for child in expr.children():
            self._check_grouped(child, tree)


def _aggregates(expr: Expr) -> bool:
    return any(isinstance(e, AggregateCall) for e in walk(expr))


def _distinct_names(items: Sequence[tuple[str, Expr]]) -> list[tuple[str, Expr]]:
    """A name that comes twice gets a number, so that the result (and a sub-query over it) is well-formed.

    SQLite tells names apart without their case.
    """
    taken: set[str] = set()
    named = []
    for name, expr in items:
        numbered, count = name, 1
        while numbered.lower() in taken:
            count += 1
            numbered = f"{name}_{count}"
        taken.add(numbered.lower())
        named.append((numbered, expr))
    return named
