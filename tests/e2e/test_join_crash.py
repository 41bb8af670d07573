"""kill -9 in the middle of joins: after the restart nothing is missing in their streams, and nothing is there twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.e2e.clicks import COLUMNS, START, Click, make_clicks, send
from tests.e2e.server_process import ServerProcess
from tests.kafka_records import read
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(900)]

MOVED = 150
"""From this click on the users live elsewhere."""
WAIT_SECONDS = 240
"""Three queries of a server that has just begun read what is left batch by batch; alone on two cores, 20 seconds."""
STATEMENTS = f"""
CREATE STREAM clicks ({COLUMNS})
  WITH ('topic' = 'clicks', 'value.format' = 'json', 'timestamp' = 'event_time', 'topic.partitions' = 2);
CREATE STREAM buys (at BIGINT, userid VARCHAR, item VARCHAR)
  WITH ('topic' = 'buys', 'value.format' = 'json', 'timestamp' = 'at');
CREATE CHANGELOG users (at BIGINT, userid VARCHAR, city VARCHAR, PRIMARY KEY (userid))
  WITH ('topic' = 'users', 'value.format' = 'json', 'timestamp' = 'at');
CREATE STREAM placed AS SELECT c.userid, c.event_time, u.city FROM clicks AS c
  LEFT JOIN users AS u WITH ('source.idle.timeout.millis' = 2000) ON c.userid = u.userid;
CREATE STREAM bought AS SELECT c.userid, c.event_time, b.item FROM clicks AS c
  JOIN buys AS b WITHIN (0 SECONDS, 50 MILLISECONDS) GRACE PERIOD 1 HOUR ON c.userid = b.userid;
CREATE MATERIALIZED VIEW per_city AS SELECT u.city, COUNT(*) AS n FROM clicks AS c
  JOIN users AS u WITH ('source.idle.timeout.millis' = 2000) ON c.userid = u.userid GROUP BY u.city
"""


def city(click: Click, clicks: list[Click]) -> str | None:
    if click.userid == "u0":
        return None
    return ("new " if click.event_time >= clicks[MOVED].event_time else "old ") + click.userid[-1]


def write(uris: str, topic: str, rows: Iterable[Mapping[str, Any]]) -> None:
    producer = Producer({"bootstrap.servers": uris, "linger.ms": 0, "enable.idempotence": True})
    for row in rows:
        producer.produce(topic, json.dumps(row), key=str(row["userid"]))
    assert producer.flush(60) == 0


def write_users(uris: str, at: int, word: str) -> None:
    names = (f"u{n}" for n in range(1, 20))
    write(uris, "users", ({"at": at, "userid": name, "city": f"{word} {name[-1]}"} for name in names))


def write_buys(uris: str, clicks: Iterable[Click]) -> None:
    """One within the interval and one after it for each click; clicks are 100 ms apart."""
    times = ((c, c.event_time + late, item) for c in clicks for late, item in ((50, "in time"), (51, "too late")))
    write(uris, "buys", ({"at": at, "userid": c.userid, "item": item} for c, at, item in times))


def rows(uris: str, topic: str) -> Counter[tuple[Any, ...]]:
    """How often each row is in a topic of two partitions."""
    records = [*read(uris, topic, 0), *read(uris, topic, 1)]
    return Counter(tuple(json.loads(record.value or b"").values()) for record in records)


def wait_for(server: ServerProcess, topic: str, expected: Counter[tuple[Any, ...]]) -> None:
    """A stream holds what it must, once. What is missing and what is too much is told, with how the queries are."""

    def difference() -> list[Any]:
        found = rows(server.kafka, topic)
        wrong = [topic, "missing", list(expected - found)[:5], "too much", list(found - expected)[:5]]
        return [] if found == expected else [*wrong, server.sql("LIST QUERIES")]

    eventually(difference, [], WAIT_SECONDS, pause=0.2)


def check(server: ServerProcess, clicks: list[Click], sent: list[Click]) -> None:
    wait_for(server, "placed", Counter((c.userid, c.event_time, city(c, clicks)) for c in sent))
    wait_for(server, "bought", Counter((c.userid, c.event_time, "in time") for c in sent))


@pytest.mark.parametrize("batch_rows", [1_000_000, 40])
def test_joins_survive_kill_9(own_server: ServerProcess, batch_rows: int) -> None:
    """`batch_rows`: those of a batch in a replay, which so is one, or several of which the server dies in one."""
    own_server.environment["MILLPOND_CATCHUP_ROWS"] = str(batch_rows)
    server = own_server.start()
    server.sql(STATEMENTS)
    clicks = make_clicks(400)
    write_users(server.kafka, START - 1_000, "old")
    write_buys(server.kafka, clicks[:100])
    send(server.kafka, "clicks", clicks[:100])
    check(server, clicks, clicks[:100])
    server.kill()
    server.start()
    send(server.kafka, "clicks", clicks[100:MOVED])
    write_buys(server.kafka, clicks[100:MOVED])
    check(server, clicks, clicks[:MOVED])
    write_users(server.kafka, clicks[MOVED].event_time, "new")
    send(server.kafka, "clicks", clicks[MOVED:300])
    write_buys(server.kafka, clicks[MOVED:300])
    server.kill()
    server.start()
    send(server.kafka, "clicks", clicks[300:])
    server.kill()
    server.start()
    write_buys(server.kafka, clicks[300:])
    check(server, clicks, clicks)
    cities = Counter(name for c in clicks if (name := city(c, clicks)) is not None)
    server.wait_for(
        "SELECT city, n FROM per_city ORDER BY city", [[name, str(n)] for name, n in sorted(cities.items())]
    )
