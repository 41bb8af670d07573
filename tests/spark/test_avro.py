"""The Java decoder and encoder of Avro against their twins in Python."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from millpond.spark.codec import RecordFormat, decode, encode_value
from millpond.spark.types import to_spark_schema
from millpond.stores.formats.undecodable import UndecodableError
from millpond.stores.registry import registry_access
from millpond.types import VARCHAR, Column, DataType, StructType
from tests import avro_records as av
from tests.certificates import Authority
from tests.schema_registry import FakeRegistry, fake_registry
from tests.spark.job_per_example import JOB_PER_EXAMPLE
from tests.spark.test_codec import marked, plain, records_frame

pytestmark = pytest.mark.spark

Columns = tuple[Column, ...]


@pytest.fixture(scope="module")
def registry() -> Iterator[FakeRegistry]:
    with fake_registry() as running:
        yield running


def java_rows(
    spark: SparkSession, registry: FakeRegistry, columns: Columns, records: Sequence[bytes], **properties: str
) -> list[Any]:
    options = registry_access("sr", {"uris": registry.url, **properties}).java_options()
    column = decode(columns, RecordFormat("avro", options), query_id="avro", error_handling="IGNORE")
    found = records_frame(spark, records).select(column.alias("r")).collect()
    return [None if row.r is None else [plain(c.type, v) for c, v in zip(columns, row.r, strict=True)] for row in found]


def listed(type_: DataType, value: Any) -> Any:
    """A Python value of the twin as `plain` gives those of Spark: a STRUCT is a list, a time in UTC says no zone."""
    if isinstance(type_, StructType) and value is not None:
        return [listed(f.type, value[f.name]) for f in type_.fields]
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, list):
        return [listed(type_.element, v) for v in value]  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {k: listed(type_.value, v) for k, v in value.items()}  # type: ignore[attr-defined]
    return value


def python_rows(registry: FakeRegistry, columns: Columns, records: Sequence[bytes]) -> list[Any]:
    found: list[Any] = []
    read = registry.opened().decoder(columns)
    for data in records:
        try:
            found.append([listed(c.type, v) for c, v in zip(columns, read(data), strict=True)])
        except UndecodableError:
            found.append(None)
    return found


def test_each_field_becomes_the_columns_value_or_a_bad_record(spark: SparkSession, registry: FakeRegistry) -> None:
    for schema, value, type_, expected in [*av.GOOD, *((s, v, t, None) for s, v, t in av.BAD)]:
        whole = av.record(("before", "string"), ("c", schema))
        data = av.written(whole, {"before": "x", "c": value}, registry.add(whole))
        columns = (Column("c", type_),)
        found = java_rows(spark, registry, columns, [data])
        good = any(case[:3] == (schema, value, type_) for case in av.GOOD)
        assert marked(found) == marked([[listed(type_, expected)] if good else None]), (schema, value, type_)
        assert marked(found) == marked(python_rows(registry, columns, [data])), (schema, value, type_)


def test_writers_with_fewer_more_and_other_fields_are_read(spark: SparkSession, registry: FakeRegistry) -> None:
    records = [av.written(schema, value, registry.add(schema)) for schema, value, _ in av.EVOLVED]
    assert java_rows(spark, registry, av.NOW, records) == [list(row) for _, _, row in av.EVOLVED]


def test_a_schema_that_is_no_record_is_the_only_columns_value(spark: SparkSession, registry: FakeRegistry) -> None:
    data = av.written("string", "u1", registry.add('"string"'))
    assert java_rows(spark, registry, (Column("id", VARCHAR),), [data]) == [["u1"]]
    assert java_rows(spark, registry, av.NOW, [data]) == [None]


def test_what_is_no_record_of_a_known_schema_is_bad_and_the_next_one_is_read(
    spark: SparkSession, registry: FakeRegistry
) -> None:
    schema, value, row = av.EVOLVED[0]
    good = av.written(schema, value, registry.add(schema))
    bad = [b"", b"\0", b'{"id": 1}', good[:-1], good[:7], b"\0\x7f\xff\xff\xff" + good[5:]]
    assert java_rows(spark, registry, av.NOW, [*bad, good]) == [*(None for _ in bad), list(row)]


def test_a_schema_that_refers_to_others_is_read_with_them(spark: SparkSession) -> None:
    with fake_registry() as running:
        whole, value, row = av.referring(running)
        data = av.written(whole, value, 4)
        found = java_rows(spark, running, av.REFERRING_COLUMNS, [data])
        assert found == [[listed(c.type, v) for c, v in zip(av.REFERRING_COLUMNS, row, strict=True)]]
        assert found == python_rows(running, av.REFERRING_COLUMNS, [data])


def test_a_registry_that_is_away_fails_the_query_and_drops_nothing(spark: SparkSession) -> None:
    with fake_registry() as away:
        schema, value, _ = av.EVOLVED[0]
        data = av.written(schema, value, away.add(schema))
        away.status = 503
        with pytest.raises(Py4JJavaError, match=r"SchemaRegistry\$Away: The schema registry cannot be asked"):
            java_rows(spark, away, av.NOW, [data])


def test_a_registry_over_tls_with_a_login_is_asked(spark: SparkSession) -> None:
    authority = Authority()
    with fake_registry(authority.sign("registry", "localhost", "127.0.0.1")) as secure:
        secure.login = "Basic bWU6aHVzaA=="
        schema, value, row = av.EVOLVED[0]
        data = av.written(schema, value, secure.add(schema))
        trusted = {"tls.ca_cert_file": authority.pem, "confluent.username": "me", "confluent.password": "hush"}
        with pytest.raises(Py4JJavaError, match="SSLHandshakeException"):
            java_rows(spark, secure, av.NOW, [data])
        assert java_rows(spark, secure, av.NOW, [data], **trusted) == [list(row)]


@JOB_PER_EXAMPLE
@given(table=av.tables)
def test_rows_are_written_as_the_twin_writes_them_and_read_back(
    spark: SparkSession, registry: FakeRegistry, table: tuple[Columns, list[tuple[Any, ...]]]
) -> None:
    columns, rows = table
    schemas = registry.opened()
    subject = f"random-{len(registry.subjects)}"
    encode = schemas.encoder(subject, columns)
    schema_id = schemas.register(subject, columns)
    expected = [encode(row) for row in rows]
    frame = spark.createDataFrame(rows, to_spark_schema(columns)).coalesce(1)
    written = [
        bytes(r[0])
        for r in frame.select(encode_value(columns, RecordFormat("avro", {"schema.id": str(schema_id)}))).collect()
    ]
    assert written == expected
    stained = [cut(data) for data in expected]
    read = java_rows(spark, registry, columns, [*written, *stained])
    assert marked(read[: len(rows)]) == marked(
        [[listed(c.type, v) for c, v in zip(columns, row, strict=True)] for row in rows]
    )
    assert marked(read) == marked(python_rows(registry, columns, [*written, *stained]))


def cut(data: bytes) -> bytes:
    return data[: random.Random(len(data)).randrange(len(data))]
