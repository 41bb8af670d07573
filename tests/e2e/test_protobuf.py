"""Protobuf on a real broker: Confluent's serializer -> a view and a stream in Protobuf -> Confluent's deserializer."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from tests import protobuf_records as pb
from tests.e2e.server_process import ServerProcess
from tests.kafka_records import Record, read, write
from tests.schema_registry import FakeRegistry, fake_registry
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(600)]

SETTINGS = {"use.deprecated.format": False}
ORDER = pb.file(("id", 1, "int64"), ("item", 2, "string"), ("at", 3, "Timestamp"), ("tags", 4, "repeated string"))


@pytest.fixture
def registry(server: ServerProcess) -> Iterator[FakeRegistry]:
    """A registry of the test's own, and a store `proto` over the server's broker that is attached to it."""
    with fake_registry() as running:
        server.sql(f"CREATE SCHEMA_REGISTRY protos WITH ('type' = CONFLUENT, 'uris' = '{running.url}')")
        made = f"('type' = KAFKA, 'uris' = '{server.kafka}', 'schema_registry.name' = 'protos')"
        server.sql(f"CREATE STORE proto WITH {made}")
        yield running


def serialized(
    registry: FakeRegistry, topic: str, file: FileDescriptorProto, rows: list[dict[str, Any]]
) -> list[bytes]:
    """The rows as Confluent's own serializer writes them, which registers their schema."""
    made = pb.made_by_protobuf(pb.message(file))
    with SchemaRegistryClient({"url": registry.url}) as client:
        serializer = ProtobufSerializer(made, client, SETTINGS)
        context = SerializationContext(topic, MessageField.VALUE)
        return [serializer(made(**row), context) for row in rows]


def deserialized(registry: FakeRegistry, topic: str, part: str, data: list[bytes]) -> list[Any]:
    """Messages as Confluent's own deserializer reads them, of the schema that the registry has."""
    text = registry.schemas[registry.subjects[f"{topic}-{part}"][-1] - 1]
    file = FileDescriptorProto.FromString(base64.b64decode(text))
    made = pb.made_by_protobuf(pb.message(file, file.message_type[0].name))
    with SchemaRegistryClient({"url": registry.url}) as client:
        deserializer = ProtobufDeserializer(made, SETTINGS, client)
        return [deserializer(each, SerializationContext(topic, part)) for each in data]


def test_confluents_clients_and_our_queries_read_and_write_each_others_protobuf(
    server: ServerProcess, database: str, registry: FakeRegistry
) -> None:
    name = uuid.uuid4().hex[:8]
    given, copied = f"given_{name}", f"copied_{name}"
    rows = [{"id": n, "item": "ab"[n % 2], "tags": ["x"] * (n % 3)} for n in range(20)]
    server.sql(f"CREATE ENTITY {given} IN STORE proto WITH ('topic.partitions' = 1)")
    write(server.kafka, given, [Record(data) for data in serialized(registry, given, ORDER, rows)])

    server.sql(f"CREATE STREAM {given} WITH ('store' = 'proto', 'value.format' = 'protobuf')", database=database)
    columns = [row[:2] for row in server.sql(f"LIST COLUMNS FROM {given}", database=database)]
    wanted = [["id", "BIGINT"], ["item", "VARCHAR"], ["at", "TIMESTAMP_LTZ(6)"], ["tags", "ARRAY<VARCHAR>"]]
    assert columns == wanted
    server.sql(
        f"CREATE MATERIALIZED VIEW per_item WITH ('store' = 'kafka', 'starting.position' = 'earliest') AS "
        f"SELECT item, COUNT(*) AS orders, SUM(id) AS ids FROM {given} GROUP BY item",
        database=database,
    )
    server.sql(
        f"CREATE STREAM {copied} WITH ('store' = 'proto', 'key.format' = 'protobuf', 'key.columns' = 'id', "
        f"'starting.position' = 'earliest') AS SELECT id, item, tags FROM {given}",
        database=database,
    )

    def counted(more: int) -> None:
        expected = [["a", "10", "90"], ["b", str(10 + more), str(100 + 77 * more)]]
        query = f"SELECT item, orders, ids FROM {database}.public.per_item ORDER BY item"
        eventually(lambda: server.rows_when_ready(query), expected, 90)

    counted(0)
    eventually(lambda: len(read(server.kafka, copied)), 20, 90)
    records = read(server.kafka, copied)
    messages = deserialized(registry, copied, "value", [r.value or b"" for r in records])
    assert sorted(({"id": m.id, "item": m.item, "tags": list(m.tags)} for m in messages), key=lambda m: m["id"]) == rows
    keys = deserialized(registry, copied, "key", [r.key or b"" for r in records])
    assert [k.id for k in keys] == [m.id for m in messages]

    # A writer with a newer schema, and bytes that are no message, after which the query goes on.
    newer = pb.file(("id", 1, "int64"), ("item", 2, "string"), ("price", 5, "double"))
    data = serialized(registry, given, newer, [{"id": 77, "item": "b", "price": 1.5}])
    write(server.kafka, given, [Record(b"\0\0\0\0\x01\0\x08"), Record(b"rubbish"), *(Record(d) for d in data)])
    counted(1)
    eventually(lambda: len(read(server.kafka, copied)), 21, 90)
    letters = f"dead-letters.{database}.public.{copied}"
    found = eventually(lambda: read(server.kafka, letters), lambda rows: len(rows) == 2, 60)
    reasons = [dict(r.headers)["mp.reason"] for r in found]
    assert [b"zero byte" in reason for reason in reasons] == [False, True]
