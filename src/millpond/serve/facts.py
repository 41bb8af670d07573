"""What LIST and DESCRIBE ask of what runs, beside the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from millpond.errors import MillpondError
from millpond.stores.protocol import TopicDescription


@dataclass(frozen=True, slots=True)
class QueryEvent:
    """Something that happened to a query, at epoch milliseconds; `state` is the one that it went into."""

    at: int
    state: str
    messages: str = ""


class Facts(Protocol):
    """Answers about topics and about queries and views while they run. Calls may wait for a store."""

    def topics(self, store: str) -> Sequence[str]:
        """The names of the store's topics. Raises STORE_UNREACHABLE."""
        ...

    def topic(self, store: str, topic: str) -> TopicDescription:
        """Raises TOPIC_NOT_FOUND, STORE_UNREACHABLE."""
        ...

    def descriptors(self) -> Sequence[tuple[str, str]]:
        """(full name, source) of every message of the descriptor sources."""
        ...

    def query_progress(self, query_id: str) -> Mapping[str, str]:
        """More rows of DESCRIBE QUERY: lag, backfill progress and the like."""
        ...

    def query_metrics(self, query_id: str) -> Mapping[str, float]:
        """The rows of DESCRIBE QUERY METRICS."""
        ...

    def query_positions(self, query_id: str) -> Mapping[str, str]:
        """Where a terminated query would go on: relation id -> JSON text."""
        ...

    def query_history(self, query_id: str) -> Sequence[QueryEvent]:
        """Oldest first."""
        ...

    def relation_progress(self, relation_id: str) -> Mapping[str, str]:
        """More rows of DESCRIBE RELATION: rows, bytes, backfill progress of a view."""
        ...


class NoFacts(Facts):
    """Nothing runs and no store can be asked: what the catalog alone knows."""

    def topics(self, store: str) -> Sequence[str]:
        return ()

    def topic(self, store: str, topic: str) -> TopicDescription:
        raise MillpondError("TOPIC_NOT_FOUND", topic=topic, store=store)

    def descriptors(self) -> Sequence[tuple[str, str]]:
        return ()

    def query_progress(self, query_id: str) -> Mapping[str, str]:
        return {}

    def query_metrics(self, query_id: str) -> Mapping[str, float]:
        return {}

    def query_positions(self, query_id: str) -> Mapping[str, str]:
        return {}

    def query_history(self, query_id: str) -> Sequence[QueryEvent]:
        return ()

    def relation_progress(self, relation_id: str) -> Mapping[str, str]:
        return {}
