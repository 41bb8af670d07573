"""Which of the scans' columns the plan above them uses: only these are built by the decoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from millpond.plan.expressions import ColumnRef, Expr, walk
from millpond.plan.nodes import Aggregate, Filter, Join, Node, Project, Scan, Sink, Unnest, Window
from millpond.types import Column


def prune_scan(plan: Sink) -> Sink:
    """`plan` with `needed` and `number` set on its scans.

    SELECT url, count(*) ... GROUP BY url over clicks(event_time, url, ip): needed = {url}.
    """
    having = _names([plan.having] if plan.having is not None else [])
    every = having | {c.name for c in plan.input.columns}
    return replace(plan, input=_pruned(plan.input, every, count()))


def _pruned(node: Node, names: set[str], numbers: Iterator[int]) -> Node:
    """`node` on pruned scans: a node that passes its input's columns on loses those that are not built.

    `names` are the columns of `node` that are used above it. Scans are numbered from the left.
    """
    if isinstance(node, Scan):
        kept = names | {node.timestamp_column} | set(node.relation.primary_key)
        columns = tuple(c for c in node.columns if c.name in kept)
        return replace(node, columns=columns, needed=frozenset(c.name for c in columns), number=next(numbers))
    if isinstance(node, Join):
        return _pruned_join(node, names, numbers)
    (before,) = node.inputs
    used = _names(_expressions(node))
    if not isinstance(node, Filter | Window | Unnest):
        return replace(node, input=_pruned(before, used, numbers))  # type: ignore[call-arg]
    below = _pruned(before, used | names, numbers)
    return replace(node, input=below, columns=(*below.columns, *node.columns[len(before.columns) :]))


def _pruned_join(node: Join, names: set[str], numbers: Iterator[int]) -> Join:
    """Each side builds what is used of it above, and its keys."""
    split = len(node.left.columns)
    sides = ((node.left, node.columns[:split], node.left_keys), (node.right, node.columns[split:], node.right_keys))
    inputs: list[Node] = []
    kept: list[Column] = []
    for side, columns, keys in sides:
        used = {b.name for b, c in zip(side.columns, columns, strict=True) if c.name in names}
        below = _pruned(side, used | _names(list(keys)), numbers)
        built = {c.name for c in below.columns}
        kept += [c for b, c in zip(side.columns, columns, strict=True) if b.name in built]
        inputs.append(below)
    return replace(node, left=inputs[0], right=inputs[1], columns=tuple(kept))


def _names(roots: Iterator[Expr] | list[Expr]) -> set[str]:
    return {e.name for root in roots for e in walk(root) if isinstance(e, ColumnRef)}


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
