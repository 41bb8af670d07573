"""SELECT that is followed: which relation, and what is done to each of its rows on the way to the client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from millpond.catalog.model import Relation, SessionContext
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.binder import bind, bind_condition
from millpond.plan.expressions import AggregateCall, Expr, walk
from millpond.plan.properties import SOURCE, read_properties
from millpond.plan.query import output_name
from millpond.plan.scope import Scope
from millpond.plan.sources import resolve_table
from millpond.sql.statements import Query
from millpond.types import NULL, VARCHAR, Column


@dataclass(frozen=True, slots=True)
class PushPlan:
    """Follow `relation`; of each row the `exprs` (parallel to `columns`), where `condition` holds."""

    relation: Relation
    columns: tuple[Column, ...]
    exprs: tuple[Expr, ...]
    condition: Expr | None
    starting_position: str
    limit: int | None = None


PER_ROW = ("group", "having", "order", "distinct", "with_", "offset", "windows", "joins")
"""Clauses that need more than one row at a time."""


def plan_push(query: Query, reader: CatalogReader, context: SessionContext) -> PushPlan:
    """Raises UNSUPPORTED for what cannot be done row by row."""
    select = query.tree
    from_ = select.args.get("from_")
    if not isinstance(select, exp.Select) or from_ is None or not isinstance(from_.this, exp.Table):
        raise _refused("A followed SELECT that is not over one relation")
    for clause in PER_ROW:
        if select.args.get(clause) or from_.this.args.get(clause):
            raise _refused(f"{clause.rstrip('_').upper()} in a followed SELECT")
    table = from_.this
    relation = resolve_table(table, reader, context)
    given = table.args.get("source_properties")
    properties = read_properties(given.args["properties"], SOURCE, "a source") if given else {}
    name = (table.alias,) if table.alias else (relation.database, relation.schema, relation.name)
    scope = Scope.of_relation(name, relation.columns, hidden=False)
    items = _items(select, scope)
    where = select.args.get("where")
    condition = bind_condition(where.this, scope) if where else None
    _refuse_aggregates([e for _, e in items] + ([condition] if condition else []))
    return PushPlan(
        relation,
        tuple(Column(n, VARCHAR if e.type == NULL else e.type) for n, e in items),
        tuple(e for _, e in items),
        condition,
        properties.get("starting.position") or context.settings.get("push.position", "latest"),
        _limit(select),
    )


def _items(select: exp.Select, scope: Scope) -> list[tuple[str, Expr]]:
    items: list[tuple[str, Expr]] = []
    for tree in select.expressions:
        if isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)):
            items += scope.columns()
        else:
            expr = bind(tree.this if isinstance(tree, exp.Alias) else tree, scope)
            items.append((output_name(tree, expr, len(items)), expr))
    return items


def _refuse_aggregates(exprs: Sequence[Expr]) -> None:
    if any(isinstance(part, AggregateCall) for e in exprs for part in walk(e)):
        raise _refused("An aggregate in a followed SELECT")


def _limit(select: exp.Select) -> int | None:
    limit = select.args.get("limit")
    return int(limit.expression.name) if limit is not None else None


def _refused(what: str) -> MillpondError:
    return MillpondError(
        "UNSUPPORTED",
        feature=what,
        instead="CREATE MATERIALIZED VIEW ... AS SELECT keeps the result; SELECT it, or follow it with EMIT CHANGES.",
    )
