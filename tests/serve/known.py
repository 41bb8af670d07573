"""Facts that a test makes up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millpond.serve.facts import NoFacts, QueryEvent
from millpond.stores.protocol import TopicDescription


class KnownFacts(NoFacts):
    """One store with two topics, and a query that has run for a while."""

    def topics(self, store: str) -> Sequence[str]:
        return ["url_visits", "clicks", "Mixed.Case"] if store == "kafka" else []

    def topic(self, store: str, topic: str) -> TopicDescription:
        if topic in self.topics(store):
            return TopicDescription(topic, 3, 1, {"retention.ms": "-1"})
        return super().topic(store, topic)

    def query_progress(self, query_id: str) -> Mapping[str, str]:
        return {"lag": "12"}

    def query_metrics(self, query_id: str) -> Mapping[str, float]:
        return {"rows_in": 10.0, "dead_letters": 0.0}

    def query_history(self, query_id: str) -> Sequence[QueryEvent]:
        return [
            QueryEvent(1_700_000_000_000, "starting"),
            QueryEvent(1_700_000_001_000, "errored", "no broker"),
        ]

    def relation_progress(self, relation_id: str) -> Mapping[str, str]:
        return {"rows": "3"}
