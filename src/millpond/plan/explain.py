"""EXPLAIN: the same stages that the runner would carry out, and the plan that Spark would run, as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from millpond.plan.capabilities import capability, verdict
from millpond.plan.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    ColumnRef,
    Element,
    Expr,
    FieldAccess,
    Literal,
)
from millpond.plan.nodes import (
    Aggregate,
    Filter,
    IntervalJoin,
    Join,
    Node,
    Project,
    Scan,
    Sink,
    TemporalJoin,
    Unnest,
    Window,
)
from millpond.plan.pruning import prune_scan
from millpond.plan.stages import Planned, Stage, StartQuery


def explain(planned: Planned) -> list[str]:
    """One line for each stage, and below a query's start its mode and its plan, the sink first."""
    lines: list[str] = []
    for number, stage in enumerate(planned.stages, 1):
        lines.append(f"{number}. {describe_stage(stage)}")
        if isinstance(stage, StartQuery):
            lines += [f"   {line}" for line in _query(prune_scan(stage.plan))]
    return lines or ["nothing to do"]


def describe_stage(stage: Stage) -> str:
    """`EnsureTopic store=kafka topic=clicks partitions=2`: the class and its plain fields."""
    shown = []
    for field in fields(stage):
        value = getattr(stage, field.name)
        label = _label(value)
        if label:
            shown.append(f"{field.name}={label}")
    return " ".join([type(stage).__name__, *shown])


def _label(value: object) -> str:
    if value is None or value == {} or isinstance(value, Sink):
        return ""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    name = getattr(value, "name", None) or getattr(value, "id", None)
    if isinstance(value, tuple):
        return f"{len(value)} rows"
    return str(name if name is not None else value)


def _query(plan: Sink) -> Iterator[str]:
    found = verdict(plan)
    yield f"mode: {found.mode.value}" + (f", because {found.reason} {found.advice}".rstrip() if found.reason else "")
    yield from plan_lines(plan)


def plan_lines(node: Node, depth: int = 0) -> Iterator[str]:
    """The plan as an indented tree, with each node's kind and how it runs."""
    yield f"{'  ' * depth}{_node(node)}  [{node.kind.value}; {capability(node).how}]"
    for child in node.inputs:
        yield from plan_lines(child, depth + 1)


def _node(node: Node) -> str:
    match node:
        case Scan():
            needed = sorted(node.needed) if node.needed is not None else [c.name for c in node.columns]
            return f"Scan {node.relation.fqn} from {node.starting_position}: {', '.join(needed)}"
        case Filter():
            return f"Filter {show(node.condition)}"
        case Project():
            pairs = zip(node.columns, node.exprs, strict=True)
            return "Project " + ", ".join(f"{c.name} = {show(e)}" for c, e in pairs)
        case Window():
            late = (
                "late rows count"
                if node.allowed_latency_ms is None
                else f"late by {node.allowed_latency_ms} ms at most"
            )
            return f"Window {node.function} size {node.size_ms} ms step {node.step_ms} ms, {late}"
        case TemporalJoin():
            return (
                f"TemporalJoin {_keys(node)}, a changelog that is quiet for {node.idle_timeout_ms} ms is not waited for"
            )
        case IntervalJoin():
            span = f"from {node.before_ms} ms before to {node.after_ms} ms after, grace {node.grace_ms} ms"
            return f"IntervalJoin {_keys(node)}, {span}"
        case Aggregate():
            return f"Aggregate by ({', '.join(map(show, node.groups))}): {', '.join(map(show, node.aggregates))}"
        case Unnest():
            return f"Unnest {show(node.array)} as {node.element}"
        case Sink():
            having = f" where {show(node.having)}" if node.having is not None else ""
            return f"Sink {node.relation.fqn} topic {node.relation.topic} key ({', '.join(node.key)}){having}"
    return type(node).__name__


def _keys(node: Join) -> str:
    pairs = zip(node.left_keys, node.right_keys, strict=True)
    return f"{node.join_type} on " + ", ".join(f"{show(a)} = {show(b)}" for a, b in pairs)


def show(expr: Expr) -> str:
    """An expression as text for people."""
    match expr:
        case ColumnRef():
            return expr.name
        case Literal():
            return repr(expr.value) if expr.value is not None else "NULL"
        case Call():
            return f"{expr.function}({', '.join(map(show, expr.args))})"
        case AggregateCall():
            distinct = "DISTINCT " if expr.distinct else ""
            return f"{expr.function}({distinct}{', '.join(map(show, expr.args)) or '*'})"
        case Cast():
            return f"cast({show(expr.operand)} as {expr.type})"
        case FieldAccess():
            return f"{show(expr.operand)}->{expr.field}"
        case Element():
            return f"{show(expr.operand)}[{show(expr.index)}]"
        case Case():
            branches = " ".join(f"when {show(c)} then {show(v)}" for c, v in expr.branches)
            return f"case {branches} else {show(expr.otherwise) if expr.otherwise else 'NULL'} end"
    return type(expr).__name__
