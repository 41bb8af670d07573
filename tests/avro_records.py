"""Schemas, records and rows in Avro: what both decoders and both encoders are held against."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import fastavro
from hypothesis import strategies as st

from millpond.stores.formats.numbers import WIDE
from millpond.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMP_LTZ,
    TINYINT,
    VARCHAR,
    ArrayType,
    Column,
    DataType,
    DecimalType,
    Field,
    MapType,
    StructType,
)
from tests.schema_registry import FakeRegistry

D = DecimalType(precision=9, scale=2)
POINT = StructType(fields=(Field("x", BIGINT), Field("label", VARCHAR)))
MOMENT = datetime(2024, 2, 29, 1, 2, 3, 456789)


def record(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": n, "type": t} for n, t in fields]}


def written(schema: Any, value: Any, schema_id: int = 1) -> bytes:
    """A framed record, written by fastavro alone."""
    out = io.BytesIO(b"\0" + schema_id.to_bytes(4, "big"))
    out.seek(5)
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return out.getvalue()


def logical(plain: str, name: str, **more: int) -> dict[str, Any]:
    return {"type": plain, "logicalType": name, **more}


ENUM = {"type": "enum", "name": "e", "symbols": ["red", "green"]}
FIXED = {"type": "fixed", "name": "f", "size": 3}
INNER = {"type": "record", "name": "p", "fields": [{"name": "x", "type": "int"}, {"name": "label", "type": "string"}]}

GOOD: list[tuple[Any, Any, DataType, Any]] = [
    ("long", -(2**63), BIGINT, -(2**63)),
    ("int", 7, BIGINT, 7),
    ("long", 7, SMALLINT, 7),
    ("long", 7, DOUBLE, 7.0),
    ("int", -7, D, Decimal("-7.00")),
    ("float", 0.5, DOUBLE, 0.5),
    ("double", 0.1, FLOAT, 0.10000000149011612),
    ("boolean", True, BOOLEAN, True),
    ("string", "é😀", VARCHAR, "é😀"),
    (ENUM, "green", VARCHAR, "green"),
    ("bytes", b"\x00\xff", BYTES, b"\x00\xff"),
    (FIXED, b"abc", BYTES, b"abc"),
    (["null", "string"], None, VARCHAR, None),
    (["string", "null"], "a", VARCHAR, "a"),
    (["null", "long", "string"], "a", VARCHAR, "a"),
    ("null", None, BIGINT, None),
    (logical("bytes", "decimal", precision=12, scale=3), Decimal("-1.235"), D, Decimal("-1.24")),
    (logical("int", "date"), date(2024, 2, 29), DATE, date(2024, 2, 29)),
    (logical("int", "time-millis"), time(1, 2, 3, 4000), TIME, time(1, 2, 3, 4000)),
    (logical("long", "time-micros"), time(1, 2, 3, 4), TIME, time(1, 2, 3, 4)),
    (
        logical("long", "timestamp-millis"),
        datetime(2024, 1, 1, tzinfo=UTC),
        TIMESTAMP_LTZ,
        datetime(2024, 1, 1, tzinfo=UTC),
    ),
    (logical("long", "timestamp-micros"), MOMENT.replace(tzinfo=UTC), TIMESTAMP_LTZ, MOMENT.replace(tzinfo=UTC)),
    (logical("long", "timestamp-micros"), MOMENT.replace(tzinfo=UTC), TIMESTAMP, MOMENT),
    (logical("long", "local-timestamp-micros"), MOMENT, TIMESTAMP, MOMENT),
    (logical("long", "timestamp-millis"), datetime(1970, 1, 2, tzinfo=UTC), BIGINT, 86_400_000),
    ("long", 86_400_000, TIMESTAMP, datetime(1970, 1, 2)),
    ({"type": "array", "items": ["null", "int"]}, [1, None], ArrayType(element=BIGINT), [1, None]),
    ({"type": "map", "values": "double"}, {"a": 1.5, "b": 2.5}, MapType(value=DOUBLE), {"a": 1.5, "b": 2.5}),
    (INNER, {"x": 1, "label": "a"}, POINT, {"x": 1, "label": "a"}),
    (
        INNER,
        {"x": 1, "label": "a"},
        StructType(fields=(Field("LABEL", VARCHAR), Field("y", BIGINT))),
        {"LABEL": "a", "y": None},
    ),
]
"""Schema of a field, its value, a column's type -> the column's value."""

BAD: list[tuple[Any, Any, DataType]] = [
    ("string", "12", BIGINT),
    ("long", 2**40, INTEGER),
    ("long", 1, BOOLEAN),
    ("long", 10**9, D),
    ("double", 1e300, FLOAT),
    ("bytes", b"12", D),
    ("int", 1, DATE),
    ("long", 2**62, TIMESTAMP),
    ({"type": "array", "items": "int"}, [1, 2**20], ArrayType(element=SMALLINT)),
    (["null", "long", "string"], 5, VARCHAR),
    ("string", "a", ArrayType(element=VARCHAR)),
]
"""Schema of a field, its value, a column's type that the value does not have."""

OLD = record(("id", "long"), ("gone", {"type": "map", "values": {"type": "array", "items": INNER}}), ("name", "string"))
NEW = record(("name", ["null", "string"]), ("id", "int"), ("added", FIXED))
NOW = (Column("id", BIGINT), Column("name", VARCHAR), Column("later", DOUBLE))
EVOLVED: list[tuple[Any, Mapping[str, Any], tuple[Any, ...]]] = [
    (OLD, {"id": 1, "gone": {"k": [{"x": 1, "label": "l"}]}, "name": "a"}, (1, "a", None)),
    (NEW, {"name": None, "id": 2, "added": b"abc"}, (2, None, None)),
    (record(("Name", "string")), {"Name": "b"}, (None, "b", None)),
]
"""Writers' schemas before and after `NOW` -> the row of it."""

MONEY = {
    "type": "record",
    "name": "cash.Money",
    "fields": [{"name": "cents", "type": "long"}, {"name": "unit", "type": {**ENUM, "name": "Unit"}}],
}
PERSON: dict[str, Any] = {
    "type": "record",
    "name": "shop.Person",
    "fields": [{"name": "owes", "type": ["null", "cash.Money"]}, {"name": "kind", "type": {**ENUM, "name": "Kind"}}],
}
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "buyer", "type": "Person"},
        {"name": "kind", "type": ["null", "shop.Kind"]},
        {"name": "paid", "type": {"type": "array", "items": "cash.Money"}},
    ],
}
MONEY_TYPE = StructType(fields=(Field("cents", BIGINT), Field("unit", VARCHAR)))
REFERRING_COLUMNS = (
    Column("buyer", StructType(fields=(Field("owes", MONEY_TYPE), Field("kind", VARCHAR)))),
    Column("kind", VARCHAR),
    Column("paid", ArrayType(element=MONEY_TYPE)),
)


def referring(registry: FakeRegistry) -> tuple[Any, dict[str, Any], tuple[Any, ...]]:
    """Register `ORDER` with the schemas that it refers to, as id 4: its whole schema, a value and the row of it.

    `Person` refers to `Money`, which is in another namespace; `Order` to both.
    """
    registry.add(MONEY, "money")
    registry.add(PERSON, "people", ["money"])
    registry.add('"string"')
    registry.add(ORDER, "orders-value", ["people", "money"])
    person = {**PERSON, "fields": [{"name": "owes", "type": ["null", MONEY]}, PERSON["fields"][1]]}
    whole = {**ORDER, "fields": [{"name": "buyer", "type": person}, *ORDER["fields"][1:]]}
    dollar = {"cents": 100, "unit": "green"}
    value = {"buyer": {"owes": dollar, "kind": "red"}, "kind": None, "paid": [dollar, {"cents": 1, "unit": "red"}]}
    return whole, value, tuple(value.values())


names = st.sampled_from(["a", "b", "c", "userId", "_x9"])
micros = st.integers(-(10**9), 4 * 10**9).map(lambda s: s * 1_000_003)
SCALARS: dict[DataType, st.SearchStrategy[Any]] = {
    BOOLEAN: st.booleans(),
    TINYINT: st.integers(-128, 127),
    SMALLINT: st.integers(-(2**15), 2**15 - 1),
    INTEGER: st.integers(-(2**31), 2**31 - 1),
    BIGINT: st.integers(-(2**63), 2**63 - 1),
    FLOAT: st.floats(width=32, allow_nan=False),
    DOUBLE: st.floats(allow_nan=False),
    VARCHAR: st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    BYTES: st.binary(max_size=9),
    DATE: st.dates(date(1600, 1, 1), date(2300, 1, 1)),
    TIME: st.times(),
    TIMESTAMP: st.datetimes(datetime(1600, 1, 1), datetime(2300, 1, 1)),
    TIMESTAMP_LTZ: st.datetimes(datetime(1600, 1, 1), datetime(2300, 1, 1), timezones=st.just(UTC)),
}
decimals = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: DecimalType(precision=p, scale=s)))


def structs(parts: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    fields = st.lists(st.builds(Field, names, parts), min_size=1, max_size=3, unique_by=lambda f: f.name)
    return fields.map(lambda fs: StructType(fields=tuple(fs)))


types: st.SearchStrategy[DataType] = st.recursive(
    st.one_of(st.sampled_from(list(SCALARS)), decimals),
    lambda parts: st.one_of(
        st.builds(lambda e: ArrayType(element=e), parts), st.builds(lambda v: MapType(value=v), parts), structs(parts)
    ),
    max_leaves=4,
)


def values(type_: DataType) -> st.SearchStrategy[Any]:
    """A value of that type, or None."""
    match type_:
        case DecimalType():
            limit = 10**type_.precision - 1
            good: st.SearchStrategy[Any] = st.integers(-limit, limit).map(
                lambda n: Decimal(n).scaleb(-type_.scale, WIDE)
            )
        case ArrayType():
            good = st.lists(values(type_.element), max_size=3)
        case MapType():
            good = st.dictionaries(SCALARS[VARCHAR], values(type_.value), max_size=1)  # Spark keeps no order of more
        case StructType():
            good = st.fixed_dictionaries({f.name: values(f.type) for f in type_.fields})
        case _:
            good = SCALARS[type_]
    return st.one_of(good, good, good, st.none())


columns = st.lists(st.builds(Column, names, types), min_size=1, max_size=4, unique_by=lambda c: c.name.lower()).map(
    tuple
)
tables = columns.flatmap(
    lambda cs: st.tuples(st.just(cs), st.lists(st.tuples(*(values(c.type) for c in cs)), min_size=5, max_size=20))
)
"""Columns, and rows of them."""
