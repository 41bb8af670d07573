"""A persistent SELECT -> a logical plan, its key, and whether it makes a stream or a changelog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from millpond.catalog.model import SessionContext
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.binder import bind, bind_condition
from millpond.plan.expressions import AggregateCall, ColumnRef, Expr, map_children, walk
from millpond.plan.nodes import Aggregate, Filter, Kind, Node, Project, Scan, Window
from millpond.plan.nodes import walk as walk_nodes
from millpond.plan.outputs import alias_name, is_star, output_name, starred
from millpond.plan.scope import Scope
from millpond.plan.source import Source
from millpond.plan.sources import plan_source
from millpond.plan.tree import contains_aggregate
from millpond.sql.position import position_of
from millpond.sql.statements import Query
from millpond.types import BOOLEAN, NULL, VARCHAR, Column, DataType


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A planned SELECT. `key`: the columns of `node` that identify a row of a changelog, in order, empty for a stream.

    `hidden`: key columns that the SELECT list leaves out; they are in the record's key only.
    `having`: rows of the changelog that do not satisfy it are deletes.
    """

    node: Project
    kind: Kind
    key: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    having: Expr | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The visible columns of the result."""
        return tuple(c for c in self.node.columns if c.name not in self.hidden)

    @property
    def scans(self) -> tuple[Scan, ...]:
        return tuple(n for n in walk_nodes(self.node) if isinstance(n, Scan))


@dataclass(frozen=True, slots=True)
class _Item:
    """One bound entry of the SELECT list."""

    name: str
    expr: Expr
    tree: exp.Expression


CLAUSES = {
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "distinct": "SELECT DISTINCT",
    "with_": "WITH (common table expressions)",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
}
"""Clauses that only a query over views may have."""


def plan_query(query: Query, reader: CatalogReader, context: SessionContext, into: Sequence[str] = ()) -> QueryPlan:
    """Plan a query that runs for ever. Its columns are called as those of `into`, if there are as many of them."""
    select = query.tree
    if not isinstance(select, exp.Select):
        raise MillpondError(
            "UNSUPPORTED",
            position=position_of(select),
            feature="A UNION in a persistent query",
            instead="INSERT INTO one relation from two queries.",
        )
    _refuse_clauses(select)
    source = plan_source(select, reader, context)
    node = _filtered(source, select.args.get("where"))
    items = _select_list(select, source)
    groups = _group_by(select, source, items)
    items = _renamed(items, into) if len(items) == len(into) else _unique(items)
    if groups or select.args.get("having") or any(_aggregates(i.expr) for i in items):
        return _plan_aggregate(select, source, node, items, groups)
    return _plan_rows(source, node, items, select)


def _refuse_clauses(select: exp.Select) -> None:
    for key, clause in CLAUSES.items():
        found = select.args.get(key)
        if found:
            raise MillpondError(
                "UNSUPPORTED",
                position=(position_of(found) if isinstance(found, exp.Expr) else None) or position_of(select),
                feature=f"{clause} in a persistent query",
                instead="Keep the result in a MATERIALIZED VIEW and use it when you ask the view.",
            )


def _filtered(source: Source, where: exp.Where | None) -> Node:
    if where is None:
        return source.node
    condition = _bind_condition(where.this, source.scope, "WHERE")
    if source.node.kind is Kind.UPSERT:
        return source.node
    return Filter(source.node.columns, source.node, condition)


def _bind_condition(tree: exp.Expression, scope: Scope, clause: str) -> Expr:
    condition = bind_condition(tree, scope)
    if clause == "WHERE" and _aggregates(condition):
        raise MillpondError(
            "AGGREGATE_NOT_ALLOWED",
            position=position_of(tree),
            clause=clause,
            instead="Filter groups with HAVING.",
        )
    return condition


def _select_list(select: exp.Select, source: Source) -> list[_Item]:
    items: list[_Item] = []
    for tree in select.expressions:
        if is_star(tree):
            items += [_Item(name, reference, tree) for name, reference in starred(tree, source.scope)]
        else:
            if isinstance(tree, exp.Alias):
                alias_name(tree.args["alias"])
            expr = bind(tree.this if isinstance(tree, exp.Alias) else tree, source.scope)
            items.append(_Item(output_name(tree, expr, len(items), source.scope), expr, tree))
    for item in items:
        _refuse_nested(item)
    return items


def _refuse_nested(item: _Item) -> None:
    for call in _aggregates(item.expr):
        if any(contains_aggregate(argument) for argument in call.args):
            raise MillpondError(
                "AGGREGATE_NOT_ALLOWED",
                position=position_of(item.tree),
                clause="an aggregate",
                instead="Aggregate in one query, then aggregate its result when you ask the view.",
            )


def _renamed(items: Sequence[_Item], names: Sequence[str]) -> list[_Item]:
    return [replace(item, name=name) for item, name in zip(items, names, strict=True)]


def _unique(items: list[_Item]) -> list[_Item]:
    seen: set[str] = set()
    for item in items:
        if item.name in seen:
            tree = item.tree.args["alias"] if isinstance(item.tree, exp.Alias) else item.tree
            raise MillpondError("DUPLICATE_COLUMN", position=position_of(tree), name=item.name)
        seen.add(item.name)
    return items


def _group_by(select: exp.Select, source: Source, items: Sequence[_Item]) -> tuple[Expr, ...]:
    group = select.args.get("group")
    if group is None:
        return ()
    for key in ("rollup", "cube", "grouping_sets", "totals", "all"):
        if group.args.get(key):
            feature = f"GROUP BY {key.replace('_', ' ').upper()}"
            position = position_of(group)
            raise MillpondError("UNSUPPORTED", position=position, feature=feature, instead="Write one query for each.")
    return tuple(dict.fromkeys(_group_expr(tree, source, items) for tree in group.expressions))


def _group_expr(tree: exp.Expression, source: Source, items: Sequence[_Item]) -> Expr:
    """A GROUP BY entry: an expression, the number of a SELECT entry, or its alias (a column of that name wins)."""
    if isinstance(tree, exp.Literal) and not tree.is_string:
        expr = _numbered(tree, items)
    else:
        expr = _bind_or_alias(tree, source, items)
    if _aggregates(expr):
        raise MillpondError(
            "AGGREGATE_NOT_ALLOWED",
            position=position_of(tree),
            clause="GROUP BY",
            instead="Group by plain expressions.",
        )
    return expr


def _numbered(tree: exp.Literal, items: Sequence[_Item]) -> Expr:
    number = int(tree.name) if tree.name.isdecimal() else 0
    if not 1 <= number <= len(items):
        known = f"Its entries have the numbers 1 to {len(items)}."
        raise MillpondError(
            "COLUMN_NOT_FOUND",
            position=position_of(tree),
            name=tree.name,
            where="the SELECT list",
            suggestion=known,
        )
    return items[number - 1].expr


def _bind_or_alias(tree: exp.Expression, source: Source, items: Sequence[_Item]) -> Expr:
    try:
        return bind(tree, source.scope)
    except MillpondError as error:
        aliased = [i.expr for i in items if isinstance(tree, exp.Column) and i.name == tree.name.lower()]
        if error.name != "COLUMN_NOT_FOUND" or not aliased:
            raise
        return aliased[0]


def _aggregates(expr: Expr) -> list[AggregateCall]:
    return [e for e in walk(expr) if isinstance(e, AggregateCall)]


def _plan_rows(source: Source, node: Node, items: Sequence[_Item], select: exp.Select) -> QueryPlan:
    """A plan without aggregation: a stream stays one, a changelog keeps its key."""
    columns = tuple(Column(i.name, _column_type(i)) for i in items)
    _check_window(source, (), select)
    if node.kind is Kind.APPEND:
        return QueryPlan(Project(columns, node, tuple(i.expr for i in items)), Kind.APPEND, ())
    scan = next(n for n in walk_nodes(node) if isinstance(n, Scan))
    if not isinstance(node, Scan):
        raise MillpondError(
            "UNSUPPORTED",
            position=position_of(select),
            feature="UNNEST of a changelog",
            instead="Declare a STREAM over its topic and unnest that.",
        )
    names = {i.expr.name: i.name for i in items if isinstance(i.expr, ColumnRef)}
    missing = [c for c in scan.relation.primary_key if c not in names]
    hidden = tuple(f"__key_{c}" for c in missing)
    refs = {c.name: ColumnRef(c.type, c.name) for c in scan.columns}
    exprs = (*(i.expr for i in items), *(refs[c] for c in missing))
    columns += tuple(Column(h, refs[c].type) for h, c in zip(hidden, missing, strict=True))
    by_column = {**names, **dict(zip(missing, hidden, strict=True))}
    where = select.args.get("where")
    condition = _bind_condition(where.this, source.scope, "WHERE") if where else None
    kept, having = _carry(condition, exprs, columns)
    project = Project((*columns, *(Column(n, e.type) for n, e in kept)), node, (*exprs, *(e for _, e in kept)))
    key = tuple(by_column[c] for c in scan.relation.primary_key)
    return QueryPlan(project, Kind.UPSERT, key, (*hidden, *(n for n, _ in kept)), having)


def _carry(
    condition: Expr | None, exprs: Sequence[Expr], columns: Sequence[Column]
) -> tuple[list[tuple[str, Expr]], Expr | None]:
    """A changelog's WHERE becomes one more, unseen column that says whether the row is there or deleted."""
    if condition is None:
        return [], None
    return [("__kept", condition)], ColumnRef(BOOLEAN, "__kept")


def _column_type(item: _Item) -> DataType:
    return VARCHAR if item.expr.type == NULL else item.expr.type


def _plan_aggregate(
    select: exp.Select, source: Source, node: Node, items: Sequence[_Item], groups: tuple[Expr, ...]
) -> QueryPlan:
    if node.kind is Kind.UPSERT:
        raise MillpondError(
            "UNSUPPORTED",
            position=position_of(select.args.get("group") or select),
            feature="GROUP BY over a changelog",
            instead="Keep the changelog in a MATERIALIZED VIEW and aggregate when you ask the view.",
        )
    _check_window(source, groups, select)
    having_tree = select.args.get("having")
    having = _bind_condition(having_tree.this, source.scope, "HAVING") if having_tree else None
    calls = tuple(dict.fromkeys(a for e in (*(i.expr for i in items), having) if e is not None for a in _aggregates(e)))
    inner = tuple(Column(f"__g{n}", g.type) for n, g in enumerate(groups))
    inner += tuple(Column(f"__a{n}", a.type) for n, a in enumerate(calls))
    aggregate = Aggregate(inner, node, groups, calls)
    places: dict[Expr, Expr] = {e: ColumnRef(c.type, c.name) for e, c in zip((*groups, *calls), inner, strict=True)}
    bound = [(i.name, _lift(i.expr, places, i.tree)) for i in items]
    return _finish_aggregate(aggregate, bound, len(groups), _lift(having, places, having_tree) if having else None)


def _finish_aggregate(
    aggregate: Aggregate, items: list[tuple[str, Expr]], groups: int, having: Expr | None
) -> QueryPlan:
    """Project the result; group columns that the SELECT list leaves out go along unseen, for the record's key."""
    names = {e: name for name, e in reversed(items)}
    key: list[str] = []
    hidden: list[tuple[str, Expr]] = []
    for column in aggregate.columns[:groups]:
        ref = ColumnRef(column.type, column.name)
        if ref not in names:
            hidden.append((column.name, ref))
        key.append(names.get(ref, column.name))
    if having is not None:
        hidden.append(("__kept", having))
    every = [*items, *hidden]
    columns = tuple(Column(n, VARCHAR if e.type == NULL else e.type) for n, e in every)
    project = Project(columns, aggregate, tuple(e for _, e in every))
    kept = ColumnRef(BOOLEAN, "__kept") if having is not None else None
    return QueryPlan(project, Kind.UPSERT, tuple(key), tuple(n for n, _ in hidden), kept)


def _lift(expr: Expr, places: dict[Expr, Expr], tree: exp.Expression | None) -> Expr:
    """`expr` over the aggregate's output: groups and aggregates become columns; any other column is an error."""

    def lift(e: Expr) -> Expr:
        return places[e] if e in places else map_children(e, lift)

    lifted = lift(expr)
    for part in walk(lifted):
        if isinstance(part, ColumnRef) and not part.name.startswith(("__g", "__a")):
            raise MillpondError("GROUP_BY_NEEDED", position=position_of(tree) if tree else None, expression=part.name)
    return lifted


def _check_window(source: Source, groups: tuple[Expr, ...], select: exp.Select) -> None:
    window = next((n for n in walk_nodes(source.node) if isinstance(n, Window)), None)
    grouped = {g.name for g in groups if isinstance(g, ColumnRef)}
    if window is not None and not {"window_start", "window_end"} <= grouped:
        position = position_of(select.args.get("group") or select)
        raise MillpondError("WINDOW_NOT_GROUPED", position=position, function=window.function)
