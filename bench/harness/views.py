"""The statements that all benchmarks share: the stream of clicks and its first view."""

from __future__ import annotations

from harness.clicks import STREAM_COLUMNS
from harness.statements import Statements

VIEW = "url_visits"
TOTAL = f"SELECT SUM(visits) FROM {VIEW};"
ROWS = f"SELECT COUNT(*) FROM {VIEW};"
ALL = f"SELECT url, visits FROM {VIEW};"


def visits_of(url: str) -> str:
    """The pull query by key."""
    return f"SELECT visits FROM {VIEW} WHERE url='{url}';"


def create_stream(server: Statements, topic: str) -> None:
    """The stream over a topic that is there."""
    server.run(
        f"CREATE STREAM clicks ({STREAM_COLUMNS}) "
        f"WITH ('topic'='{topic}', 'value.format'='json', 'timestamp'='event_time');"
    )


def create_view(server: Statements) -> None:
    """View 1: visits per url, from the first event on."""
    server.run(
        f"CREATE MATERIALIZED VIEW {VIEW} AS SELECT url, count(*) AS visits "
        "FROM clicks WITH ('starting.position'='earliest') GROUP BY url;"
    )


def topic_prefix() -> str:
    """What the name of the view's changelog topic starts with."""
    return f"millpond.view.default.public.{VIEW}."
