"""Whatever the query: each node refers to columns that its input has, pruned or not."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from millpond.errors import MillpondError
from millpond.plan.expressions import AggregateCall, ColumnRef, Expr
from millpond.plan.expressions import walk as parts_of
from millpond.plan.nodes import HIDDEN, Aggregate, Filter, Node, Project, Sink, Unnest, walk
from millpond.plan.pruning import prune_scan
from millpond.plan.stages import StartQuery
from tests.plan.planning import Session, stage_of

KNOWN = """
CREATE STREAM clicks (event_time BIGINT, url VARCHAR, userid VARCHAR, n INTEGER, tags ARRAY<VARCHAR>)
  WITH ('value.format' = 'json', 'timestamp' = 'event_time');
CREATE CHANGELOG users (url VARCHAR, userid VARCHAR, n INTEGER, event_time BIGINT, tags ARRAY<VARCHAR>,
  PRIMARY KEY (userid, url)) WITH ('value.format' = 'json');
"""
WINDOWS = (
    "TUMBLE(clicks, SIZE 1 MINUTE)",
    "HOP(clicks, SIZE 1 MINUTE, ADVANCE BY 7 SECONDS)",
    "CUMULATE(clicks, SIZE 1 MINUTE, STEP 5 SECONDS)",
)
SCALARS = (
    "url",
    "userid",
    "n",
    "upper(url)",
    "n + 1",
    "event_time % 3",
    "url || userid",
    "tags",
    "rowtime()",
    "1",
    "NULL",
)
CALLS = ("count(*)", "count(DISTINCT userid)", "sum(n)", "max(url)", "avg(n + 1)", "listagg(url)", "sum(n) / count(*)")
CONDITIONS = ("n > 1", "url = userid", "tags IS NULL", "length(url) IN (1, 2)")

session = Session()
session.run(KNOWN)


@st.composite
def rows(draw: st.DrawFn) -> str:
    """A query without aggregation."""
    source = draw(st.sampled_from(("clicks", "users", "clicks CROSS JOIN UNNEST(tags) WITH ORDINALITY AS t(tag, pos)")))
    items = draw(st.lists(st.sampled_from(SCALARS), min_size=1, max_size=5))
    where = draw(st.sampled_from(("", *(f" WHERE {c}" for c in CONDITIONS))))
    return f"SELECT {_named(items)} FROM {source}{where}"


@st.composite
def groups(draw: st.DrawFn) -> str:
    """A query with GROUP BY, over a stream or windows of it."""
    source = draw(st.sampled_from(("clicks", *WINDOWS)))
    keys = draw(st.lists(st.sampled_from(SCALARS[:6]), unique=True, max_size=3))
    if source in WINDOWS:
        keys = ["window_start", *keys, "window_end"]
    shown = [k for k in keys if draw(st.booleans())]
    items = draw(st.permutations([*shown, *draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3))]))
    where = draw(st.sampled_from(("", *(f" WHERE {c}" for c in CONDITIONS))))
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = draw(st.sampled_from(("", " HAVING count(*) > 1", " HAVING sum(n) > max(n)")))
    return f"SELECT {_named(items)} FROM {source}{where}{by}{having}"


def _named(items: list[str]) -> str:
    return ", ".join(f"{item} AS c{n}" for n, item in enumerate(items))


def refers(node: Node) -> Iterator[Expr]:
    match node:
        case Project():
            yield from node.exprs
        case Filter():
            yield node.condition
        case Unnest():
            yield node.array
        case Aggregate():
            yield from (*node.groups, *node.aggregates)
        case Sink():
            yield from () if node.having is None else (node.having,)


def check(plan: Sink) -> None:
    hidden = {c.name for c in HIDDEN}
    for node in walk(plan):
        known = {c.name: c.type for below in node.inputs for c in below.columns}
        for part in (p for e in refers(node) for p in parts_of(e)):
            if isinstance(part, ColumnRef) and part.name not in hidden:
                assert known[part.name] == part.type
            assert isinstance(node, Aggregate) or not isinstance(part, AggregateCall)
        assert len({c.name for c in node.columns}) == len(node.columns)
    assert {c.name for c in plan.input.columns} >= {*plan.key, *(c.name for c in plan.relation.columns)}


@given(st.one_of(rows(), groups()))
def test_each_node_refers_to_columns_of_its_input(query: str) -> None:
    planned = session.plan(f"CREATE MATERIALIZED VIEW v AS {query}")
    plan = stage_of(planned, StartQuery).plan
    check(plan)
    check(prune_scan(plan))


@given(groups())
def test_a_changelog_of_a_group_has_the_group_as_its_key_or_says_why_not(query: str) -> None:
    try:
        plan = stage_of(session.plan(f"CREATE CHANGELOG c AS {query}"), StartQuery).plan
    except MillpondError as error:
        assert error.name == "BAD_KEY"
        return
    assert plan.key == plan.relation.primary_key
    (aggregate,) = (n for n in walk(plan) if isinstance(n, Aggregate))
    assert len(plan.key) == len(aggregate.groups)
