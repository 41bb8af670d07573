"""A view keeps what it has when its topic loses rows that the view's query would have to read again, and says so."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.e2e.server_process import ServerProcess
from tests.kafka_records import Record, write
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(300)]


def put(server: ServerProcess, topic: str, ids: Iterable[int]) -> None:
    write(server.kafka, topic, [Record(json.dumps({"id": n, "name": f"n{n % 5}"}).encode()) for n in ids])


def counted(server: ServerProcess, database: str) -> tuple[str, str]:
    """A topic with a view that counts its rows: (topic, the question how many there are)."""
    topic = f"rows_{uuid.uuid4().hex[:8]}"
    server.sql(
        f"CREATE STREAM rows_in (id BIGINT, name VARCHAR) WITH ('topic' = '{topic}', 'value.format' = 'json');"
        "CREATE MATERIALIZED VIEW counts AS SELECT name, COUNT(*) AS n FROM rows_in GROUP BY name",
        database=database,
    )
    return topic, f"SELECT SUM(n) FROM {database}.public.counts"


def query_of(server: ServerProcess, database: str) -> dict[str, Any]:
    """How the database's one query is, by column."""
    (listed,) = (row for row in server.sql("LIST QUERIES") if str(row[-1]).startswith(f"{database}."))
    return {str(row[0]): row[1] for row in server.sql(f"DESCRIBE QUERY {listed[0]}")} | {"id": listed[0]}


def test_rows_that_are_gone_are_missed_by_name(server: ServerProcess, database: str) -> None:
    topic, count = counted(server, database)
    put(server, topic, range(300))
    server.wait_for(count, [["300"]])
    query = query_of(server, database)["id"]
    server.sql(f"TERMINATE QUERY {query}")
    put(server, topic, range(300, 400))
    admin = AdminClient({"bootstrap.servers": server.kafka})
    admin.delete_records([TopicPartition(topic, 0, 350)])[TopicPartition(topic, 0)].result(30)
    server.sql(f"RESTART QUERY {query}")
    eventually(lambda: query_of(server, database)["error"], lambda e: "[TOPIC_RECORDS_LOST]" in str(e), 60)
    assert server.sql(count) == [["300"]]


def test_a_topic_that_is_made_anew_is_noticed_while_its_query_runs(server: ServerProcess, database: str) -> None:
    topic, count = counted(server, database)
    put(server, topic, range(50))
    server.wait_for(count, [["50"]])
    admin = AdminClient({"bootstrap.servers": server.kafka})
    admin.delete_topics([topic])[topic].result(30)
    eventually(lambda: admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30), None, 30)
    put(server, topic, range(20))
    eventually(lambda: query_of(server, database)["error"], lambda e: "[TOPIC_REPLACED]" in str(e), 90)
    assert server.sql(count) == [["50"]]
