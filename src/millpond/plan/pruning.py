"""Which of a scan's columns the plan above it uses: only these are built by the decoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from millpond.plan.expressions import ColumnRef, Expr, walk
from millpond.plan.nodes import Aggregate, Filter, Node, Project, Scan, Sink, Unnest, Window
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
    """`node` on a pruned scan: a node that passes its input's columns on loses those that are not built."""
    if isinstance(node, Scan):
        kept = names | {node.timestamp_column} | set(node.relation.primary_key)
        columns = tuple(c for c in node.columns if c.name in kept)
        return replace(node, columns=columns, needed=frozenset(c.name for c in columns))
    (before,) = node.inputs
    below = _pruned(before, names)
    if not isinstance(node, Filter | Window | Unnest):
        return replace(node, input=below)  # type: ignore[call-arg]
    return replace(node, input=below, columns=(*below.columns, *node.columns[len(before.columns) :]))


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
