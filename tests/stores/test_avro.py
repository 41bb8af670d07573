"""Avro and the schema registry, without a JVM: bytes <-> rows, schemas <-> columns, and what the registry answers."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings

from millpond.avro_types import UnreadableSchemaError, avro_schema, columns_of
from millpond.errors import MillpondError
from millpond.stores.formats.undecodable import UndecodableError
from millpond.stores.registry import registry_access
from millpond.types import BIGINT, INTEGER, VARCHAR, Column, DataType, MapType
from tests import avro_records as av
from tests.certificates import Authority
from tests.schema_registry import FakeRegistry, fake_registry


@pytest.fixture(scope="module")
def server() -> Iterator[FakeRegistry]:
    with fake_registry() as running:
        yield running


@pytest.fixture
def registry(server: FakeRegistry) -> FakeRegistry:
    server.clear()
    return server


def read(registry: FakeRegistry, columns: tuple[Column, ...], data: bytes) -> tuple[Any, ...]:
    return registry.opened().decoder(columns)(data)


@pytest.mark.parametrize(("schema", "value", "type_", "expected"), av.GOOD, ids=lambda v: str(v)[:40])
def test_a_field_becomes_the_columns_value(
    registry: FakeRegistry, schema: Any, value: Any, type_: DataType, expected: Any
) -> None:
    whole = av.record(("c", schema))
    data = av.written(whole, {"c": value}, registry.add(whole))
    assert read(registry, (Column("c", type_),), data) == (expected,)


@pytest.mark.parametrize(("schema", "value", "type_"), av.BAD, ids=lambda v: str(v)[:40])
def test_a_field_of_another_type_is_a_bad_record_that_names_its_column(
    registry: FakeRegistry, schema: Any, value: Any, type_: DataType
) -> None:
    whole = av.record(("c", schema))
    with pytest.raises(UndecodableError, match="column 'c'"):
        read(registry, (Column("c", type_),), av.written(whole, {"c": value}, registry.add(whole)))


@pytest.mark.parametrize(("schema", "value", "row"), av.EVOLVED)
def test_writers_with_fewer_more_and_other_fields_are_read(
    registry: FakeRegistry, schema: Any, value: Any, row: tuple[Any, ...]
) -> None:
    assert read(registry, av.NOW, av.written(schema, value, registry.add(schema))) == row


@settings(max_examples=25, deadline=None)
@given(table=av.tables)
def test_rows_are_written_as_their_schema_says_and_read_back(server: FakeRegistry, table: Any) -> None:
    columns, rows = table
    schemas = server.opened()
    encode, decode = schemas.encoder("t-value", columns), schemas.decoder(columns)
    schema_id = schemas.register("t-value", columns)
    parsed = fastavro.parse_schema(json.loads(server.schemas[schema_id - 1]))
    for row in rows:
        data = encode(row)
        assert data[:5] == b"\0" + schema_id.to_bytes(4, "big")
        source = io.BytesIO(data[5:])
        independent: Any = fastavro.schemaless_reader(source, parsed, None)
        assert source.read() == b""
        assert [independent[c.name] for c in columns] == list(row)
        assert decode(data) == row


def test_columns_come_back_out_of_the_schema_that_is_made_of_them() -> None:
    columns = (
        Column("id", BIGINT),
        Column("tags", MapType(key=VARCHAR, value=VARCHAR)),
        Column("p", av.POINT),
        Column("d", av.D),
    )
    assert columns_of(json.dumps(avro_schema(columns))) == columns


def test_the_logical_types_of_a_schema_are_columns() -> None:
    schema = av.record(
        ("at", av.logical("long", "timestamp-millis")),
        ("day", av.logical("int", "date")),
        ("colour", ["null", av.ENUM]),
        ("odd", av.logical("string", "date")),
        ("points", {"type": "array", "items": av.INNER}),
    )
    found = {c.name: str(c.type) for c in columns_of(json.dumps(schema))}
    assert found == {
        "at": "TIMESTAMP_LTZ(3)",
        "day": "DATE",
        "colour": "VARCHAR",
        "odd": "VARCHAR",
        "points": "ARRAY<STRUCT<x INTEGER, label VARCHAR>>",
    }


UNREADABLE: list[tuple[Any, str]] = [
    ("string", "not a record"),
    (av.record(("u", ["int", "string"])), "a union of several types"),
    (av.record(("n", "null")), "null has no SQL type"),
    (av.record(("d", av.logical("bytes", "decimal", precision=50, scale=2))), "38 digits"),
    (av.record(("next", ["null", "r"])), "contains itself"),
    ({"type": "nonsense"}, "no Avro schema"),
]


@pytest.mark.parametrize(("schema", "reason"), UNREADABLE, ids=[r for _, r in UNREADABLE])
def test_a_schema_that_stands_for_no_columns_says_why(schema: Any, reason: str) -> None:
    with pytest.raises(UnreadableSchemaError, match=reason):
        columns_of(json.dumps(schema))


@pytest.mark.parametrize("column", [Column("with space", BIGINT), Column("m", MapType(key=INTEGER, value=VARCHAR))])
def test_a_column_without_a_form_in_avro_is_refused(column: Column) -> None:
    with pytest.raises(MillpondError) as caught:
        avro_schema((column,))
    assert caught.value.name == "NO_AVRO_FORM"


def test_a_schema_is_asked_for_once_and_an_unknown_id_is_a_bad_record(registry: FakeRegistry) -> None:
    schema, value, row = av.EVOLVED[0]
    data = av.written(schema, value, registry.add(schema))
    schemas = registry.opened()
    decode = schemas.decoder(av.NOW)
    assert schemas.unknown([data, None, b"x"]) == {1}
    assert [decode(data), decode(data)] == [row, row]
    for _ in range(2):
        with pytest.raises(UndecodableError, match="no schema 99"):
            decode(b"\0\0\0\0\x63" + data[5:])
    assert registry.asked == ["GET /schemas/ids/1", "GET /schemas/ids/99"]
    assert schemas.unknown([data]) == set()


@pytest.mark.parametrize("data", [b"", b"\0\0", b'{"id":1}', b"\0\0\0\0\x01", b"\0\0\0\0\x01\x02\xff"])
def test_stray_bytes_are_a_bad_record(registry: FakeRegistry, data: bytes) -> None:
    registry.add(av.OLD)
    with pytest.raises(UndecodableError):
        read(registry, av.NOW, data)


def test_a_new_schema_has_the_name_of_those_that_its_subject_has(registry: FakeRegistry) -> None:
    theirs = {**av.record(("id", "long")), "name": "shop.Order"}
    registry.add(theirs, "orders-value")
    registry.opened().register("orders-value", (Column("id", BIGINT), Column("note", VARCHAR)))
    assert [json.loads(s)["name"] for s in registry.schemas] == ["shop.Order", "shop.Order"]
    registry.opened().register("a.b-value", (Column("id", BIGINT),))
    assert json.loads(registry.schemas[-1])["name"] == "io.millpond.a_b_value"


def test_a_schema_that_refers_to_others_is_read_with_them_in_it(registry: FakeRegistry) -> None:
    whole, value, row = av.referring(registry)
    assert read(registry, av.REFERRING_COLUMNS, av.written(whole, value, 4)) == row
    assert registry.opened().columns("orders-value") == av.REFERRING_COLUMNS
    del registry.subjects["money"]
    missing = raised(lambda: registry.opened().columns("orders-value"))
    assert missing.name == "SCHEMA_NOT_AVRO"
    assert "version 1 of 'money', which is missing" in str(missing)


def raised(call: Any) -> MillpondError:
    with pytest.raises(MillpondError) as caught:
        call()
    return caught.value


def test_what_the_registry_refuses_has_a_name(registry: FakeRegistry) -> None:
    schemas = registry.opened()
    assert raised(lambda: schemas.columns("nothing-value")).name == "SUBJECT_NOT_FOUND"
    registry.refused.add("t-value")
    refused = raised(lambda: schemas.register("t-value", (Column("id", BIGINT),)))
    assert refused.name == "SCHEMA_REFUSED"
    assert "incompatible" in str(refused)
    registry.status = 503
    assert raised(lambda: schemas.columns("t-value")).name == "REGISTRY_UNREACHABLE"
    away = registry.client(uris="http://u:hush@127.0.0.1:1")
    failed = raised(lambda: away.schema(1))
    assert failed.name == "REGISTRY_UNREACHABLE"
    assert "hush" not in str(failed)


def test_the_login_goes_along_and_never_shows(registry: FakeRegistry) -> None:
    registry.login = "Basic " + base64.b64encode(b"me:hush").decode()
    registry.add('"string"')
    client = registry.client(**{"confluent.username": "me", "confluent.password": "hush"})
    assert client.schema(1) == '"string"'
    assert "hush" not in repr(client.access)
    failed = raised(lambda: registry.client().schema(1))
    assert failed.name == "REGISTRY_LOGIN_FAILED"


def test_the_first_address_that_answers_counts(registry: FakeRegistry) -> None:
    registry.add('"string"')
    client = registry.client(uris=f"127.0.0.1:1, {registry.url}/")
    assert client.access.urls == ("http://127.0.0.1:1", registry.url)
    assert client.schema(1) == '"string"'
    assert registry_access("c", {"uris": "x.cloud", "confluent_cloud.key": "k"}).urls == ("https://x.cloud",)


def test_a_registry_over_tls_needs_an_authority_that_is_trusted() -> None:
    authority = Authority()
    with fake_registry(authority.sign("registry", "localhost", "127.0.0.1")) as secure:
        secure.add('"string"')
        assert secure.client(**{"tls.ca_cert_file": authority.pem}).schema(1) == '"string"'
        failed = raised(lambda: secure.client().schema(1))
    assert failed.name == "REGISTRY_UNREACHABLE"
    assert "certificate" in str(failed)
