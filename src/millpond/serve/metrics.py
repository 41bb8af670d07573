"""The samples of /metrics: queries and views as they are now. Each metric has a heading in docs/operations.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import PersistentQuery, QueryState, RelationKind
from millpond.queries.registry import Queries
from millpond.serve.answers import Metric
from millpond.serve.facts import Facts

QUERY_METRICS = {
    "rows_in": ("millpond_query_rows_in_total", "Records that the query has read.", "counter"),
    "rows_out": (
        "millpond_query_rows_out_total",
        "Records written to the sink's topic since the query began.",
        "counter",
    ),
    "dead_letters": ("millpond_query_dead_letters_total", "Records that did not decode.", "counter"),
    "dead_letters_lost": (
        "millpond_query_dead_letters_lost_total",
        "Dead letters that could not be written.",
        "counter",
    ),
    "lag": ("millpond_query_lag_rows", "Records in the source's topic that the query has not read.", "gauge"),
    "lag_ms": (
        "millpond_query_lag_milliseconds",
        "Age of the oldest record of a Kinesis source that the query has not read.",
        "gauge",
    ),
    "late_rows": ("millpond_query_late_rows_total", "Rows dropped because they came too late.", "counter"),
    "state_rows": ("millpond_query_state_rows", "Rows that the query keeps, by the last batch that ended.", "gauge"),
    "state_bytes": ("millpond_query_state_bytes", "Memory of what the query keeps.", "gauge"),
}
VIEW_METRICS = {
    "rows": ("millpond_view_rows", "Rows of the view.", "gauge"),
    "bytes": ("millpond_view_bytes", "Bytes of the view in the view store.", "gauge"),
    "changelog lag": (
        "millpond_view_lag_records",
        "Records of the changelog that are not folded yet.",
        "gauge",
    ),
    "freshness ms": (
        "millpond_view_freshness_milliseconds",
        "Age of the last event when the view showed it.",
        "gauge",
    ),
    "offsets read since start": (
        "millpond_view_offsets_read_total",
        "Changelog records read since start.",
        "counter",
    ),
}


def samples(
    catalog: Catalog, queries: Queries, facts: Facts, view_report: Callable[[str], Mapping[str, float]]
) -> Iterator[Metric]:
    """One sample for each figure of each query and view."""
    for query in catalog.queries():
        yield from _query(query, catalog, facts)
    for relation in catalog.relations():
        if relation.kind is RelationKind.VIEW:
            labels = {"view": f"{relation.database}.{relation.schema}.{relation.name}"}
            yield from _figures(VIEW_METRICS, view_report(relation.id), labels)


def _query(query: PersistentQuery, catalog: Catalog, facts: Facts) -> Iterator[Metric]:
    sink = catalog.relation_by_id(query.sink)
    labels = {"query": query.name or query.id, "sink": sink.name if sink else ""}
    running = 1.0 if query.state is QueryState.RUNNING else 0.0
    shown = {**labels, "state": query.state.value, "mode": query.mode}
    yield Metric("millpond_query_running", "1 while the query runs.", "gauge", running, shown)
    yield from _figures(QUERY_METRICS, facts.query_metrics(query.id), labels)


def _figures(
    table: Mapping[str, tuple[str, str, str]], values: Mapping[str, float], labels: Mapping[str, str]
) -> Iterator[Metric]:
    for key, (name, text, kind) in table.items():
        if key in values:
            yield Metric(name, text, kind, values[key], labels)
