"""What LIST, DESCRIBE and /metrics know of queries and views while they run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import QueryState
from millpond.errors import MillpondError
from millpond.queries.checkpoint import Checkpoint
from millpond.queries.life import Status
from millpond.queries.registry import Queries
from millpond.serve.facts import Facts, QueryEvent
from millpond.stores.descriptors import Descriptors
from millpond.stores.protocol import Log, TopicDescription


class LiveFacts(Facts):
    """Facts of a running server. `view_report` gives the view store's last report on a relation."""

    def __init__(
        self,
        catalog: Catalog,
        queries: Queries,
        log: Callable[[str], Log],
        view_report: Callable[[str], Mapping[str, float]],
    ) -> None:
        self.catalog, self.queries, self.log, self.view_report = catalog, queries, log, view_report

    def topics(self, store: str) -> Sequence[str]:
        return self.log(store).topics()

    def topic(self, store: str, topic: str) -> TopicDescription:
        return self.log(store).describe(topic)

    def descriptors(self) -> Sequence[tuple[str, str]]:
        return sorted((name, source) for source, name in Descriptors(self.catalog).all())

    def query_progress(self, query_id: str) -> Mapping[str, str]:
        status = self.queries.status(query_id)
        if status is None:
            return self._progress_of_none(query_id)
        errored = status.state is QueryState.ERRORED
        found = {**self._lag(query_id), "caught_up": str(status.caught_up and not errored).lower()}
        if not status.caught_up:
            found["backfill"] = backfill_text(status)
        return found

    def _progress_of_none(self, query_id: str) -> Mapping[str, str]:
        """Of a query that the server could not start again."""
        query = self.catalog.query(query_id)
        if query is None or query.state is not QueryState.ERRORED:
            return {}
        return {"lag": "unknown (it was not started)", "caught_up": "false"}

    def _lag(self, query_id: str) -> dict[str, str]:
        try:
            lag = self.queries.lag(query_id)
        except MillpondError as error:
            return {"lag": f"unknown ({error.name})"}
        if lag is None:
            return {"lag": "unknown"}
        rows = {"lag": "unknown (Kinesis counts no records)" if lag.rows is None else str(lag.rows)}
        return rows if lag.milliseconds is None else {**rows, "lag_ms": str(lag.milliseconds)}

    def query_metrics(self, query_id: str) -> Mapping[str, float]:
        return {name: float(value) for name, value in self.queries.metrics(query_id).items()}

    def query_positions(self, query_id: str) -> Mapping[str, str]:
        query = self.catalog.query(query_id)
        if query is None or query.state is not QueryState.TERMINATED:
            return {}
        known = {r.topic: r.id for s in query.sources if (r := self.catalog.relation_by_id(s))}
        sources = Checkpoint(self.queries.checkpoint(query_id)).sources()
        found = [(topic, parts) for offsets in sources for topic, parts in offsets.items()]
        return {known[topic]: json.dumps(parts) for topic, parts in found if topic in known}

    def query_history(self, query_id: str) -> Sequence[QueryEvent]:
        return [QueryEvent(e.at, e.state, e.message) for e in self.queries.history.of(query_id)]

    def relation_progress(self, relation_id: str) -> Mapping[str, str]:
        report = {name: f"{value:g}" for name, value in self.view_report(relation_id).items()}
        status = self.queries.filling(relation_id)
        if status is not None and not status.caught_up:
            report["backfill"] = backfill_text(status)
        return report


def backfill_text(status: Status) -> str:
    """`42 % (84000 of 200000 rows)`, or what there is to say where nothing was waiting."""
    done, total = status.backfill_done, status.backfill_total
    if total:
        return f"{100 * done // total} % ({done} of {total} rows)"
    return "its query is starting" if status.state is QueryState.STARTING else "no rows were waiting"
