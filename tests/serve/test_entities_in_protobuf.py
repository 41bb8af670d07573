"""PRINT ENTITY and INSERT INTO ENTITY over a topic whose schemas are of Protobuf."""

from __future__ import annotations

import pytest

from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError
from millpond.serve.answers import Answer
from millpond.stores.protocol import NewRecord
from tests import protobuf_records as pb
from tests.schema_registry import FakeRegistry
from tests.serve.engine_world import EngineWorld
from tests.serve.test_entities_in_avro import printed, registry, shop

__all__ = ["registry", "shop"]

ORDER = pb.file(("id", 1, "int64"), ("user_name", 2, "string"), ("at", 3, "Timestamp"))
TEXT = '{"id":"5","user_name":"\u00e9","at":"1970-01-01T00:00:01Z"}'
VALUE = b"\x08\x05\x12\x02\xc3\xa9\x1a\x02\x08\x01"


async def test_messages_are_printed_as_protobufs_json_and_what_is_none_as_text(
    shop: EngineWorld, registry: FakeRegistry
) -> None:
    schema_id = registry.add_protobuf(ORDER, "orders-value")
    records = [pb.framed(schema_id, VALUE), pb.framed(schema_id, b"\x07", b"\x02\x02"), pb.framed(schema_id, b"\x08")]
    shop.log.produce("orders", [NewRecord(None, data) for data in records])
    assert await printed(shop, 3) == [[None, TEXT], [None, "\0\0\0\0\1\2\2\7"], [None, "\0\0\0\0\1\0\x08"]]


async def test_nothing_is_asked_for_while_records_are_printed(shop: EngineWorld, registry: FakeRegistry) -> None:
    text = registry.add('syntax = "proto3";')
    registry.kinds[text] = "PROTOBUF"
    other = registry.add("{}")
    registry.kinds[other] = "JSON"
    shop.log.produce("orders", [NewRecord(None, pb.framed(i, b"x", b"")) for i in (text, other, 99)])
    assert await printed(shop, 3) == [[None, "\0\0\0\0\1x"], [None, "\0\0\0\0\2x"], [None, "\0\0\0\0cx"]]
    calls = ["GET /schemas/ids/1", "GET /schemas/ids/1?format=serialized", "GET /schemas/ids/2", "GET /schemas/ids/99"]
    assert sorted(registry.asked) == calls
    schemas = registry.opened()
    assert schemas.printed(pb.framed(99, b"x")) is None
    assert len(registry.asked) == 4


async def test_text_is_written_as_the_first_message_of_the_newest_schema(
    shop: EngineWorld, registry: FakeRegistry
) -> None:
    schema_id = registry.add_protobuf(ORDER, "orders-value")
    await shop.ask(f"INSERT INTO ENTITY orders VALUE('{TEXT}')")
    (record,) = shop.log.read("orders", {0: 0}).poll(10, 0)
    assert record.value == pb.framed(schema_id, VALUE)
    with pytest.raises(MillpondError) as caught:
        await shop.ask("INSERT INTO ENTITY orders VALUE('{\"nope\": 1}')")
    assert caught.value.name == "VALUE_NOT_OF_SCHEMA"
    assert "nope" in str(caught.value)


async def test_text_without_a_required_field_is_refused(shop: EngineWorld, registry: FakeRegistry) -> None:
    registry.add_protobuf(pb.file(("id", 1, "required int64"), syntax="proto2"), "orders-value")
    with pytest.raises(MillpondError, match="id") as caught:
        await shop.ask("INSERT INTO ENTITY orders VALUE('{}')")
    assert caught.value.name == "VALUE_NOT_OF_SCHEMA"


@pytest.mark.parametrize("kind", ["JSON", "AVRO"])
async def test_a_subject_of_another_kind_says_what_is_wrong_with_it(
    shop: EngineWorld, registry: FakeRegistry, kind: str
) -> None:
    schema_id = registry.add('{"type": "string"}', "orders-value")
    if kind == "JSON":
        registry.kinds[schema_id] = "JSON"
    else:
        registry.references[schema_id] = [{"name": "money", "subject": "money", "version": 1}]
    with pytest.raises(MillpondError, match=r"type JSON|'money', which is missing") as caught:
        await shop.ask("INSERT INTO ENTITY orders VALUE('{}')")
    assert caught.value.name == "SCHEMA_NOT_AVRO"


async def test_a_stream_over_the_registry_is_written_and_followed(shop: EngineWorld, registry: FakeRegistry) -> None:
    schema_id = registry.add_protobuf(ORDER, "orders-value")
    await shop.ask("CREATE STREAM orders WITH ('value.format' = 'protobuf')")
    await shop.ask("INSERT INTO orders (id, user_name) VALUES (5, 'a')")
    newer = registry.add_protobuf(pb.file(("id", 1, "int64"), ("user_name", 2, "optional string"), ("n", 9, "int32")))
    records = [pb.framed(newer, b"\x08\x07\x48\x01"), b"rubbish", pb.framed(schema_id, VALUE)]
    shop.log.produce("orders", [NewRecord(None, data) for data in records])
    sql = "SELECT id, user_name FROM orders WITH ('starting.position' = 'earliest') LIMIT 3"
    (subscription,) = await shop.engine.execute(sql, SessionContext())
    assert not isinstance(subscription, Answer)
    assert [tuple(change.row) async for change in subscription.changes()] == [(5, "a"), (7, None), (5, "\u00e9")]
