"""The Java decoder and encoder of Protobuf against their twins in Python."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from millpond.errors import MillpondError
from millpond.protobuf_files import descriptor_set, new_file, with_columns
from millpond.protobuf_types import Message
from millpond.spark.codec import RecordFormat, decode, encode_value
from millpond.spark.formats import read_format, written_format
from millpond.spark.run import Run
from millpond.spark.types import to_spark_schema
from millpond.stores.access import StoreAccess
from millpond.stores.formats.protobuf_reader import protobuf_decoder
from millpond.stores.formats.protobuf_writer import protobuf_encoder
from millpond.stores.formats.undecodable import UndecodableError
from millpond.stores.registry import registry_access
from millpond.types import BIGINT, VARCHAR, Column
from tests import avro_records as av
from tests import protobuf_records as pb
from tests.catalog.examples import CLICKS
from tests.schema_registry import FakeRegistry, fake_registry
from tests.spark.job_per_example import JOB_PER_EXAMPLE
from tests.spark.test_avro import java_rows as avro_rows
from tests.spark.test_avro import listed
from tests.spark.test_codec import marked, plain, records_frame

pytestmark = pytest.mark.spark

Columns = tuple[Column, ...]


@pytest.fixture(scope="module")
def registry() -> Iterator[FakeRegistry]:
    with fake_registry() as running:
        yield running


def by_message(message: Message) -> RecordFormat:
    files = base64.b64encode(message.files).decode()
    return RecordFormat("protobuf", {"protobuf.files": files, "protobuf.message": message.name})


def by_registry(registry: FakeRegistry) -> RecordFormat:
    return RecordFormat("protobuf", registry_access("sr", {"uris": registry.url}).java_options())


def java_rows(
    spark: SparkSession, form: RecordFormat, columns: Columns, records: Sequence[bytes], **options: Any
) -> list[Any]:
    needed = [c for c in columns if c.name in options["needed"]] if "needed" in options else columns
    error_handling = options.pop("error", "IGNORE")
    column = decode(columns, form, query_id="protobuf", error_handling=error_handling, **options)
    found = records_frame(spark, records).select(column.alias("r")).collect()
    return [None if row.r is None else [plain(c.type, v) for c, v in zip(needed, row.r, strict=True)] for row in found]


def python_rows(message: Message, columns: Columns, records: Sequence[bytes]) -> list[Any]:
    found: list[Any] = []
    read = protobuf_decoder(message, columns)
    for data in records:
        try:
            found.append([listed(c.type, v) for c, v in zip(columns, read(data), strict=True)])
        except UndecodableError:
            found.append(None)
    return found


def test_each_field_becomes_the_columns_value_or_a_bad_record(spark: SparkSession) -> None:
    cases = [(k, v, t, e, True) for k, v, t, e in pb.GOOD] + [(k, v, t, None, False) for k, v, t in pb.BAD]
    kinds = [(f"c{n}", n + 1, kind) for n, (kind, *_) in enumerate(cases)]
    for n, (kind, value, type_, expected, good) in enumerate(cases):
        file = pb.file(("before", 1000, "string"), kinds[n])
        data = pb.written(file, {"before": "x", f"c{n}": value})
        columns = (Column(f"c{n}", type_),)
        found = java_rows(spark, by_message(pb.message(file)), columns, [data])
        assert marked(found) == marked([[listed(type_, expected)] if good else None]), (kind, value, type_)


def test_a_field_that_did_not_come_is_null_or_its_default(spark: SparkSession) -> None:
    file = pb.file(*((f"c{n}", n + 1, kind) for n, (kind, *_) in enumerate(pb.ABSENT)))
    columns = tuple(Column(f"c{n}", type_) for n, (_, type_, _) in enumerate(pb.ABSENT))
    found = java_rows(spark, by_message(pb.message(file)), columns, [b""])
    assert marked(found) == marked([[e for _, _, e in pb.ABSENT]])


def test_pieces_repetitions_and_strays_are_read_as_protobuf_says(spark: SparkSession) -> None:
    form, records = by_message(pb.message(pb.PARTS)), [data for data, _ in pb.BY_HAND]
    rows = [row and [listed(c.type, v) for c, v in zip(pb.PARTS_COLUMNS, row, strict=True)] for _, row in pb.BY_HAND]
    assert java_rows(spark, form, pb.PARTS_COLUMNS, records) == rows
    needed = java_rows(spark, form, pb.PARTS_COLUMNS, records, needed=["p"])
    assert needed == [row and [row[1]] for row in rows]


def test_what_no_column_asks_for_is_passed_over_unseen(spark: SparkSession) -> None:
    rows = [row and [listed(c.type, v) for c, v in zip(pb.ONLY_N, row, strict=True)] for _, row in pb.UNSEEN]
    assert java_rows(spark, by_message(pb.message(pb.PARTS)), pb.ONLY_N, [data for data, _ in pb.UNSEEN]) == rows


def test_writers_with_fewer_more_and_other_fields_are_read(spark: SparkSession, registry: FakeRegistry) -> None:
    records = [pb.framed(registry.add_protobuf(file), pb.written(file, value)) for file, value, _ in pb.EVOLVED]
    assert java_rows(spark, by_registry(registry), pb.NOW, records) == [list(row) for _, _, row in pb.EVOLVED]


def test_the_message_is_found_by_its_place_in_a_file_that_imports_another(
    spark: SparkSession, registry: FakeRegistry
) -> None:
    other, file = pb.file_and_its_import()
    registry.add_protobuf(other, "other")
    schema_id = registry.add_protobuf(file, other="other")
    good = pb.framed(schema_id, b"\x0a\x01a\x12\x02\x08\x05", b"\x04\x00\x00")
    bad = [pb.framed(schema_id, b"", path) for path in (b"", b"\x02\x08", b"\x01", b"\xff\xff\xff\xff\xff\x01")]
    stray = [b"", b"\0", b'{"id": 1}', b"\0\x7f\xff\xff\xff\0" + good[8:]]
    found = java_rows(spark, by_registry(registry), pb.INNER_COLUMNS, [*bad, *stray, good])
    assert found == [*(None for _ in [*bad, *stray]), ["a", [5]]]


def test_schemas_of_another_kind_and_text_are_bad_records(spark: SparkSession, registry: FakeRegistry) -> None:
    avro, text = registry.add('"string"', "avro-value"), registry.add('syntax = "proto3";', "text-value")
    registry.kinds[text] = "PROTOBUF"
    form, records = by_registry(registry), [pb.framed(avro, b""), pb.framed(text, b"")] * 3
    before = len(registry.asked)
    assert java_rows(spark, form, pb.NOW, records) == [None] * 6
    assert java_rows(spark, form, pb.NOW, records) == [None] * 6
    assert len(registry.asked) == before + 2
    good = av.written("string", "a", avro)
    assert avro_rows(spark, registry, (Column("name", VARCHAR),), [good]) == [["a"]]


def test_a_group_is_named_as_what_it_is(spark: SparkSession) -> None:
    with pytest.raises(Py4JJavaError, match="column 'c': it is a group, which is not supported"):
        java_rows(spark, by_message(pb.message(pb.GROUPED)), pb.GROUPED_COLUMNS, [pb.GROUPED_DATA], error="TERMINATE")


def test_a_schema_without_the_files_that_it_imports_is_read_if_those_are_of_options_alone(
    spark: SparkSession, registry: FakeRegistry
) -> None:
    records = [pb.framed(registry.add_protobuf(file), pb.IMPORTED) for file, _ in pb.IMPORTING]
    expected = [None if row is None else list(row) for _, row in pb.IMPORTING]
    assert java_rows(spark, by_registry(registry), pb.IMPORTING_COLUMNS, records) == expected


def test_a_registry_that_is_away_fails_the_query_and_drops_nothing(spark: SparkSession) -> None:
    with fake_registry() as away:
        data = pb.framed(away.add_protobuf(pb.OLD), pb.written(pb.OLD, {"id": "1"}))
        away.status = 503
        with pytest.raises(Py4JJavaError, match=r"SchemaRegistry\$Away: The schema registry cannot be asked"):
            java_rows(spark, by_registry(away), pb.NOW, [data])


def test_a_column_is_written_into_the_field_of_a_message_that_is_given(spark: SparkSession) -> None:
    for kind, type_, value, expected in pb.WRITABLE:
        message, columns = pb.message(pb.file(("c", 3, kind))), (Column("c", type_),)
        frame = spark.createDataFrame([(value,)], to_spark_schema(columns))
        (row,) = frame.select(encode_value(columns, by_message(message))).collect()
        theirs = pb.made_by_protobuf(message).FromString(pb.written(pb.file(("c", 3, kind)), expected))
        assert bytes(row[0]) == theirs.SerializeToString(deterministic=True), (kind, value)


def test_both_parts_of_a_maps_entry_are_written_whatever_the_edition_says_of_defaults(spark: SparkSession) -> None:
    frame = spark.createDataFrame([pb.EDITION_ROW], to_spark_schema(pb.EDITION_COLUMNS))
    (row,) = frame.select(encode_value(pb.EDITION_COLUMNS, by_message(pb.message(pb.EDITION)))).collect()
    assert bytes(row[0]) == pb.EDITION_DATA


def test_what_the_jvm_side_is_told_is_the_relations_descriptor_else_the_registry(registry: FakeRegistry) -> None:
    message = pb.message(pb.file(("id", 1, "int64")))
    named = {"value.descriptor.source": "d", "value.descriptor.name": "shop.Row"}
    relation = replace(CLICKS, columns=(Column("id", BIGINT),), value_format="protobuf", key_format="protobuf")
    described = replace(relation, properties=named)
    access = registry_access("sr", {"uris": registry.url})
    files = {"d": message.files}
    run = Run("q", {relation.store: StoreAccess("KAFKA", {}, access, files.__getitem__)})
    without = Run("q", {relation.store: StoreAccess("KAFKA", {}, None, files.__getitem__)})
    assert read_format(described, "value", without) == by_message(message)
    assert written_format(described, "value", relation.columns, without) == by_message(message)
    assert read_format(relation, "value", run).settings == access.java_options()
    written = written_format(relation, "value", relation.columns, run).settings
    assert registry.kinds[int(written["schema.id"])] == "PROTOBUF"
    assert registry.subjects[f"{relation.topic}-value"] == [int(written["schema.id"])]
    for unnamed, part in ((described, "key"), (relation, "value")):
        with pytest.raises(MillpondError) as caught:
            read_format(unnamed, part, without)
        assert caught.value.name == "NO_SCHEMA_REGISTRY"


@JOB_PER_EXAMPLE
@given(table=pb.tables)
def test_rows_are_written_as_the_twin_writes_them_and_read_back(
    spark: SparkSession, table: tuple[Columns, list[tuple[Any, ...]]]
) -> None:
    columns, rows = table
    message = Message(descriptor_set(with_columns(new_file("t-value"), columns)), "io.millpond.t_value")
    form, encode = by_message(message), protobuf_encoder(message, columns)
    expected = [encode(row) for row in rows]
    frame = spark.createDataFrame(rows, to_spark_schema(columns)).coalesce(1)
    assert [bytes(r[0]) for r in frame.select(encode_value(columns, form)).collect()] == expected
    with_id = RecordFormat("protobuf", {**form.settings, "schema.id": "7"})
    (first, *_) = frame.select(encode_value(columns, with_id)).collect()
    assert bytes(first[0]) == pb.framed(7, expected[0])
    records = [*expected, *(cut(data) for data in expected), *(stained(data) for data in expected if data)]
    read = java_rows(spark, form, columns, records)
    back = [[listed(c.type, pb.read_back(c.type, v)) for c, v in zip(columns, row, strict=True)] for row in rows]
    assert marked(read[: len(rows)]) == marked(back)
    assert marked(read) == marked(python_rows(message, columns, records))


def cut(data: bytes) -> bytes:
    return data[: random.Random(len(data)).randrange(len(data))] if data else b""


def stained(data: bytes) -> bytes:
    """One byte of it is another."""
    dice = random.Random(data)
    at = dice.randrange(len(data))
    return data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]
