"""Avro on a real broker: JSON -> Avro -> JSON through two queries, with a schema registry that comes and goes."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest

from tests import avro_records as av
from tests.e2e.server_process import ServerProcess
from tests.kafka_records import Record, read, write
from tests.schema_registry import FakeRegistry, fake_registry
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(600)]


@pytest.fixture
def registry(server: ServerProcess) -> Iterator[FakeRegistry]:
    """A registry of the test's own, and a store `avro` over the server's broker that is attached to it."""
    with fake_registry() as running:
        running.login = "Basic bWU6aHVzaA=="
        server.sql(
            f"CREATE SCHEMA_REGISTRY sr WITH ('type' = CONFLUENT, 'uris' = '{running.url}', "
            "'confluent.username' = 'me', 'confluent.password' = 'hush')"
        )
        server.sql(f"CREATE STORE avro WITH ('type' = KAFKA, 'uris' = '{server.kafka}', 'schema_registry.name' = 'sr')")
        yield running


def values(server: ServerProcess, topic: str) -> list[bytes]:
    return sorted(r.value or b"" for r in read(server.kafka, topic))


def test_json_becomes_avro_and_avro_becomes_json_and_a_registry_that_is_away_loses_nothing(
    server: ServerProcess, database: str, registry: FakeRegistry
) -> None:
    name = uuid.uuid4().hex[:8]
    given, framed, plain = f"given_{name}", f"framed_{name}", f"plain_{name}"
    server.sql(
        f"CREATE STREAM {given} (id BIGINT, price DECIMAL(9, 2), tags ARRAY<VARCHAR>) WITH ('store' = 'avro', "
        f"'value.format' = 'json', 'topic.partitions' = 1)",
        database=database,
    )
    server.sql(
        f"CREATE STREAM {framed} WITH ('value.format' = 'avro', 'key.format' = 'avro', 'key.columns' = 'id', "
        f"'store' = 'avro', 'starting.position' = 'earliest') AS SELECT * FROM {given}",
        database=database,
    )
    rows = [{"id": n, "price": f"{n}.50", "tags": ["a", None]} for n in range(20)]
    write(server.kafka, given, [Record(json.dumps(row).encode()) for row in rows])
    eventually(lambda: len(read(server.kafka, framed)), 20, 90)
    assert set(registry.subjects) == {f"{framed}-value", f"{framed}-key"}
    independent = []
    for record in read(server.kafka, framed):
        assert record.value is not None
        schema = json.loads(registry.schemas[int.from_bytes(record.value[1:5], "big") - 1])
        row: Any = fastavro.schemaless_reader(io.BytesIO(record.value[5:]), fastavro.parse_schema(schema), None)
        independent.append({**row, "price": str(row["price"])})
    assert sorted(independent, key=lambda r: int(r["id"])) == rows

    # Columns come out of the registry; the copy is read by Spark, a push query by the server itself.
    server.sql(
        f"CREATE STREAM copy WITH ('topic' = '{framed}', 'store' = 'avro', 'value.format' = 'avro')", database=database
    )
    server.sql(
        f"CREATE STREAM {plain} WITH ('value.format' = 'json', 'store' = 'avro', 'starting.position' = 'earliest') "
        "AS SELECT id, price, tags FROM copy",
        database=database,
    )
    wanted = sorted(f'{{"id":{n},"price":{n}.50,"tags":["a",null]}}'.encode() for n in range(20))
    eventually(lambda: values(server, plain), wanted, 90)

    # A writer with a newer schema, which the registry cannot give at first: the record waits for it.
    newer = av.record(("more", "string"), ("id", "int"))
    schema_id = registry.add(newer, f"{framed}-value")
    registry.status = 503
    write(server.kafka, framed, [Record(av.written(newer, {"more": "x", "id": 77}, schema_id))])
    eventually(lambda: [a for a in registry.asked if a.endswith(f"/ids/{schema_id}")], bool, 60)
    registry.status = None
    eventually(lambda: values(server, plain), sorted([*wanted, b'{"id":77,"price":null,"tags":null}']), 90)
    assert "hush" not in server.log

    # The same rows as delimited text, to which INSERT adds another; a second query reads them.
    lines, again = f"lines_{name}", f"again_{name}"
    server.sql(
        f"CREATE STREAM {lines} WITH ('value.format' = 'delimited', 'value.delimiter' = 'TAB', "
        "'key.format' = 'delimited', 'key.columns' = 'price,id', 'store' = 'avro', "
        "'starting.position' = 'earliest') AS SELECT id, price, 'a\"b' AS text FROM copy WHERE id < 3",
        database=database,
    )
    server.sql(f"INSERT INTO {lines} VALUES (7, 1.25, NULL)", database=database)
    server.sql(
        f"CREATE STREAM {again} WITH ('value.format' = 'json', 'store' = 'avro') AS SELECT * FROM {lines}",
        database=database,
    )
    found = [f'{n}\t{n}.50\t"a""b"'.encode() for n in range(3)]
    eventually(lambda: values(server, lines), sorted([*found, b"7\t1.25\t"]), 90)
    assert {r.key for r in read(server.kafka, lines)} == {b"0.50,0", b"1.50,1", b"2.50,2", b"1.25,7"}
    copied = [f'{{"id":{n},"price":{n}.50,"text":"a\\"b"}}'.encode() for n in range(3)]
    eventually(lambda: values(server, again), sorted([*copied, b'{"id":7,"price":1.25,"text":null}']), 90)
