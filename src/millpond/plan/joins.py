"""JOIN in a persistent query: two planned sources and a condition -> a temporal or an interval join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from sqlglot import exp

from millpond.errors import MillpondError
from millpond.plan.binder import bind_condition
from millpond.plan.building import balanced
from millpond.plan.coercion import is_integer
from millpond.plan.expressions import Call, Cast, ColumnRef, Expr, map_children, walk
from millpond.plan.joined_names import joined, shared
from millpond.plan.nodes import Filter, IntervalJoin, JoinType, Kind, Node, Scan, TemporalJoin, scans_of
from millpond.plan.source import Source
from millpond.sql.position import position_of
from millpond.types import Column

IDLE_TIMEOUT_MS = 100
"""How long a quiet partition holds a join back, unless the source says 'source.idle.timeout.millis'."""
GRACE_MS = 10_000
"""How much later than its turn a row of an interval join may come, unless GRACE PERIOD says it."""


@dataclass(frozen=True, slots=True)
class _Condition:
    """ON taken apart: pairs of equal expressions, each over the columns of its own side, and the rest."""

    left: tuple[Expr, ...]
    right: tuple[Expr, ...]
    rest: tuple[Expr, ...]


def plan_join(left: Source, join: exp.Join, right: Source) -> Source:
    """Raises UNSUPPORTED for joins that are not there, and what is wrong with the condition."""
    _refuse_forms(join)
    join_type = JoinType((join.side or "INNER").upper())
    temporal = _is_temporal(left.node, join, right.node, join_type)
    columns, scope = joined(left, right)
    if join.args.get("using"):
        tree = join.args["using"][0]
        conditions, scope = shared(join.args["using"], scope, join_type)
    else:
        tree = join.args["on"]
        conditions = [bind_condition(part, scope) for part in _conjuncts(tree)]
    condition = _take_apart(conditions, tree, columns, left.node, right.node)
    node: Node
    if temporal:
        assert isinstance(right.node, Scan)
        node = _temporal(left.node, replace(right.node, at_once=True), columns, condition, join_type)
    else:
        node = _interval(left.node, right.node, columns, condition, join_type, join.args["within"])
    if condition.rest:
        node = _filtered(node, join, join_type, condition.rest)
    return Source(node, scope)


def _temporal(
    left: Node, right: Node, columns: tuple[Column, ...], condition: _Condition, join_type: JoinType
) -> TemporalJoin:
    return TemporalJoin(
        columns,
        left,
        right,
        condition.left,
        condition.right,
        join_type,
        allowed_latency_ms=scans_of(left)[0].allowed_latency_ms,
        idle_timeout_ms=_idle_timeout(right),
    )


def _interval(
    left: Node,
    right: Node,
    columns: tuple[Column, ...],
    condition: _Condition,
    join_type: JoinType,
    within: exp.Expr,
) -> IntervalJoin:
    grace = within.args.get("grace")
    return IntervalJoin(
        columns,
        left,
        right,
        condition.left,
        condition.right,
        join_type,
        before_ms=within.args["before"],
        after_ms=within.args["after"],
        grace_ms=GRACE_MS if grace is None else grace,
        idle_timeout_ms=max(_idle_timeout(left), _idle_timeout(right)),
    )


def _idle_timeout(side: Node) -> int:
    given = [s.idle_timeout_ms for s in scans_of(side) if s.idle_timeout_ms is not None]
    return max(given, default=IDLE_TIMEOUT_MS)


def _filtered(node: Node, join: exp.Join, join_type: JoinType, rest: Sequence[Expr]) -> Filter:
    """Conditions besides the equalities choose among the pairs of an inner join."""
    if join_type is not JoinType.INNER:
        _refuse(
            f"A condition that is no equality of both sides in a {join_type} JOIN",
            "Put it into WHERE, or filter the one side first: CREATE STREAM ... AS SELECT ... WHERE.",
            join.args["on"],
        )
    return Filter(node.columns, node, balanced("and", list(rest)))


def _refuse(feature: str, instead: str, tree: exp.Expr) -> NoReturn:
    raise MillpondError("UNSUPPORTED", position=position_of(tree), feature=feature, instead=instead)


def _refuse_forms(join: exp.Join) -> None:
    if join.args.get("on") is None and not join.args.get("using"):
        _refuse("CROSS JOIN of relations in a persistent query", "Write JOIN ... ON a.x = b.x.", join.this)


def _is_temporal(left: Node, join: exp.Join, right: Node, join_type: JoinType) -> bool:
    """Whether it is a stream with a changelog; else it is a stream with a stream. Raises UNSUPPORTED."""
    within = join.args.get("within")
    kinds = (left.kind, right.kind)
    if kinds == (Kind.UPSERT, Kind.UPSERT):
        _refuse(
            "A join of two changelogs",
            "Keep both in MATERIALIZED VIEWs and join these in a plain SELECT.",
            join.this,
        )
    if kinds == (Kind.UPSERT, Kind.APPEND):
        _refuse(
            "A changelog on the left of a stream",
            "Name the stream first: FROM stream LEFT JOIN changelog ON ...",
            join.this,
        )
    if kinds == (Kind.APPEND, Kind.APPEND):
        if within is None:
            _refuse(
                "A join of two streams without WITHIN",
                "Say how far apart in time two rows may be: JOIN b WITHIN 5 MINUTES ON ...",
                join.this,
            )
        return False
    if within is not None:
        _refuse(
            "WITHIN in a join with a changelog",
            "Leave it out: a row meets the version that was valid at the row's own time.",
            within,
        )
    if join_type not in (JoinType.INNER, JoinType.LEFT):
        _refuse(f"{join_type} JOIN with a changelog", "Write JOIN or LEFT JOIN: only the stream makes rows.", join.this)
    return True


# --- ON ---


def _take_apart(
    conditions: Sequence[Expr], tree: exp.Expr, columns: Sequence[Column], left: Node, right: Node
) -> _Condition:
    """Raises UNSUPPORTED if no equality has one side each, or if they are not a changelog's whole primary key."""
    split = len(left.columns)
    sides = (_names_below(columns[:split], left), _names_below(columns[split:], right))
    changelog = right if isinstance(right, Scan) and right.kind is Kind.UPSERT else None
    pairs: list[tuple[Expr, Expr]] = []
    rest: list[Expr] = []
    for condition in conditions:
        pair = _pair(condition, sides)
        if pair is None or (changelog is not None and _key_column(pair[1], changelog) is None):
            rest.append(condition)
        else:
            pairs.append(pair)
    _check_pairs(pairs, changelog, tree)
    return _Condition(tuple(a for a, _ in pairs), tuple(b for _, b in pairs), tuple(rest))


def _conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.And):
        yield from (part for side in (tree.this, tree.expression) for part in _conjuncts(side))
    else:
        yield tree


def _names_below(columns: Sequence[Column], below: Node) -> dict[str, str]:
    """Names in the result -> names in the input that they come from."""
    return {c.name: b.name for c, b in zip(columns, below.columns, strict=True)}


def _pair(condition: Expr, sides: tuple[dict[str, str], dict[str, str]]) -> tuple[Expr, Expr] | None:
    """An equality of one expression over each side, left first, over the inputs' columns; None for anything else."""
    if not isinstance(condition, Call) or condition.function != "=":
        return None
    for one, other in (condition.args, condition.args[::-1]):
        if _is_over(one, sides[0]) and _is_over(other, sides[1]):
            return _rename(one, sides[0]), _rename(other, sides[1])
    return None


def _is_over(expr: Expr, names: dict[str, str]) -> bool:
    used = {e.name for e in walk(expr) if isinstance(e, ColumnRef)}
    return bool(used) and used <= names.keys()


def _rename(expr: Expr, names: dict[str, str]) -> Expr:
    if isinstance(expr, ColumnRef):
        return replace(expr, name=names[expr.name])
    return map_children(expr, lambda e: _rename(e, names))


def _key_column(expr: Expr, changelog: Scan) -> str | None:
    """The primary key's column that `expr` is, perhaps as a wider integer: then it is as unique."""
    if isinstance(expr, Cast) and is_integer(expr.type) and is_integer(expr.operand.type):
        expr = expr.operand
    return expr.name if isinstance(expr, ColumnRef) and expr.name in changelog.relation.primary_key else None


def _check_pairs(found: Sequence[tuple[Expr, Expr]], changelog: Scan | None, tree: exp.Expr) -> None:
    if changelog is not None:
        key = changelog.relation.primary_key
        if set(key) - {_key_column(right, changelog) for _, right in found}:
            _refuse(
                f"A join that does not name the whole PRIMARY KEY ({', '.join(key)}) of '{changelog.relation.name}'",
                "Write ON with an equality for each of its columns, or declare a CHANGELOG with the key that you need.",
                tree,
            )
    if not found:
        _refuse("A join without an equality of both sides", "Write ON a.x = b.x.", tree)
