"""Messages, records and rows in Protobuf: what both decoders and both encoders are held against.

Files are put together of `FileDescriptorProto`s, records are written by Protobuf's own classes or by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import Edition, FeatureSet, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as F
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import DESCRIPTOR as TIMESTAMP_FILE
from google.protobuf.wrappers_pb2 import DESCRIPTOR as WRAPPERS_FILE
from hypothesis import strategies as st

from millpond.protobuf_types import Message
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
from tests import avro_records as av

D = DecimalType(precision=9, scale=2)
POINT = StructType(fields=(Field("x", BIGINT), Field("label", VARCHAR)))
SCALARS = {
    "double": F.TYPE_DOUBLE,
    "float": F.TYPE_FLOAT,
    "int64": F.TYPE_INT64,
    "uint64": F.TYPE_UINT64,
    "int32": F.TYPE_INT32,
    "fixed64": F.TYPE_FIXED64,
    "fixed32": F.TYPE_FIXED32,
    "bool": F.TYPE_BOOL,
    "string": F.TYPE_STRING,
    "bytes": F.TYPE_BYTES,
    "uint32": F.TYPE_UINT32,
    "sfixed32": F.TYPE_SFIXED32,
    "sfixed64": F.TYPE_SFIXED64,
    "sint32": F.TYPE_SINT32,
    "sint64": F.TYPE_SINT64,
}
MESSAGES = {
    "Timestamp": ".google.protobuf.Timestamp",
    "Point": ".shop.Point",
    **{f"{name}Value": f".google.protobuf.{name}Value" for name in ("Int64", "UInt32", "String", "Bool", "Bytes")},
}


def field(message: Any, name: str, number: int, kind: str) -> None:
    """A field as it is written in a file: `int64`, `optional string`, `repeated Point`, `map<string, int64>`.

    `oneof int64` is alone in a oneof, which has a name as that of an `optional` could be.
    """
    words = kind.split(" ", 1)
    made = message.field.add(name=name, number=number, label=F.LABEL_OPTIONAL)
    if kind.startswith("map<"):
        key, value = kind[4:-1].split(", ")
        entry = message.nested_type.add(name=name.capitalize() + "Entry")
        entry.options.map_entry = True
        field(entry, "key", 1, key)
        field(entry, "value", 2, value)
        made.label, made.type, made.type_name = F.LABEL_REPEATED, F.TYPE_MESSAGE, entry.name
        return
    if words[0] == "repeated":
        made.label = F.LABEL_REPEATED
    if words[0] == "required":
        made.label = F.LABEL_REQUIRED
    if words[0] in ("optional", "oneof"):
        made.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}" if words[0] == "optional" else f"contact_{name}")
    if words[0] == "optional":
        made.proto3_optional = True
    plain = words[-1]
    if plain in SCALARS:
        made.type = SCALARS[plain]
    elif plain == "Colour":
        made.type, made.type_name = F.TYPE_ENUM, ".shop.Colour"
    else:
        made.type, made.type_name = F.TYPE_MESSAGE, MESSAGES[plain]


def file(*fields: tuple[str, int, str], name: str = "Row", syntax: str = "proto3") -> FileDescriptorProto:
    """A file of package `shop` whose first message has those fields (name, number, type)."""
    made = FileDescriptorProto(name="shop.proto", package="shop", syntax=syntax)
    made.dependency.extend([TIMESTAMP_FILE.name, WRAPPERS_FILE.name])
    message = made.message_type.add(name=name)
    for each in fields:
        field(message, *each)
    point = made.message_type.add(name="Point")
    field(point, "x", 1, "int64")
    field(point, "label", 2, "optional string" if syntax == "proto3" else "string")
    colour = made.enum_type.add(name="Colour")
    for number, symbol in enumerate(("RED", "GREEN")):
        colour.value.add(name=symbol, number=number)
    return made


def file_and_its_import() -> tuple[FileDescriptorProto, FileDescriptorProto]:
    """`other.proto`, and a file that imports it for a message inside of its first one, of INNER_COLUMNS."""
    other = FileDescriptorProto(name="other.proto", package="more", syntax="proto3")
    field(other.message_type.add(name="Extra"), "n", 1, "int64")
    made = file(("id", 1, "int64"))
    made.dependency.append(other.name)
    inner = made.message_type[0].nested_type.add(name="Inner")
    field(inner, "name", 1, "string")
    inner.field.add(name="extra", number=2, label=F.LABEL_OPTIONAL, type=F.TYPE_MESSAGE, type_name=".more.Extra")
    return other, made


INNER_COLUMNS = (Column("name", VARCHAR), Column("extra", StructType(fields=(Field("n", BIGINT),))))


def message(made: FileDescriptorProto, name: str = "Row") -> Message:
    return Message(FileDescriptorSet(file=[made]).SerializeToString(), f"{made.package}.{name}")


def made_by_protobuf(found: Message) -> Any:
    """Protobuf's own class of a message."""
    pool = DescriptorPool()
    for known in (TIMESTAMP_FILE, WRAPPERS_FILE):
        pool.AddSerializedFile(known.serialized_pb)
    for each in FileDescriptorSet.FromString(found.files).file:
        if each.name not in (TIMESTAMP_FILE.name, WRAPPERS_FILE.name):
            pool.Add(each)
    return GetMessageClass(pool.FindMessageTypeByName(found.name))


def written(made: FileDescriptorProto, value: dict[str, Any]) -> bytes:
    """A message out of Protobuf's JSON form of it, without anything in front."""
    found = made_by_protobuf(message(made))()
    data: bytes = json_format.ParseDict(value, found).SerializeToString()
    return data


def framed(schema_id: int, data: bytes, path: bytes = b"\0") -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + path + data


MOMENT = datetime(2024, 2, 29, 1, 2, 3, 456789)
GOOD: list[tuple[str, Any, DataType, Any]] = [
    ("int64", str(-(2**63)), BIGINT, -(2**63)),
    ("sint64", "-7", BIGINT, -7),
    ("sfixed64", "-7", BIGINT, -7),
    ("uint64", str(2**63 - 1), BIGINT, 2**63 - 1),
    ("uint64", str(2**64 - 1), DecimalType(precision=20, scale=0), Decimal(2**64 - 1)),
    ("fixed64", str(2**64 - 1), DOUBLE, 1.8446744073709552e19),
    ("uint32", 2**32 - 1, BIGINT, 2**32 - 1),
    ("fixed32", 7, INTEGER, 7),
    ("int32", -7, SMALLINT, -7),
    ("sint32", -128, TINYINT, -128),
    ("sfixed32", -7, D, Decimal("-7.00")),
    ("int32", -1, DOUBLE, -1.0),
    ("int64", "86400000", TIMESTAMP, datetime(1970, 1, 2)),
    ("int64", "86400000", TIMESTAMP_LTZ, datetime(1970, 1, 2, tzinfo=UTC)),
    ("float", 0.5, FLOAT, 0.5),
    ("float", 0.5, DOUBLE, 0.5),
    ("double", 0.1, FLOAT, 0.10000000149011612),
    ("double", "NaN", DOUBLE, float("nan")),
    ("bool", True, BOOLEAN, True),
    ("string", "é😀", VARCHAR, "é😀"),
    ("string", "1.005", D, Decimal("1.01")),
    ("string", "2024-02-29", DATE, datetime(2024, 2, 29).date()),
    ("string", "01:02:03.5", TIME, datetime(1, 1, 1, 1, 2, 3, 500000).time()),
    ("string", "2024-02-29 01:02:03", TIMESTAMP, datetime(2024, 2, 29, 1, 2, 3)),
    ("string", "2024-02-29T01:02:03+01:00", TIMESTAMP_LTZ, datetime(2024, 2, 29, 0, 2, 3, tzinfo=UTC)),
    ("bytes", "AP8=", BYTES, b"\x00\xff"),
    ("Colour", "GREEN", VARCHAR, "GREEN"),
    ("Colour", 7, VARCHAR, "7"),
    ("Timestamp", "2024-02-29T01:02:03.456789999Z", TIMESTAMP_LTZ, MOMENT.replace(tzinfo=UTC)),
    ("Timestamp", "1969-12-31T23:59:59.999Z", TIMESTAMP, datetime(1969, 12, 31, 23, 59, 59, 999000)),
    ("Int64Value", "0", BIGINT, 0),
    ("UInt32Value", 5, INTEGER, 5),
    ("StringValue", "", VARCHAR, ""),
    ("BytesValue", "AP8=", BYTES, b"\x00\xff"),
    ("BoolValue", False, BOOLEAN, False),
    ("Point", {"x": "1", "label": "a"}, POINT, {"x": 1, "label": "a"}),
    ("Point", {}, POINT, {"x": 0, "label": None}),
    (
        "Point",
        {"x": "1"},
        StructType(fields=(Field("X", SMALLINT), Field("y", BIGINT))),
        {"X": 1, "y": None},
    ),
    ("repeated int64", ["1", "0"], ArrayType(element=SMALLINT), [1, 0]),
    ("repeated string", ["a", ""], ArrayType(element=VARCHAR), ["a", ""]),
    ("repeated Colour", ["GREEN", "RED"], ArrayType(element=VARCHAR), ["GREEN", "RED"]),
    ("repeated Point", [{"x": "1"}, {}], ArrayType(element=POINT), [{"x": 1, "label": None}, {"x": 0, "label": None}]),
    ("repeated Timestamp", ["1970-01-01T00:00:01Z"], ArrayType(element=TIMESTAMP), [datetime(1970, 1, 1, 0, 0, 1)]),
    ("map<string, double>", {"a": 1.5, "b": 0}, MapType(value=DOUBLE), {"a": 1.5, "b": 0.0}),
    ("map<int32, Point>", {"-1": {"x": "1"}}, MapType(key=INTEGER, value=POINT), {-1: {"x": 1, "label": None}}),
    ("map<bool, string>", {"true": "t"}, MapType(key=BOOLEAN, value=VARCHAR), {True: "t"}),
]
"""Type of a field, its value in Protobuf's JSON, a column's type -> the column's value."""

ABSENT: list[tuple[str, DataType, Any]] = [
    ("int64", BIGINT, 0),
    ("string", VARCHAR, ""),
    ("string", D, None),
    ("bool", BOOLEAN, False),
    ("double", DOUBLE, 0.0),
    ("bytes", BYTES, b""),
    ("Colour", VARCHAR, "RED"),
    ("optional int64", BIGINT, None),
    ("optional string", VARCHAR, None),
    ("optional Colour", VARCHAR, None),
    ("Int64Value", BIGINT, None),
    ("Timestamp", TIMESTAMP, None),
    ("Point", POINT, None),
    ("repeated int64", ArrayType(element=BIGINT), []),
    ("map<string, int64>", MapType(value=BIGINT), {}),
]
"""What a column is where its field did not come."""

BAD: list[tuple[str, Any, DataType]] = [
    ("string", "12", BIGINT),
    ("int64", str(2**40), INTEGER),
    ("uint64", str(2**63), BIGINT),
    ("uint32", 2**31, INTEGER),
    ("UInt32Value", 2**31, INTEGER),
    ("int64", "1", BOOLEAN),
    ("int64", str(10**9), D),
    ("int64", str(2**62), TIMESTAMP),
    ("double", 1e300, FLOAT),
    ("string", "x", D),
    ("string", "2024-13-01", DATE),
    ("bytes", "AP8=", VARCHAR),
    ("Colour", "GREEN", INTEGER),
    ("Timestamp", "1970-01-01T00:00:01Z", BIGINT),
    ("Point", {"x": str(2**20)}, StructType(fields=(Field("x", SMALLINT),))),
    ("Point", {"x": "1"}, VARCHAR),
    ("repeated int64", ["1", str(2**20)], ArrayType(element=SMALLINT)),
    ("repeated int64", ["1"], BIGINT),
    ("string", "a", ArrayType(element=VARCHAR)),
    ("map<string, int64>", {"a": "1"}, MapType(value=BOOLEAN)),
    ("map<string, int64>", {"a": "1"}, MapType(key=BIGINT, value=BIGINT)),
    ("oneof string", "a", VARCHAR),
]
"""Type of a field, its value, a column's type that the value does not have."""

WRITABLE: list[tuple[str, DataType, Any, dict[str, Any]]] = [
    ("sint64", BIGINT, -7, {"c": "-7"}),
    ("uint64", BIGINT, 7, {"c": "7"}),
    ("uint64", BIGINT, -7, {}),
    ("optional uint32", INTEGER, -7, {}),
    ("UInt32Value", INTEGER, -7, {}),
    ("fixed64", INTEGER, 7, {"c": "7"}),
    ("int64", BIGINT, 0, {}),
    ("optional int64", BIGINT, 0, {"c": "0"}),
    ("Int64Value", BIGINT, 0, {"c": "0"}),
    ("Colour", VARCHAR, "GREEN", {"c": "GREEN"}),
    ("Colour", VARCHAR, "7", {"c": 7}),
    ("Colour", VARCHAR, "PINK", {}),
    ("repeated Colour", ArrayType(element=VARCHAR), ["GREEN", None, "PINK"], {"c": ["GREEN", "RED", "RED"]}),
    ("StringValue", VARCHAR, "", {"c": ""}),
    ("Point", StructType(fields=(Field("label", VARCHAR),)), {"label": "a"}, {"c": {"label": "a"}}),
    ("repeated Int64Value", ArrayType(element=BIGINT), [5, None], {"c": ["5", "0"]}),
    ("map<string, Point>", MapType(value=POINT), {"b": None, "a": {"x": 1}}, {"c": {"a": {"x": "1"}, "b": {}}}),
    ("map<uint32, int64>", MapType(key=INTEGER, value=BIGINT), {2: 6, -1: 5}, {"c": {"2": "6"}}),
]
"""Type of a field, a column's type and value -> the message in Protobuf's JSON."""

NOW = (Column("id", BIGINT), Column("name", VARCHAR), Column("later", DOUBLE))
OLD = file(("id", 1, "int64"), ("gone", 2, "map<string, Point>"), ("name", 3, "string"))
NEW = file(("name", 3, "optional string"), ("id", 1, "int32"), ("added", 9, "repeated fixed64"))
EVOLVED: list[tuple[FileDescriptorProto, dict[str, Any], tuple[Any, ...]]] = [
    (OLD, {"id": "1", "gone": {"k": {"x": "1"}}, "name": "a"}, (1, "a", None)),
    (OLD, {}, (0, "", None)),
    (NEW, {"id": 2, "added": ["5", "6"]}, (2, None, None)),
    (file(("Name", 1, "string")), {"Name": "b"}, (None, "b", None)),
]
"""Writers' files before and after `NOW` -> the row of it."""


def importing(name: str, type_name: str = "") -> FileDescriptorProto:
    """A file that imports another, whose message is the type of its second field."""
    made = file(("id", 1, "int64"))
    made.dependency.append(name)
    if type_name:
        made.message_type[0].field.add(name="day", number=2, label=1, type=F.TYPE_MESSAGE, type_name=type_name)
    return made


DAY = StructType(fields=(Field("year", INTEGER),))
IMPORTING_COLUMNS = (Column("id", BIGINT), Column("day", DAY))
IMPORTING: list[tuple[FileDescriptorProto, tuple[Any, ...] | None]] = [
    (importing("google/type/date.proto", ".google.type.Date"), None),
    (importing("google/type/money.proto"), None),
    (importing("confluent/type/decimal.proto", ".confluent.type.Decimal"), None),
    (importing("confluent/meta.proto"), (5, None)),
    (importing("google/protobuf/java_features.proto"), (5, None)),
]
"""Files whose imports nobody has -> the row of `IMPORTED`; None if such a schema is not read."""
IMPORTED = b"\x08\x05\x12\x03\x08\xe8\x0f"

EDITION = file(("c", 3, "map<int32, int64>"), ("n", 4, "int64"), syntax="editions")
"""In which a default is as good as a field that is not there; not so in the entries of maps."""
EDITION.edition = Edition.EDITION_2023
EDITION.options.features.field_presence = FeatureSet.IMPLICIT
EDITION_COLUMNS = (Column("c", MapType(key=INTEGER, value=BIGINT)), Column("n", BIGINT))
EDITION_ROW: tuple[Any, ...] = ({0: 0, 1: None}, 0)
EDITION_DATA = b"\x1a\x04\x08\x00\x10\x00\x1a\x04\x08\x01\x10\x00"

GROUPED = file(("id", 1, "int64"), ("c", 2, "Point"), syntax="proto2")
GROUPED.message_type[0].field[1].type = F.TYPE_GROUP
GROUPED_COLUMNS = (Column("id", BIGINT), Column("c", POINT))
GROUPED_DATA = b"\x08\x05\x13\x08\x01\x14"

PARTS = file(("n", 1, "int64"), ("p", 2, "Point"), ("r", 3, "repeated int32"), ("m", 4, "map<string, int64>"))
PARTS_COLUMNS = (
    Column("n", BIGINT),
    Column("p", POINT),
    Column("r", ArrayType(element=INTEGER)),
    Column("m", MapType(value=BIGINT)),
)
NO_PARTS: tuple[Any, ...] = (0, None, [], {})
BY_HAND: list[tuple[bytes, tuple[Any, ...] | None]] = [
    (b"\x08\x01\x08\x02", (2, None, [], {})),  # the last of a field counts
    (b"\x12\x02\x08\x05\x12\x03\x12\x01a", (0, {"x": 5, "label": "a"}, [], {})),  # pieces of a message are put together
    (b"\x1a\x02\x01\x02\x18\x03", (0, None, [1, 2, 3], {})),  # packed and one by one
    (b"\x22\x03\x0a\x01k", (0, None, [], {"k": 0})),  # an entry without its value
    (b"\x22\x00", (0, None, [], {"": 0})),
    (b"\x22\x05\x0a\x01k\x10\x01\x22\x05\x0a\x01k\x10\x02", (0, None, [], {"k": 2})),  # the last of a key counts
    (b"\x22\x07\x0a\x01k\x10\x01\x18\x05", NO_PARTS),  # an entry with a field that is not known
    (b"\x0a\x01\x05", NO_PARTS),  # a wire type that is not the field's
    (b"\x7a\x03abc\x80\x01\x05\xad\x02\x01\x02\x03\x04", NO_PARTS),  # fields that are not known
    (b"\x2b\x08\x01\x2c", NO_PARTS),  # a group that is not known
    (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", (-1, None, [], {})),
    (b"\x08", None),
    (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", None),
    (b"\x12\x05\x08\x05", None),
    (b"\x12\x01\x08", None),
    (b"\x12\x03\x12\x01\xff", None),  # not UTF-8
    (b"\x1a\x02\x01\x80", None),
    (b"\x2b\x08\x01", None),
    (b"\x2c", None),
    (b"\x00\x01", None),
    (b"\x0f\x01", None),
]
"""Bytes of `PARTS` -> its row; None for what is no message."""


ONLY_N = (Column("n", BIGINT), Column("p", StructType(fields=(Field("x", BIGINT),))))
UNSEEN: list[tuple[bytes, tuple[Any, ...] | None]] = [
    (b"\x08\x05\x12\x03\x12\x01\xff", (5, {"x": 0})),
    (b"\x08\x05\x1a\x01\x80", (5, None)),
    (b"\x08\x05\x22\x03\x0a\x01\xff", (5, None)),
    (b"\x08\x05\x22\x05\x0a\x01", None),
]
"""Bytes of `PARTS` that are wrong where `ONLY_N` does not look -> its row."""


def keys_of_maps() -> st.SearchStrategy[DataType]:
    return st.sampled_from([VARCHAR, BOOLEAN, TINYINT, SMALLINT, INTEGER, BIGINT])


scalars = st.one_of(st.sampled_from(list(av.SCALARS)), av.decimals)


def structs(parts: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    fields = st.lists(st.builds(Field, av.names, parts), min_size=1, max_size=3, unique_by=lambda f: f.name)
    return fields.map(lambda fs: StructType(fields=tuple(fs)))


def with_parts(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    """Types whose ARRAYs and MAPs have none right inside them."""
    single = st.one_of(scalars, structs(inner))
    return st.one_of(
        single,
        st.builds(lambda e: ArrayType(element=e), single),
        st.builds(lambda k, v: MapType(key=k, value=v), keys_of_maps(), single),
    )


types = with_parts(with_parts(scalars))
DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), 0),
    **dict.fromkeys(("FLOAT", "DOUBLE"), 0.0),
    "VARCHAR": "",
    "BOOLEAN": False,
    "BYTES": b"",
    "TIMESTAMP": datetime(1970, 1, 1),
    "TIMESTAMP_LTZ": datetime(1970, 1, 1, tzinfo=UTC),
}
"""What NULL among elements comes back as; of the other scalars it stays NULL."""


def values(type_: DataType) -> st.SearchStrategy[Any]:
    """A value of that type, or None."""
    match type_:
        case DecimalType():
            good: st.SearchStrategy[Any] = av.values(type_).filter(lambda v: v is not None)
        case ArrayType():
            good = st.lists(values(type_.element), max_size=3)
        case MapType():
            good = st.dictionaries(av.SCALARS[type_.key], values(type_.value), max_size=3)
        case StructType():
            good = st.fixed_dictionaries({f.name: values(f.type) for f in type_.fields})
        case _:
            good = av.SCALARS[type_]
    return st.one_of(good, good, good, st.none())


def read_back(type_: DataType, value: Any, inside: bool = False) -> Any:
    """What a value is after it was written and read: ARRAYs and MAPs are empty for NULL, elements are defaults."""
    match type_:
        case ArrayType():
            return [read_back(type_.element, v, True) for v in value or ()]
        case MapType():
            return {k: read_back(type_.value, v, True) for k, v in (value or {}).items()}
        case StructType():
            if value is None and not inside:
                return None
            return {f.name: read_back(f.type, (value or {}).get(f.name)) for f in type_.fields}
    return DEFAULTS.get(type_.name) if value is None and inside else value


columns = st.lists(st.builds(Column, av.names, types), min_size=1, max_size=4, unique_by=lambda c: c.name.lower()).map(
    tuple
)
tables = columns.flatmap(
    lambda cs: st.tuples(st.just(cs), st.lists(st.tuples(*(values(c.type) for c in cs)), min_size=5, max_size=20))
)
"""Columns, and rows of them."""


def serialized(files: Sequence[FileDescriptorProto]) -> bytes:
    """A compiled descriptor set, as protoc makes it."""
    return FileDescriptorSet(file=files).SerializeToString()
