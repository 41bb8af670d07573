"""Protobuf without a JVM: messages <-> rows, files <-> columns, and what a registry and descriptors make of them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from hypothesis import given, settings

from millpond.avro_types import UnreadableSchemaError
from millpond.errors import MillpondError
from millpond.protobuf_files import descriptor_set, new_file, with_columns
from millpond.protobuf_types import Message, columns_of, message_names
from millpond.stores.codecs import Codecs
from millpond.stores.formats.protobuf_reader import protobuf_decoder
from millpond.stores.formats.protobuf_writer import protobuf_encoder
from millpond.stores.formats.records import key_decoder
from millpond.stores.formats.undecodable import UndecodableError
from millpond.stores.protobuf_schemas import ProtobufSchemas
from millpond.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    VARCHAR,
    ArrayType,
    Column,
    DataType,
    Field,
    MapType,
    StructType,
)
from tests import protobuf_records as pb
from tests.catalog.examples import CLICKS
from tests.marked_values import marked
from tests.schema_registry import FakeRegistry, fake_registry


@pytest.fixture(scope="module")
def server() -> Iterator[FakeRegistry]:
    with fake_registry() as running:
        yield running


@pytest.fixture
def registry(server: FakeRegistry) -> FakeRegistry:
    server.clear()
    return server


def opened(registry: FakeRegistry) -> ProtobufSchemas:
    return registry.opened().protobuf


def read(file: FileDescriptorProto, columns: tuple[Column, ...], data: bytes) -> tuple[Any, ...]:
    return protobuf_decoder(pb.message(file), columns)(data)


@pytest.mark.parametrize(("kind", "value", "type_", "expected"), pb.GOOD, ids=lambda v: str(v)[:40])
def test_a_field_becomes_the_columns_value(kind: str, value: Any, type_: DataType, expected: Any) -> None:
    file = pb.file(("before", 1, "string"), ("c", 2, kind))
    data = pb.written(file, {"before": "x", "c": value})
    assert marked(read(file, (Column("c", type_),), data)) == marked((expected,))


@pytest.mark.parametrize(("kind", "type_", "expected"), pb.ABSENT, ids=lambda v: str(v)[:40])
def test_a_field_that_did_not_come_is_null_or_its_default(kind: str, type_: DataType, expected: Any) -> None:
    assert read(pb.file(("c", 2, kind)), (Column("c", type_),), b"") == (expected,)


def test_in_proto2_every_field_tells_whether_it_came() -> None:
    file = pb.file(("c", 1, "int64"), ("d", 2, "repeated int64"), syntax="proto2")
    assert read(file, (Column("c", BIGINT), Column("d", ArrayType(element=BIGINT))), b"") == (None, [])


@pytest.mark.parametrize(("kind", "value", "type_"), pb.BAD, ids=lambda v: str(v)[:40])
def test_a_field_of_another_type_is_a_bad_record_that_names_its_column(kind: str, value: Any, type_: DataType) -> None:
    file = pb.file(("c", 1, kind))
    with pytest.raises(UndecodableError, match="column 'c'"):
        read(file, (Column("c", type_),), pb.written(file, {"c": value}))


@pytest.mark.parametrize(("file", "value", "row"), pb.EVOLVED)
def test_writers_with_fewer_more_and_other_fields_are_read(
    registry: FakeRegistry, file: FileDescriptorProto, value: dict[str, Any], row: tuple[Any, ...]
) -> None:
    data = pb.framed(registry.add_protobuf(file), pb.written(file, value))
    assert opened(registry).decoder(pb.NOW)(data) == row


@pytest.mark.parametrize(("data", "row"), pb.BY_HAND, ids=[d.hex() for d, _ in pb.BY_HAND])
def test_pieces_repetitions_and_strays_are_read_as_protobuf_says(data: bytes, row: tuple[Any, ...] | None) -> None:
    if row is None:
        with pytest.raises(UndecodableError):
            read(pb.PARTS, pb.PARTS_COLUMNS, data)
    else:
        assert read(pb.PARTS, pb.PARTS_COLUMNS, data) == row


@pytest.mark.parametrize(("data", "row"), pb.UNSEEN, ids=[d.hex() for d, _ in pb.UNSEEN])
def test_what_no_column_asks_for_is_passed_over_unseen(data: bytes, row: tuple[Any, ...] | None) -> None:
    if row is None:
        with pytest.raises(UndecodableError):
            read(pb.PARTS, pb.ONLY_N, data)
    else:
        assert read(pb.PARTS, pb.ONLY_N, data) == row


@settings(max_examples=25, deadline=None)
@given(table=pb.tables)
def test_rows_are_written_as_their_file_says_and_read_back(table: Any) -> None:
    columns, rows = table
    message = generated(columns)
    encode, decode = protobuf_encoder(message, columns), protobuf_decoder(message, columns)
    theirs = pb.made_by_protobuf(message)
    for row in rows:
        data = encode(row)
        assert theirs.FromString(data) == theirs.FromString(theirs.FromString(data).SerializeToString())
        assert len(theirs.FromString(data).SerializeToString()) == len(data)
        assert decode(data) == tuple(pb.read_back(c.type, v) for c, v in zip(columns, row, strict=True))


def generated(columns: tuple[Column, ...]) -> Message:
    file = with_columns(new_file("t-value"), columns)
    return Message(descriptor_set(file), "io.millpond.t_value")


def test_equal_rows_have_equal_bytes_whatever_the_order_of_their_maps() -> None:
    columns = (Column("m", MapType(key=INTEGER, value=DATE)), Column("id", BIGINT))
    encode = protobuf_encoder(generated(columns), columns)
    assert encode(({1: None, -2: None}, 5)) == encode(({-2: None, 1: None}, 5))
    entry = b"\x0a\x0d\x08" + b"\xfe" + b"\xff" * 8 + b"\x01\x12\x00"
    assert encode(({1: None, -2: None}, 5)) == entry + b"\x0a\x04\x08\x01\x12\x00" + b"\x10\x05"
    columns = (Column("m", MapType(key=VARCHAR, value=BIGINT)), Column("t", MapType(key=BOOLEAN, value=BIGINT)))
    encode = protobuf_encoder(generated(columns), columns)
    strings = b"\x0a\x05\x0a\x01a\x10\x01\x0a\x06\x0a\x02ab\x10\x02\x0a\x06\x0a\x02\xc3\xa9\x10\x03"
    assert encode(({"é": 3, "ab": 2, "a": 1}, None)) == strings
    assert encode((None, {True: 1, False: 0})) == b"\x12\x04\x08\x00\x10\x00\x12\x04\x08\x01\x10\x01"


def test_columns_come_back_out_of_the_file_that_is_made_of_them() -> None:
    columns = (
        Column("id", BIGINT),
        Column("tags", MapType(key=VARCHAR, value=ArrayType(element=VARCHAR).element)),
        Column("p", pb.POINT),
        Column("ps", ArrayType(element=pb.POINT)),
        Column("byId", MapType(key=BIGINT, value=pb.POINT)),
    )
    assert columns_of(generated(columns)) == columns


def test_the_types_of_a_message_are_columns() -> None:
    kinds = ["uint64", "fixed32", "bytes", "Colour", "Timestamp", "Int64Value", "repeated Point", "map<int32, float>"]
    file = pb.file(*((f"c{n}", n, kind) for n, kind in enumerate(kinds, 1)))
    assert [str(c.type) for c in columns_of(pb.message(file))] == [
        *("BIGINT", "INTEGER", "BYTES", "VARCHAR", "TIMESTAMP_LTZ(6)", "BIGINT"),
        *("ARRAY<STRUCT<x BIGINT, label VARCHAR>>", "MAP<INTEGER, FLOAT>"),
    ]


def odd(change: str) -> Message:
    file = pb.file(("id", 1, "int64"), ("more", 2, "string"))
    row = file.message_type[0]
    match change:
        case "oneof":
            row.oneof_decl.add(name="either")
            for field in row.field:
                field.oneof_index = 0
        case "oneof of one":
            row.oneof_decl.add(name="contact_more")
            row.field[1].oneof_index = 0
        case "any":
            file.dependency.append("google/protobuf/any.proto")
            row.field[1].type, row.field[1].type_name = FieldDescriptorProto.TYPE_MESSAGE, ".google.protobuf.Any"
        case "itself":
            row.field[1].type, row.field[1].type_name = FieldDescriptorProto.TYPE_MESSAGE, ".shop.Row"
        case "import":
            file.dependency.append("shop/other.proto")
        case "options":
            file.dependency.append("confluent/meta.proto")
        case "none":
            row.ClearField("field")
    return pb.message(file)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("oneof", "field id: it is in a oneof"),
        ("oneof of one", "field more: it is in a oneof"),
        ("any", "field more: Any holds a message of any type"),
        ("itself", "field more: shop.Row contains itself"),
        ("import", "imports 'shop/other.proto', which is missing"),
        ("none", "has no fields"),
    ],
)
def test_a_message_that_stands_for_no_columns_says_why(change: str, reason: str) -> None:
    with pytest.raises(UnreadableSchemaError, match=reason):
        columns_of(odd(change))


def test_a_group_is_named_as_what_it_is() -> None:
    with pytest.raises(UndecodableError, match="column 'c': it is a group, which is not supported"):
        read(pb.GROUPED, pb.GROUPED_COLUMNS, pb.GROUPED_DATA)


def test_files_of_options_may_be_missing() -> None:
    assert columns_of(odd("options")) == (Column("id", BIGINT), Column("more", VARCHAR))


def test_what_is_no_descriptor_set_is_refused_and_messages_in_messages_are_found() -> None:
    for content in (b"", b"\x00\xff", b"hello"):
        with pytest.raises(UnreadableSchemaError, match="no compiled descriptor set"):
            message_names(content)
    file = pb.file(("m", 1, "map<string, int64>"))
    file.message_type[0].nested_type.add(name="Inner")
    assert message_names(pb.serialized([file])) == ["shop.Row", "shop.Point", "shop.Row.Inner"]


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (Column("with space", BIGINT), "such a name"),
        (Column("a", ArrayType(element=ArrayType(element=BIGINT))), "right inside another"),
        (Column("m", MapType(key=DOUBLE, value=VARCHAR)), "no key of Protobuf's maps"),
    ],
)
def test_a_column_without_a_form_in_protobuf_is_refused(column: Column, reason: str) -> None:
    with pytest.raises(MillpondError, match=reason) as caught:
        generated((column,))
    assert caught.value.name == "NO_PROTOBUF_FORM"


@pytest.mark.parametrize(("kind", "type_", "value", "expected"), pb.WRITABLE, ids=lambda v: str(v)[:40])
def test_a_column_is_written_into_the_field_of_a_message_that_is_given(
    kind: str, type_: DataType, value: Any, expected: dict[str, Any]
) -> None:
    file = pb.file(("c", 3, kind))
    data = protobuf_encoder(pb.message(file), (Column("c", type_),))((value,))
    theirs = pb.made_by_protobuf(pb.message(file)).FromString(pb.written(file, expected))
    assert data == theirs.SerializeToString(deterministic=True)


def test_both_parts_of_a_maps_entry_are_written_whatever_the_edition_says_of_defaults() -> None:
    assert protobuf_encoder(pb.message(pb.EDITION), pb.EDITION_COLUMNS)(pb.EDITION_ROW) == pb.EDITION_DATA


@pytest.mark.parametrize(
    ("kind", "type_"),
    [("int32", BIGINT), ("float", DOUBLE), ("string", BIGINT), ("Point", VARCHAR), ("repeated int64", BIGINT)],
)
def test_a_column_that_its_field_does_not_hold_is_refused(kind: str, type_: DataType) -> None:
    with pytest.raises(MillpondError) as caught:
        protobuf_encoder(pb.message(pb.file(("c", 3, kind))), (Column("c", type_),))
    assert caught.value.name == "NO_PROTOBUF_FORM"


def test_the_message_is_found_by_its_place_in_a_file_that_imports_another(registry: FakeRegistry) -> None:
    other, file = pb.file_and_its_import()
    registry.add_protobuf(other, "other")
    schema_id = registry.add_protobuf(file, other="other")
    columns = pb.INNER_COLUMNS
    # Two numbers, zero and zero: the first message's first message.
    data = pb.framed(schema_id, b"\x0a\x01a\x12\x02\x08\x05", b"\x04\x00\x00")
    schemas = opened(registry)
    assert schemas.decoder(columns)(data) == ("a", {"n": 5})
    assert schemas.unknown([schema_id, 99]) == {99}
    assert schemas.decoder((Column("x", BIGINT),))(pb.framed(schema_id, b"\x08\x07", b"\x02\x02")) == (7,)
    for path in (b"", b"\x02\x08", b"\x01", b"\xff\xff\xff\xff\xff\x01", b"\x04\x00"):
        with pytest.raises(UndecodableError):
            schemas.decoder(columns)(pb.framed(schema_id, b"", path))


@pytest.mark.parametrize(("file", "row"), pb.IMPORTING, ids=lambda v: str(v)[:40])
def test_a_schema_without_the_files_that_it_imports_is_read_if_those_are_of_options_alone(
    registry: FakeRegistry, file: FileDescriptorProto, row: tuple[Any, ...] | None
) -> None:
    data, decode = pb.framed(registry.add_protobuf(file), pb.IMPORTED), opened(registry).decoder(pb.IMPORTING_COLUMNS)
    if row is None:
        with pytest.raises(UndecodableError, match=r"schema 1: (it imports .*, which is missing|its files do not fit)"):
            decode(data)
    else:
        assert decode(data) == row


@pytest.mark.parametrize("data", [b"", b"\0\0", b'{"id":1}', b"\0\0\0\0\x63\0", b"\0\0\0\0\x01\0\x08"])
def test_stray_bytes_are_a_bad_record(registry: FakeRegistry, data: bytes) -> None:
    registry.add_protobuf(pb.OLD)
    with pytest.raises(UndecodableError):
        opened(registry).decoder(pb.NOW)(data)


def test_schemas_of_another_kind_and_text_are_no_protobuf(registry: FakeRegistry) -> None:
    avro, text = registry.add('"string"', "avro-value"), registry.add('syntax = "proto3";', "text-value")
    registry.kinds[text] = "PROTOBUF"
    for schema_id, reason in ((avro, "not of type PROTOBUF"), (text, "does not give it in serialized form")):
        with pytest.raises(UndecodableError, match=reason):
            opened(registry).decoder(pb.NOW)(pb.framed(schema_id, b""))
    for subject, name in (("avro-value", "SCHEMA_NOT_READABLE"), ("nothing", "SUBJECT_NOT_FOUND")):
        with pytest.raises(MillpondError) as caught:
            opened(registry).columns(subject)
        assert caught.value.name == name


def test_a_subjects_fields_keep_their_numbers_and_new_columns_get_new_ones(registry: FakeRegistry) -> None:
    theirs = pb.file(("id", 4, "int64"), ("gone", 7, "string"), name="Order")
    registry.add_protobuf(theirs, "orders-value")
    schemas = opened(registry)
    columns = (Column("note", VARCHAR), Column("id", BIGINT))
    written = schemas.register("orders-value", columns)
    assert written.message.name == "shop.Order"
    kept = FileDescriptorProto.FromString(base64.b64decode(registry.schemas[written.schema_id - 1]))
    assert [(f.name, f.number) for f in kept.message_type[0].field] == [("id", 4), ("gone", 7), ("note", 8)]
    encode = schemas.encoder("orders-value", columns)
    assert encode(("a", 5)) == pb.framed(written.schema_id, b"\x20\x05\x42\x01a")
    again = opened(registry).register("orders-value", (Column("id", BIGINT),))
    assert again.schema_id == written.schema_id
    with pytest.raises(MillpondError) as caught:
        schemas.register("orders-value", (Column("gone", BIGINT),))
    assert caught.value.name == "NO_PROTOBUF_FORM"


def reserved(start: int, stop: int, extended: tuple[int, int] = (90, 91)) -> FileDescriptorProto:
    """A message with the fields 1 and 3, whose numbers from `start` to before `stop` are taken."""
    file = pb.file(("one", 1, "int64"), ("three", 3, "int64"), syntax="proto2")
    file.message_type[0].reserved_range.add(start=start, end=stop)
    file.message_type[0].extension_range.add(start=extended[0], end=extended[1])
    return file


@pytest.mark.parametrize(
    ("file", "number"),
    [
        (reserved(4, 6, (6, 9)), 9),
        (reserved(10, 1 << 29), 4),
        (reserved(4, 1 << 29), 2),
        (reserved(5, 90, (4, 5)), 90),
        (reserved(4, 19_000, (20_000, 20_005)), 20_005),
    ],
    ids=lambda v: str(v) if isinstance(v, int) else "file",
)
def test_a_new_field_gets_the_first_number_that_nothing_else_has(file: FileDescriptorProto, number: int) -> None:
    made = with_columns(file, (Column("new", BIGINT),))
    assert made.message_type[0].field[-1].number == number
    assert columns_of(pb.message(made))[-1] == Column("new", BIGINT)


def test_a_message_without_a_number_for_a_new_field_is_refused() -> None:
    with pytest.raises(MillpondError, match="no number left") as caught:
        with_columns(reserved(4, 1 << 29, (2, 3)), (Column("new", BIGINT),))
    assert caught.value.name == "NO_PROTOBUF_FORM"


def test_a_keys_decoder_is_made_once_for_many_records_of_a_descriptor() -> None:
    asked: list[str] = []

    def file(source: str) -> bytes:
        asked.append(source)
        return pb.message(pb.file(("id", 1, "int64"), ("url", 2, "string"))).files

    named = {"key.descriptor.source": "d", "key.descriptor.name": "shop.Row"}
    key = StructType(fields=(Field("id", BIGINT), Field("url", VARCHAR)))
    relation = replace(CLICKS, key_format="protobuf", key_type=key, key_columns=(), primary_key=(), properties=named)
    codecs = Codecs("s", None, file)
    for _ in range(2):
        read_key = key_decoder(relation, codecs)
        assert [read_key(b"\x08\x05"), read_key(b"\x12\x01a")] == [(5, ""), (0, "a")]
    assert asked == ["d"]


def test_a_new_subjects_schema_is_registered_as_confluents_serializer_does(registry: FakeRegistry) -> None:
    registry.refused.add("no-value")
    schemas = opened(registry)
    written = schemas.register("a.b-value", (Column("id", BIGINT), Column("day", DATE)))
    assert registry.kinds == {written.schema_id: "PROTOBUF"}
    assert opened(registry).columns("a.b-value") == (Column("id", BIGINT), Column("day", VARCHAR))
    assert written.message.name == "io.millpond.a_b_value"
    with pytest.raises(MillpondError) as caught:
        schemas.register("no-value", (Column("id", BIGINT),))
    assert caught.value.name == "SCHEMA_REFUSED"
