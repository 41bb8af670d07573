"""Statements about stores, entities, registries, run by a whole engine on logs in memory."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError
from millpond.serve.answers import Answer
from millpond.stores.protocol import NewRecord
from tests import protobuf_records as pb
from tests.serve.engine_world import EngineWorld

SECRET = "hush-hush-42"
STORE = (
    "CREATE STORE s WITH ('type' = KAFKA, 'uris' = 'a:1', 'kafka.sasl.hash_function' = SHA256,"
    f" 'kafka.sasl.username' = 'ann', 'kafka.sasl.password' = '{SECRET}')"
)
UNREACHABLE = MillpondError("STORE_LOGIN_FAILED", store="a:1", reason="a test")


async def error_of(world: EngineWorld, sql: str) -> MillpondError:
    with pytest.raises(MillpondError) as caught:
        await world.ask(sql)
    return caught.value


def kept(world: EngineWorld, name: str = "s") -> tuple[dict[str, str], dict[str, str]]:
    store = world.catalog.store(name)
    assert store is not None
    return dict(store.properties), dict(world.catalog.store_secrets(name))


async def test_a_store_is_tried_out_and_then_kept(world: EngineWorld) -> None:
    answer = await world.ask(STORE)
    assert answer.rows == [("store", "s", "CREATE STORE", "store 's' was created", '["s"]')]
    assert answer.statement == "CREATE_STORE"
    properties, secrets = kept(world)
    assert world.connections.checked == [("KAFKA", {**properties, **secrets})]
    assert secrets == {"kafka.sasl.password": SECRET}


async def test_nothing_is_kept_of_a_store_that_does_not_answer(world: EngineWorld) -> None:
    world.connections.fault = UNREACHABLE
    assert (await error_of(world, STORE)).name == "STORE_LOGIN_FAILED"
    assert world.catalog.store("s") is None


async def test_an_update_is_tried_out_with_the_secrets_that_stay(world: EngineWorld) -> None:
    await world.ask(STORE)
    await world.ask("UPDATE STORE s WITH ('uris' = 'b:1')")
    assert world.views.changed_stores == ["s"], "its views are followed there from now on"
    assert world.connections.checked[-1][1]["kafka.sasl.password"] == SECRET
    before = kept(world)
    assert before[0]["uris"] == "b:1"
    world.connections.fault = UNREACHABLE
    assert (await error_of(world, "UPDATE STORE s WITH ('kafka.sasl.password' = 'x')")).name == "STORE_LOGIN_FAILED"
    assert kept(world) == before
    world.connections.fault = None
    found = await error_of(world, "UPDATE STORE s WITH ('kafka.sasl.hash_function' = OAUTHBEARER)")
    assert found.name == "MISSING_PROPERTY"


async def test_a_store_in_use_is_not_dropped(world: EngineWorld) -> None:
    await world.ask(STORE)
    await world.ask("CREATE STREAM there (url VARCHAR) WITH ('store' = 's', 'value.format' = 'json')")
    assert (await error_of(world, "DROP STORE s")).name == "DEPENDENTS_EXIST"
    await world.ask("DROP STREAM there; DROP STORE s")
    assert world.catalog.store("s") is None
    assert (await error_of(world, "DESCRIBE STORE s")).sqlstate == "3D006"
    assert (await error_of(world, "DROP STORE kafka")).name == "DEPENDENTS_EXIST"


async def test_the_answers_about_a_store_have_the_shapes_that_clients_read(world: EngineWorld) -> None:
    await world.ask(STORE)
    described = await world.ask('DESCRIBE STORE "s"')
    assert len(described.columns) == 7
    ((metadata, uri, details, tls, verify, registry, path),) = described.rows
    assert json.loads(metadata)["type"] == "KAFKA"
    assert (uri, tls, verify, registry, path) == ("a:1", True, True, None, '["s"]')
    assert json.loads(details)["kafka.sasl.username"] == "ann"
    listed = await world.ask("LIST STORES")
    assert [c.name for c in listed.columns] == [
        *("Name", "Type", "State", "Message", "IsDefault", "Owner", "CreatedAt", "UpdatedAt", "Path")
    ]
    assert [(row[0], row[1], row[4]) for row in listed.rows] == [("kafka", "KAFKA", True), ("s", "KAFKA", False)]


async def test_an_entity_is_made_changed_shown_and_dropped(world: EngineWorld) -> None:
    await world.ask("CREATE ENTITY \"Orders\" WITH ('topic.partitions' = 2, 'kafka.topic.retention.ms' = 5)")
    found = world.log.describe("Orders")
    assert (found.partitions, found.config["retention.ms"]) == (2, "5")
    await world.ask("UPDATE ENTITY \"Orders\" WITH ('topic.partitions' = 3, 'kafka.topic.retention.ms' = 6)")
    described = await world.ask('DESCRIBE ENTITY "Orders" IN STORE "kafka"')
    assert len(described.columns) == 7
    assert described.rows[0][:6] == ("Orders", "kafka", 3, 1, None, None)
    assert json.loads(described.rows[0][6]) == {"retention.ms": "6"}
    assert await world.rows("LIST TOPICS IN STORE kafka") == [("Orders", True), ("clicks", True)]
    await world.ask("INSERT INTO ENTITY \"Orders\" VALUE('{\"a\": 1}') WITH ('key' = 'k')")
    assert sum(world.log.end_offsets("Orders").values()) == 1
    await world.ask('DROP ENTITY "Orders"')
    assert world.log.topics() == ["clicks"]
    assert (await error_of(world, 'DESCRIBE ENTITY "Orders"')).sqlstate == "3D008"
    assert (await error_of(world, "DROP ENTITY clicks")).name == "DEPENDENTS_EXIST"


async def test_printed_records_come_with_their_headers(world: EngineWorld) -> None:
    letter = (("mp.reason", b"not JSON"), ("mp.offset", b"4"), ("tag", b"a"), ("tag", None))
    world.log.produce("clicks", [NewRecord(b"k", b"v"), NewRecord(None, b"\xff", letter)])
    (printed,) = await world.engine.execute("PRINT ENTITY clicks WITH ('from_beginning') LIMIT 2", SessionContext())
    assert not isinstance(printed, Answer)
    assert [c.name for c in printed.columns] == ["key", "value", "headers"]
    plain, dead = [change.row async for change in printed.changes()]
    assert plain == ("k", "v", None)
    assert dead[:2] == (None, "\ufffd")
    assert json.loads(dead[2]) == {"mp.reason": "not JSON", "mp.offset": "4", "tag": ["a", None]}


async def test_an_entity_of_kinesis_has_shards(world: EngineWorld) -> None:
    await world.ask("CREATE STORE k WITH ('type' = KINESIS, 'access_region' = \"AWS us-east-1\")")
    context = SessionContext(store="k")
    await world.ask("CREATE ENTITY e WITH ('topic.shards' = 2)", context)
    described = await world.ask("DESCRIBE ENTITY e", context)
    assert [c.name for c in described.columns] == ["Name", "Shards", "Descriptor"]
    assert described.rows == [("e", 2, None)]
    assert await world.rows("LIST REGIONS") == [("AWS us-east-1", "AWS", "us-east-1")]


async def test_a_registry_is_kept_attached_and_let_go(world: EngineWorld) -> None:
    await world.ask(
        "CREATE SCHEMA_REGISTRY sr WITH ('type' = CONFLUENT, 'uris' = 'http://h:8081', 'confluent.username' = 'ann',"
        f" 'confluent.password' = '{SECRET}')"
    )
    registry = world.catalog.schema_registry("sr")
    assert registry is not None
    assert registry.properties == {"uris": "http://h:8081", "confluent.username": "ann"}
    assert world.catalog.registry_secrets("sr") == {"confluent.password": SECRET}
    await world.ask("UPDATE SCHEMA_REGISTRY sr WITH ('uris' = 'http://i:8081')")
    assert world.catalog.registry_secrets("sr") == {"confluent.password": SECRET}
    assert (await world.rows("LIST SCHEMA_REGISTRIES"))[0][:3] == ("sr", "CONFLUENT", "ready")
    assert (await world.rows("DESCRIBE SCHEMA_REGISTRY sr"))[0][3] == "http://i:8081"
    assert await world.rows('SELECT name, type FROM deltastream.sys."schema_registries"') == [("sr", "Confluent")]
    await world.ask("UPDATE STORE kafka WITH ('schema_registry.name' = \"sr\")")
    assert (await world.ask("DESCRIBE STORE kafka")).rows[0][5] == "sr"
    assert (await error_of(world, "DROP SCHEMA_REGISTRY sr")).name == "DEPENDENTS_EXIST"


async def test_a_descriptor_source_is_its_file(world: EngineWorld) -> None:
    content = pb.serialized([pb.file(("id", 1, "int64"))])
    files = {"shop.desc": content}
    await world.ask("CREATE DESCRIPTOR_SOURCE d WITH ('file' = '@build/shop.desc')", attachments=files)
    assert world.catalog.descriptor_file("d") == content
    assert await world.rows("LIST DESCRIPTOR_SOURCES") == [("d", "protobuf", "shop.desc", None)]
    await world.ask("DESCRIBE DESCRIPTOR_SOURCE d; DROP DESCRIPTOR_SOURCE d")
    assert await world.rows("LIST DESCRIPTOR_SOURCES") == []
    refused = {"bad.desc": b"\x00\xff"}
    with pytest.raises(MillpondError) as caught:
        await world.ask("CREATE DESCRIPTOR_SOURCE d WITH ('file' = '@bad.desc')", attachments=refused)
    assert caught.value.name == "BAD_DESCRIPTOR_FILE"


async def test_a_relations_message_is_found_in_the_sources_and_keeps_its_source(world: EngineWorld) -> None:
    shop, other = pb.file(("id", 1, "int64"), ("item", 2, "string")), pb.file(("id", 1, "int64"))
    files = {"shop.desc": pb.serialized([shop]), "other.desc": pb.serialized([other])}
    await world.ask("CREATE DESCRIPTOR_SOURCE d WITH ('file' = '@shop.desc')", attachments=files)
    assert await world.rows("LIST DESCRIPTORS") == [("shop.Point", "d"), ("shop.Row", "d")]
    await world.ask("CREATE STREAM s WITH ('value.format' = 'protobuf', 'value.descriptor.name' = 'Row')")
    assert await world.rows("LIST COLUMNS FROM s") == [("id", "BIGINT", True), ("item", "VARCHAR", True)]
    await world.ask("CREATE DESCRIPTOR_SOURCE e WITH ('file' = '@other.desc')", attachments=files)
    make = "CREATE STREAM t (id BIGINT) WITH ('value.format' = 'protobuf', 'value.descriptor.name' = "
    assert (await error_of(world, make + "'shop.Row')")).name == "AMBIGUOUS_DESCRIPTOR"
    assert (await error_of(world, make + "'shop.Roe')")).name == "DESCRIPTOR_NOT_FOUND"
    await world.ask(make + "'e.shop.Row')")
    used = await error_of(world, "DROP DESCRIPTOR_SOURCE d")
    assert used.name == "DEPENDENTS_EXIST"
    assert "stream 's'" in str(used)
    await world.ask("DROP STREAM t; DROP DESCRIPTOR_SOURCE e")
    await world.ask("INSERT INTO s VALUES (5, 'a'), (0, NULL)")
    written = world.log.read("s", {0: 0}).poll(10, 1.0)
    assert [r.value for r in written] == [b"\x08\x05\x12\x01a", b""]


async def test_an_entitys_message_is_that_of_the_relations_on_it(world: EngineWorld) -> None:
    files = {"shop.desc": pb.serialized([pb.file(("id", 1, "int64"))])}
    await world.ask("CREATE DESCRIPTOR_SOURCE d WITH ('file' = '@shop.desc')", attachments=files)
    await world.ask("CREATE ENTITY orders WITH ('topic.partitions' = 2, 'value.descriptor.name' = 'Row')")
    await world.ask("UPDATE ENTITY orders WITH ('key.descriptor.name' = 'shop.Point')")
    assert (await world.rows("DESCRIBE ENTITY orders"))[0][2:6] == (2, 1, "shop.Point", "shop.Row")
    await world.ask("CREATE STREAM orders WITH ('value.format' = 'protobuf')")
    assert world.relation("orders").descriptor("value") == ("d", "shop.Row")
    assert world.relation("orders").descriptor("key") is None
    await world.ask("CREATE ENTITY other WITH ('value.descriptor.name' = 'shop.Row')")
    await world.ask("CREATE STREAM copy WITH ('topic' = 'other') AS SELECT id FROM orders")
    assert world.relation("copy").descriptor("value") == ("d", "shop.Row")
    await world.ask(f"TERMINATE QUERY {world.catalog.queries()[0].id}; DROP STREAM copy")
    await world.ask("UPDATE ENTITY orders WITH ('key.descriptor.name' = '')")
    assert (await world.rows("DESCRIBE ENTITY orders"))[0][4:6] == (None, "shop.Row")
    await world.ask("DROP ENTITY other; CREATE ENTITY other")
    assert (await world.rows("DESCRIBE ENTITY other"))[0][4:6] == (None, None)


async def test_a_descriptor_source_stays_while_an_entity_is_of_its_messages(world: EngineWorld) -> None:
    files = {"shop.desc": pb.serialized([pb.file(("id", 1, "int64"))])}
    await world.ask("CREATE DESCRIPTOR_SOURCE d WITH ('file' = '@shop.desc')", attachments=files)
    await world.ask("CREATE ENTITY orders WITH ('value.descriptor.name' = 'Row')")
    used = await error_of(world, "DROP DESCRIPTOR_SOURCE d")
    assert used.name == "DEPENDENTS_EXIST"
    first = used.hint.partition("In this order: ")[2]
    await world.ask(first)
    await world.ask("DROP DESCRIPTOR_SOURCE d")


async def test_the_descriptor_of_an_entity_that_is_gone_can_be_taken_away(world: EngineWorld) -> None:
    files = {"shop.desc": pb.serialized([pb.file(("id", 1, "int64"))])}
    await world.ask("CREATE DESCRIPTOR_SOURCE d WITH ('file' = '@shop.desc')", attachments=files)
    await world.ask("CREATE ENTITY orders WITH ('value.descriptor.name' = 'Row')")
    world.log.delete("orders")
    assert (await error_of(world, "DROP DESCRIPTOR_SOURCE d")).name == "DEPENDENTS_EXIST"
    assert (await error_of(world, "UPDATE ENTITY other WITH ('value.descriptor.name' = '')")).name == "ENTITY_NOT_FOUND"
    await world.ask("UPDATE ENTITY orders WITH ('value.descriptor.name' = '')")
    await world.ask("DROP DESCRIPTOR_SOURCE d")


SHOWING = [
    "LIST STORES",
    "DESCRIBE STORE s",
    "DESCRIBE SCHEMA_REGISTRY sr",
    "LIST SCHEMA_REGISTRIES",
    'SELECT * FROM deltastream.sys."stores"',
    'SELECT * FROM deltastream.sys."schema_registries"',
    'SELECT * FROM deltastream.sys."secrets"',
    "EXPLAIN " + STORE.replace("STORE s", "STORE t"),
    "DESCRIBE " + STORE.replace("STORE s", "STORE t"),
    f"EXPLAIN UPDATE STORE s WITH ('kafka.sasl.password' = '{SECRET}')",
]
FAILING = [
    STORE,
    STORE.replace("STORE s", "STORE t").replace("'uris'", "'urls'"),
    STORE.replace("STORE s", "STORE t").replace(")", ", )"),
    STORE.replace("STORE s", "STORE t").replace("SHA256", "MD5"),
    STORE.replace("STORE s", "STORE t").replace(f"'{SECRET}')", f"'{SECRET}"),
    f"UPDATE STORE nobody WITH ('kafka.sasl.password' = '{SECRET}')",
    f"UPDATE STORE s WITH ('kafka.sasl.password' = '{SECRET}', 'x' = 1)",
]


async def test_a_secret_is_shown_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    world = EngineWorld(tmp_path, Catalog.open(tmp_path / "catalog"))
    registry = STORE.replace("STORE s", "SCHEMA_REGISTRY sr").replace("KAFKA", "CONFLUENT")
    registry = registry.replace("'kafka.sasl.hash_function' = SHA256, ", "").replace("kafka.sasl", "confluent")
    try:
        await world.ask(f"{STORE}; {registry}")
        shown = [str((await world.ask(sql)).rows) for sql in SHOWING]
        shown += [str(await error_of(world, sql)) for sql in FAILING]
        world.connections.fault = UNREACHABLE
        shown.append(str(await error_of(world, f"UPDATE STORE s WITH ('kafka.sasl.password' = '{SECRET}')")))
        assert len(shown) == len(SHOWING) + len(FAILING) + 1
        assert [text for text in shown if SECRET in text] == []
        assert SECRET not in caplog.text
        assert SECRET not in repr(world.catalog.store_secrets("s"))
    finally:
        await world.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name.startswith("catalog.db") for path in files)
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


async def test_lost_secrets_are_given_anew_with_an_update(tmp_path: Path) -> None:
    folder = tmp_path / "catalog"
    world = EngineWorld(tmp_path, Catalog.open(folder))
    await world.ask(STORE)
    await world.close()
    (folder / "secret.key").unlink()
    again = Catalog.open(folder)
    again.drop_store("kafka")
    world = EngineWorld(tmp_path / "second", again)
    try:
        with pytest.raises(MillpondError) as caught:
            again.store_secrets("s")
        assert caught.value.name == "SECRETS_UNREADABLE" and "UPDATE" in caught.value.hint
        await world.ask("UPDATE STORE s WITH ('kafka.sasl.password' = 'new')")
        assert again.store_secrets("s") == {"kafka.sasl.password": "new"}
    finally:
        await world.close()
