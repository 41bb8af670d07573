"""The benchmarks' queries with Flink SQL, in PyFlink's local mini cluster. Runs in a virtual environment of its own.

Arguments: job, broker list, input topics separated by commas, output topic, checkpoint folder, connector jar, then
key=value settings.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyflink.common import Configuration  # type: ignore[import-not-found]
from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

SETTINGS = {
    "parallelism.default": "2",
    "taskmanager.numberOfTaskSlots": "2",
    "state.backend.type": "hashmap",
    "execution.checkpointing.interval": "30 s",
    "execution.checkpointing.storage": "filesystem",
    "table.exec.source.idle-timeout": "1 s",
}
"""Checkpoints as often as Kafka Streams commits by default; users that do not change do not hold back a join."""

INPUT = """
  'connector' = 'kafka', 'properties.bootstrap.servers' = '{brokers}', 'topic' = '{topic}',
  'properties.group.id' = 'in-{output}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json'"""

UPSERTS = """
  'connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '{brokers}', 'topic' = '{topic}',
  'key.format' = 'raw', 'value.format' = 'json'"""

APPENDS = """
  'connector' = 'kafka', 'properties.bootstrap.servers' = '{brokers}', 'topic' = '{topic}',
  'key.format' = 'raw', 'value.format' = 'json', 'properties.linger.ms' = '0', 'key.fields' = """

CLICKS = f"""
CREATE TABLE clicks (event_time BIGINT, device_id STRING, url STRING, ip STRING, userid STRING, serial BIGINT,
  et AS TO_TIMESTAMP_LTZ(event_time, 3), WATERMARK FOR et AS et) WITH ({INPUT})"""

USERS = f"""
CREATE TABLE users (registertime BIGINT, userid STRING, region STRING, PRIMARY KEY (userid) NOT ENFORCED,
  et AS TO_TIMESTAMP_LTZ(registertime, 3), WATERMARK FOR et AS et) WITH ({UPSERTS},
  'properties.group.id' = 'users-{{output}}')"""

ORDERS = f"""
CREATE TABLE orders (ordered_at BIGINT, orderid STRING, amount DOUBLE,
  et AS TO_TIMESTAMP_LTZ(ordered_at, 3), WATERMARK FOR et AS et) WITH ({INPUT})"""

PAYMENTS = f"""
CREATE TABLE payments (paid_at BIGINT, orderid STRING, `method` STRING,
  et AS TO_TIMESTAMP_LTZ(paid_at, 3), WATERMARK FOR et AS et) WITH ({INPUT})"""

COUNTED = f"""
CREATE TABLE out_rows ({{key}} STRING, visits BIGINT, PRIMARY KEY ({{key}}) NOT ENFORCED)
WITH ({UPSERTS}, 'properties.linger.ms' = '0')"""

JOINED = """
clicks LEFT JOIN users FOR SYSTEM_TIME AS OF clicks.et AS u ON clicks.userid = u.userid"""

JOBS = {
    "count": (
        [CLICKS.replace(", WATERMARK FOR et AS et", "")],
        COUNTED.replace("{key}", "url"),
        "SELECT url, count(*) FROM clicks GROUP BY url",
    ),
    "enrich": (
        [CLICKS, USERS],
        f"CREATE TABLE out_rows (userid STRING, serial BIGINT, url STRING, region STRING) WITH ({APPENDS}'userid')",
        f"SELECT clicks.userid, serial, url, COALESCE(u.region, 'none') FROM {JOINED}",
    ),
    "regions": (
        [CLICKS, USERS],
        COUNTED.replace("{key}", "region"),
        f"SELECT region, count(*) FROM (SELECT COALESCE(u.region, 'none') AS region FROM {JOINED}) GROUP BY region",
    ),
    "match": (
        [ORDERS, PAYMENTS],
        f"CREATE TABLE out_rows (orderid STRING, amount DOUBLE, `method` STRING) WITH ({APPENDS}'orderid')",
        """SELECT o.orderid, o.amount, p.`method` FROM orders o JOIN payments p ON o.orderid = p.orderid
           AND p.et BETWEEN o.et - INTERVAL '5' MINUTE AND o.et + INTERVAL '5' MINUTE""",
    ),
}
"""By name: the input tables in the order of the topics, the output table, the query."""


def main(job: str, brokers: str, topics: str, output: str, checkpoints: str, jar: str, *settings: str) -> None:
    """Run the query until the process is ended."""
    given = dict(setting.split("=", 1) for setting in settings)
    places = {
        "pipeline.jars": Path(jar).as_uri(),
        "execution.checkpointing.dir": Path(checkpoints).as_uri(),
    }
    configuration = Configuration()
    for key, value in {**SETTINGS, **places, **given}.items():
        configuration.set_string(key, value)
    modes = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration)
    tables = TableEnvironment.create(modes.build())
    inputs, sink, query = JOBS[job]
    for statement, topic in zip([*inputs, sink], [*topics.split(","), output], strict=True):
        tables.execute_sql(statement.format(brokers=brokers, topic=topic, output=output))
    tables.execute_sql(f"INSERT INTO out_rows {query}").wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
