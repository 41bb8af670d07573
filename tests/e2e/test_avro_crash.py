"""kill -9 with Avro in and out: after the restart nothing is missing, nothing is there twice, and fastavro agrees."""

from __future__ import annotations

import io
import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import fastavro
import pytest

from tests import avro_records as av
from tests.e2e.server_process import ServerProcess
from tests.kafka_records import Record, read, write
from tests.schema_registry import FakeRegistry, fake_registry
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(600)]

Order: TypeAlias = tuple[int, str, Decimal]
PRICE = av.logical("bytes", "decimal", precision=9, scale=2)
BEFORE = av.record(("id", "long"), ("buyer", "string"), ("price", PRICE))
AFTER = av.record(("price", PRICE), ("note", ["null", "string"]), ("buyer", ["null", "string"]), ("id", "int"))
"""What writers use from the first restart on."""
STATEMENTS = """
CREATE STREAM orders WITH ('topic' = 'orders', 'store' = 'avro', 'value.format' = 'avro', 'topic.partitions' = 2);
CREATE STREAM passed WITH ('store' = 'avro', 'key.format' = 'avro', 'key.columns' = 'id')
  AS SELECT id, buyer, price FROM orders WHERE price > 0;
CREATE CHANGELOG totals WITH ('store' = 'avro', 'key.format' = 'avro', 'value.columns.exclude' = 'buyer')
  AS SELECT buyer, COUNT(*) AS n, SUM(price) AS paid FROM orders GROUP BY buyer
"""
AGAIN = """
CREATE CHANGELOG again WITH ('topic' = 'totals', 'store' = 'avro', 'value.format' = 'avro', 'key.format' = 'avro');
CREATE MATERIALIZED VIEW shown AS SELECT buyer, n FROM again
"""


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with fake_registry() as running:
        yield running


def make_orders(count: int) -> list[Order]:
    return [(n, f"b{n * n % 23}", Decimal(n % 7).scaleb(-2)) for n in range(count)]


def send(kafka: str, schema: Any, schema_id: int, orders: Sequence[Order]) -> None:
    for partition in (0, 1):
        rows = ({"id": i, "buyer": b, "price": p, "note": None} for i, b, p in orders if i % 2 == partition)
        write(kafka, "orders", (Record(av.written(schema, row, schema_id), partition=partition) for row in rows))


def independent(registry: FakeRegistry, data: bytes | None) -> dict[str, Any]:
    """A framed record, read by fastavro alone."""
    assert data is not None
    schema = json.loads(registry.schemas[int.from_bytes(data[1:5], "big") - 1])
    found: Any = fastavro.schemaless_reader(io.BytesIO(data[5:]), fastavro.parse_schema(schema), None)
    return dict(found)


def records(kafka: str, topic: str) -> list[Record]:
    return [*read(kafka, topic, 0), *read(kafka, topic, 1)]


def passed(kafka: str, registry: FakeRegistry) -> Counter[Order]:
    """How often each order is in the stream's topic."""
    found = []
    for record in records(kafka, "passed"):
        row = independent(registry, record.value)
        assert independent(registry, record.key) == {"id": row["id"]}
        found.append((row["id"], row["buyer"], row["price"]))
    return Counter(found)


def totals(kafka: str, registry: FakeRegistry) -> dict[str, tuple[int, Decimal]]:
    """The last record of each key counts."""
    found = {}
    for record in records(kafka, "totals"):
        row = independent(registry, record.value)
        assert set(row) == {"n", "paid"}
        found[independent(registry, record.key)["buyer"]] = (row["n"], row["paid"])
    return found


def recount(orders: Sequence[Order]) -> dict[str, tuple[int, Decimal]]:
    counts = Counter(buyer for _, buyer, _ in orders)
    return {b: (n, sum((p for _, buyer, p in orders if buyer == b), Decimal("0.00"))) for b, n in counts.items()}


def check(server: ServerProcess, registry: FakeRegistry, orders: Sequence[Order]) -> None:
    eventually(lambda: passed(server.kafka, registry), Counter(o for o in orders if o[2] > 0), 120)
    eventually(lambda: totals(server.kafka, registry), recount(orders), 120)


def test_avro_in_and_out_survives_kill_9(own_server: ServerProcess, registry: FakeRegistry) -> None:
    server = own_server.start()
    before = registry.add(BEFORE, "orders-value")
    server.sql(f"CREATE SCHEMA_REGISTRY sr WITH ('type' = CONFLUENT, 'uris' = '{registry.url}')")
    server.sql(f"CREATE STORE avro WITH ('type' = KAFKA, 'uris' = '{server.kafka}', 'schema_registry.name' = 'sr')")
    server.sql(STATEMENTS)
    orders = make_orders(3_000)
    send(server.kafka, BEFORE, before, orders[:1_000])
    check(server, registry, orders[:1_000])
    sender = threading.Thread(target=send, args=(server.kafka, BEFORE, before, orders[1_000:1_500]))
    sender.start()
    eventually(lambda: len(records(server.kafka, "passed")) > 900, True, 60)
    sender.join()
    server.kill()
    server.start()
    after = registry.add(AFTER, "orders-value")
    send(server.kafka, AFTER, after, orders[1_500:2_500])
    server.kill()
    server.start()
    send(server.kafka, AFTER, after, orders[2_500:])
    check(server, registry, orders)
    server.sql(AGAIN)
    counts = sorted((buyer, n) for buyer, (n, _) in recount(orders).items())
    server.wait_for("SELECT buyer, n FROM shown ORDER BY buyer", [[buyer, str(n)] for buyer, n in counts])
