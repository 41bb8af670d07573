"""Visits per url with Flink SQL, in PyFlink's local mini cluster. Runs in a virtual environment of its own.

Arguments: broker list, input topic, output topic, checkpoint folder, connector jar, then key=value settings.
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
}
"""Checkpoints as often as Kafka Streams commits by default; all else is Flink's own default."""

CLICKS = """
CREATE TABLE clicks (event_time BIGINT, device_id STRING, url STRING, ip STRING, userid STRING) WITH (
  'connector' = 'kafka', 'properties.bootstrap.servers' = '{brokers}', 'topic' = '{topic}',
  'properties.group.id' = 'count-{output}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json')
"""

VISITS = """
CREATE TABLE url_visits (url STRING, visits BIGINT, PRIMARY KEY (url) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '{brokers}', 'topic' = '{output}',
  'properties.linger.ms' = '0', 'key.format' = 'raw', 'value.format' = 'json')
"""

COUNT = "INSERT INTO url_visits SELECT url, count(*) AS visits FROM clicks GROUP BY url"


def main(brokers: str, topic: str, output: str, checkpoints: str, jar: str, *settings: str) -> None:
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
    for statement in (CLICKS, VISITS):
        tables.execute_sql(statement.format(brokers=brokers, topic=topic, output=output))
    tables.execute_sql(COUNT).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
