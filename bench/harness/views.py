"""The statements that the benchmarks share: the stream of clicks, and views of counts."""

from __future__ import annotations

from dataclasses import dataclass

from harness.statements import Statements

STREAM_COLUMNS = "event_time BIGINT, device_id VARCHAR, url VARCHAR, ip VARCHAR, userid VARCHAR"
VIEW = "url_visits"
ROWS = f"SELECT COUNT(*) FROM {VIEW};"


@dataclass(frozen=True, slots=True)
class CountView:
    """A materialized view of `visits` per `group`, over everything from the first event on."""

    name: str
    group: str
    source: str
    expression: str = ""
    """What the group is, if it is no column of the source."""

    @property
    def create(self) -> str:
        """The statement that makes it."""
        group = self.expression or self.group
        return (
            f"CREATE MATERIALIZED VIEW {self.name} AS SELECT {group} AS {self.group}, count(*) AS visits "
            f"FROM {self.source} GROUP BY {group};"
        )

    @property
    def total(self) -> str:
        """Asks for the sum of all counts."""
        return f"SELECT SUM(visits) FROM {self.name};"

    @property
    def all(self) -> str:
        """Asks for every count."""
        return f"SELECT {self.group}, visits FROM {self.name};"

    @property
    def topic_prefix(self) -> str:
        """What the name of its changelog topic starts with."""
        return f"millpond.view.default.public.{self.name}."


URL_VISITS = CountView(VIEW, "url", "clicks WITH ('starting.position'='earliest')")
"""View 1 of the clickstream."""


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
    server.run(URL_VISITS.create)
