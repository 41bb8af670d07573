"""Which of a scan's columns the plan above it uses: only these are built by the decoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from millpond.plan.expressions import ColumnRef, Expr, walk
from millpond.plan.nodes import Aggregate, Filter, Node, Project, Scan, Sink, Unnest
from millpond.plan.nodes import walk as walk_nodes


def prune_scan(plan: Sink) -> Sink:
    """`plan` with `needed` set on its scan.

    SELECT url, count(*) ... GROUP BY url over clicks(event_time, url, ip): needed = {url}.
    """
    names = {
        e.name
        for node in walk_nodes(plan)
        for root in _expressions(node)
        for e in walk(root)
        if isinstance(e, ColumnRef)
    }
    return replace(plan, input=_pruned(plan.input, names))


def _pruned(node: Node, names: set[str]) -> Node:
    if isinstance(node, Scan):
        kept = {c.name for c in node.columns if c.name in names or c.name == node.timestamp_column}
        return replace(node, needed=frozenset(kept | set(node.relation.primary_key)))
    (below,) = node.inputs
    return replace(node, input=_pruned(below, names))  # type: ignore[call-arg]


def _expressions(node: Node) -> Iterator[Expr]:
    match node:
        case Filter():
            yield node.condition
        case Project():
            yield from node.exprs
        case Unnest():
            yield node.array
        case Aggregate():
            yield from node.groups
            yield from node.aggregates
