"""PRINT ENTITY and INSERT INTO ENTITY over a topic whose schemas a registry has."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError
from millpond.serve.answers import Answer
from millpond.stores.protocol import NewRecord
from tests import avro_records as av
from tests.schema_registry import FakeRegistry, fake_registry
from tests.serve.engine_world import EngineWorld

ORDER = av.record(
    ("id", "long"),
    ("price", ["null", av.logical("bytes", "decimal", precision=9, scale=2)]),
    ("at", av.logical("long", "timestamp-millis")),
    ("colour", av.ENUM),
    ("lines", {"type": "array", "items": av.INNER}),
)
TEXT = (
    '{"id":1,"price":2.50,"at":"2024-02-29 00:00:00Z","colour":"red","lines":[{"x":1,"label":"\u00e9"}]}'  # as printed
)
VALUE = {
    "id": 1,
    "price": Decimal("2.50"),
    "at": datetime(2024, 2, 29, tzinfo=UTC),
    "colour": "red",
    "lines": [{"x": 1, "label": "\u00e9"}],
}


@pytest.fixture
def registry(world: EngineWorld) -> Iterator[FakeRegistry]:
    with fake_registry() as running:
        yield running
        world.connections.close()


@pytest.fixture
async def shop(world: EngineWorld, registry: FakeRegistry) -> EngineWorld:
    await world.ask(f"CREATE SCHEMA_REGISTRY sr WITH ('type' = CONFLUENT, 'uris' = '{registry.url}')")
    await world.ask("UPDATE STORE kafka WITH ('schema_registry.name' = 'sr')")
    world.log.create("orders", partitions=1)
    return world


async def printed(world: EngineWorld, records: int) -> list[Sequence[Any]]:
    sql = f"PRINT ENTITY orders WITH ('from_beginning') LIMIT {records}"
    (subscription,) = await world.engine.execute(sql, SessionContext())
    assert not isinstance(subscription, Answer)
    return [list(change.row)[:2] async for change in subscription.changes()]


async def test_what_the_registry_knows_is_printed_as_json_and_the_rest_as_text(
    shop: EngineWorld, registry: FakeRegistry
) -> None:
    union = av.record(("u", ["null", "long", "string"]), ("more", ["null", "r"]))
    records = [
        NewRecord(av.written("string", "k\n", registry.add('"string"')), av.written(ORDER, VALUE, registry.add(ORDER))),
        NewRecord(None, av.written(union, {"u": "x", "more": {"u": 1, "more": None}}, registry.add(union))),
        NewRecord(b"\0\0\0\0\0\0\0\1", b'{"plain": 1}'),
        NewRecord(b"\0\0\0\0\1\xff", None),
        NewRecord(None, b"\0\0\0\0\x63abc"),
    ]
    shop.log.produce("orders", records)
    assert await printed(shop, 5) == [
        ['"k\\n"', TEXT],
        [None, '{"u":"x","more":{"u":1,"more":null}}'],
        ["\0\0\0\0\0\0\0\1", '{"plain": 1}'],
        ["\0\0\0\0\1\ufffd", None],
        [None, "\0\0\0\0cabc"],
    ]
    assert registry.asked.count("GET /schemas/ids/1") == 1


async def test_text_is_written_by_the_newest_schema_of_the_topic(shop: EngineWorld, registry: FakeRegistry) -> None:
    registry.add(av.OLD, "orders-value")
    schema_id = registry.add(ORDER, "orders-value")
    key_id = registry.add('"string"', "orders-key")
    await shop.ask(f"INSERT INTO ENTITY orders VALUE('{TEXT}') WITH ('key' = 'k1')")
    (record,) = shop.log.read("orders", {0: 0}).poll(10, 0)
    assert record.key == b"\0" + key_id.to_bytes(4, "big") + b"\4k1"
    assert record.value is not None
    assert record.value[:5] == b"\0" + schema_id.to_bytes(4, "big")
    assert fastavro.schemaless_reader(io.BytesIO(record.value[5:]), fastavro.parse_schema(ORDER), None) == VALUE
    assert await printed(shop, 1) == [['"k1"', TEXT]]


async def test_a_topic_without_a_schema_takes_the_text_as_it_is(shop: EngineWorld) -> None:
    await shop.ask("INSERT INTO ENTITY orders VALUE('[1') WITH ('key' = 'k1')")
    (record,) = shop.log.read("orders", {0: 0}).poll(10, 0)
    assert (record.key, record.value) == (b"k1", b"[1")


@pytest.mark.parametrize(
    ("schema", "text", "error", "reason"),
    [
        (ORDER, '{"id":1}', "VALUE_NOT_OF_SCHEMA", "at"),
        (ORDER, "[1]", "VALUE_NOT_OF_SCHEMA", "not a JSON object"),
        (ORDER, TEXT.replace("red", "blue"), "VALUE_NOT_OF_SCHEMA", "colour"),
        (ORDER, TEXT.replace('"id":1', '"id":"x"'), "VALUE_NOT_OF_SCHEMA", "'x' is not a BIGINT"),
        (av.record(("u", ["int", "string"])), '{"u":1}', "SCHEMA_NOT_READABLE", "field u: a union of several types"),
    ],
)
async def test_text_that_is_not_of_the_schema_is_refused_and_not_written(
    shop: EngineWorld, registry: FakeRegistry, schema: Any, text: str, error: str, reason: str
) -> None:
    registry.add(schema, "orders-value")
    with pytest.raises(MillpondError) as caught:
        await shop.ask(f"INSERT INTO ENTITY orders VALUE('{text}')")
    assert caught.value.name == error
    assert reason in str(caught.value)
    assert shop.log.end_offsets("orders") == {0: 0}


async def test_a_registry_that_is_away_ends_the_printing_with_a_named_error(
    shop: EngineWorld, registry: FakeRegistry
) -> None:
    shop.log.produce("orders", [NewRecord(None, av.written(ORDER, VALUE, registry.add(ORDER)))])
    registry.status = 503
    with pytest.raises(MillpondError) as caught:
        await printed(shop, 1)
    assert caught.value.name == "REGISTRY_UNREACHABLE"
