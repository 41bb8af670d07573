"""SELECT that is followed: which relation, and what is done to each of its rows on the way to the client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from millpond.catalog.lookup import existing_store
from millpond.catalog.model import Relation, RelationKind, SessionContext
from millpond.catalog.reader import CatalogReader
from millpond.errors import MillpondError
from millpond.plan.binder import bind, bind_condition
from millpond.plan.expressions import ColumnRef, Expr, walk
from millpond.plan.nodes import HIDDEN
from millpond.plan.outputs import is_star, output_name, starred
from millpond.plan.query import CLAUSES
from millpond.plan.scope import Scope
from millpond.plan.sources import (
    refuse_when_followed,
    resolve_table,
    row_key_type,
    source_properties,
    source_timestamp,
    starting_position,
)
from millpond.plan.tree import contains_aggregate
from millpond.sql.position import position_of
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
    hidden: tuple[Column, ...] = ()
    """Those of `plan.nodes.HIDDEN` that are used, for rowtime(), rowkey() and rowmeta()."""
    timestamp_column: str | None = None


PER_ROW = ("group", "having", "order", "distinct", "with_", "offset", "windows", "qualify", "joins")
"""Clauses that need more than one row at a time."""


def plan_push(query: Query, reader: CatalogReader, context: SessionContext) -> PushPlan:
    """Raises UNSUPPORTED for what cannot be done row by row."""
    select = query.tree
    from_ = select.args.get("from_")
    if not isinstance(select, exp.Select) or from_ is None or not isinstance(from_.this, exp.Table):
        raise _refused("A followed SELECT that is not over one relation", select)
    for clause in PER_ROW:
        if select.args.get(clause) or from_.this.args.get(clause):
            raise _refused(f"{CLAUSES.get(clause, clause.upper())} in a followed SELECT", select)
    table = from_.this
    relation = resolve_table(table, reader, context)
    properties = source_properties(table)
    refuse_when_followed(table)
    name = (table.alias,) if table.alias else (relation.database, relation.schema, relation.name)
    scope = Scope.of_relation(
        name,
        relation.columns,
        hidden=relation.kind is not RelationKind.VIEW,
        key_type=row_key_type(relation),
        store_type=existing_store(reader, relation.store).type,
    )
    items = _items(select, scope)
    where = select.args.get("where")
    condition = bind_condition(where.this, scope) if where else None
    if any(contains_aggregate(e) for e in (*(e for _, e in items), *([condition] if condition else []))):
        raise _refused("An aggregate in a followed SELECT", select)
    return PushPlan(
        relation,
        tuple(Column(n, VARCHAR if e.type == NULL else e.type) for n, e in items),
        tuple(e for _, e in items),
        condition,
        starting_position(relation, properties, context, "latest"),
        _limit(select),
        _hidden([*(e for _, e in items), *([condition] if condition else [])]),
        source_timestamp(relation, table, properties),
    )


def _hidden(exprs: Sequence[Expr]) -> tuple[Column, ...]:
    used = {e.name for root in exprs for e in walk(root) if isinstance(e, ColumnRef)}
    return tuple(c for c in HIDDEN if c.name in used)


def _items(select: exp.Select, scope: Scope) -> list[tuple[str, Expr]]:
    items: list[tuple[str, Expr]] = []
    for tree in select.expressions:
        if is_star(tree):
            items += starred(tree, scope)
        else:
            expr = bind(tree.this if isinstance(tree, exp.Alias) else tree, scope)
            items.append((output_name(tree, expr, len(items)), expr))
    return items


def _limit(select: exp.Select) -> int | None:
    limit = select.args.get("limit")
    if limit is None:
        return None
    count = limit.expression
    if not isinstance(count, exp.Literal) or not count.name.isdecimal():
        raise MillpondError(
            "UNSUPPORTED",
            position=position_of(limit),
            feature="A LIMIT that is not a whole number, in a followed SELECT,",
            instead="Write LIMIT and a number.",
        )
    return int(count.name)


def _refused(what: str, tree: exp.Expr) -> MillpondError:
    return MillpondError(
        "UNSUPPORTED",
        position=position_of(tree),
        feature=what,
        instead="CREATE MATERIALIZED VIEW ... AS SELECT keeps the result; SELECT it, or follow it with EMIT CHANGES.",
    )
