"""Hypothesis strategies: types, columns, JSON values in all their spellings, and records that are broken."""

from __future__ import annotations

import base64
import json
from datetime import date, datetime
from typing import Any, Literal

from hypothesis import strategies as st

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
    VARBINARY,
    VARCHAR,
    ArrayType,
    Column,
    DataType,
    DecimalType,
    Field,
    MapType,
    StructType,
)

INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}

names = st.sampled_from(["a", "b", "c", "userId", "userid", "Größe", "with space", 'quo"te', "back\\slash", "x.y"])

decimals = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: DecimalType(precision=p, scale=s)))
scalars: st.SearchStrategy[DataType] = st.one_of(
    st.sampled_from([BOOLEAN, TINYINT, SMALLINT, INTEGER, BIGINT, FLOAT, DOUBLE, DATE, TIME]),
    st.sampled_from([VARCHAR, BYTES, VARBINARY, TIMESTAMP, TIMESTAMP_LTZ]),
    decimals,
)
map_keys: st.SearchStrategy[DataType] = st.sampled_from([VARCHAR, VARCHAR, BIGINT, INTEGER, DATE, BOOLEAN])


def structs(parts: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    fields = st.lists(st.builds(Field, names, parts), min_size=1, max_size=3, unique_by=lambda f: f.name.lower())
    return fields.map(lambda fs: StructType(fields=tuple(fs)))


types: st.SearchStrategy[DataType] = st.recursive(
    scalars,
    lambda parts: st.one_of(
        st.builds(lambda e: ArrayType(element=e), parts),
        st.builds(lambda k, v: MapType(key=k, value=v), map_keys, parts),
        structs(parts),
    ),
    max_leaves=4,
)

columns = st.lists(st.builds(Column, names, types), min_size=1, max_size=5, unique_by=lambda c: c.name.lower()).map(
    tuple
)


class Raw(str):
    """JSON text, to be written as it stands."""


def _number(value: object) -> st.SearchStrategy[Raw]:
    """A number, or the same in a string."""
    return st.sampled_from([Raw(value), Raw(value), Raw(f'"{value}"')])


def _integer(bits: int) -> st.SearchStrategy[Raw]:
    bound = 1 << (bits - 1)
    inside = st.integers(-bound, bound - 1).flatmap(_number)
    edges = st.sampled_from([bound, bound - 1, -bound, -bound - 1, "1.0", "12e1", "1.5", "1e400", "-0", "007"])
    return st.one_of(inside, inside, inside, edges.flatmap(_number))


def _decimal(data_type: DecimalType) -> st.SearchStrategy[Raw]:
    whole = st.integers(0, 10 ** max(1, data_type.precision - data_type.scale) - 1)
    digits = st.text("0123456789", max_size=data_type.scale + 1)
    number = st.builds(lambda s, w, d: f"{s}{w}.{d}" if d else f"{s}{w}", st.sampled_from(["", "-"]), whole, digits)
    odd = st.sampled_from(["1e3", "5e-1", "1e999999999", "1e-999999999", "0e999999999", "0.5", "9.99999"])
    return st.one_of(number.flatmap(_number), number.flatmap(_number), odd.flatmap(_number))


def _floating(width: Literal[32, 64]) -> st.SearchStrategy[Raw]:
    numbers = st.floats(width=width, allow_nan=False, allow_infinity=False).map(repr).flatmap(_number)
    odd = st.sampled_from(['"NaN"', '"Infinity"', '"-Infinity"', "NaN", "1e999", "-0", "-0.0", '"0x1p3"', '"1f"'])
    return st.one_of(numbers, numbers, odd.map(Raw))


def _datetimes(data_type: DataType) -> st.SearchStrategy[Raw]:
    moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))
    separators = st.sampled_from([" ", "T"])
    offsets = ["", "", "Z", "+02:00", "-0930", "+05"] if data_type.name == "TIMESTAMP_LTZ" else ["", "", "", "Z"]
    text = st.builds(lambda m, s, o: Raw(f'"{m.isoformat(s)}{o}"'), moments, separators, st.sampled_from(offsets))
    millis = st.integers(-(10**12), 4 * 10**12).map(lambda n: Raw(n))
    odd = st.sampled_from(['"2024-02-30 00:00:00"', '"2024-01-01"', '"2024-01-01 24:00:00"', "1.5e12", "1e30"])
    return st.one_of(text, text, millis, odd.map(Raw))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def quoted(value: object) -> Raw:
    return Raw(json.dumps(str(value), ensure_ascii=False))


def _scalar(data_type: DataType) -> st.SearchStrategy[Raw]:
    match data_type.name:
        case "BOOLEAN":
            return st.sampled_from(["true", "false", "true", '"TRUE"', '"no"', "1"]).map(Raw)
        case "VARCHAR":
            return st.one_of(texts.map(quoted), texts.map(lambda t: Raw(json.dumps(t))), _integer(64), junk)
        case "BYTES" | "VARBINARY":
            encoded = st.binary(max_size=9).map(lambda b: quoted(base64.b64encode(b).decode()))
            return st.one_of(encoded, encoded, st.sampled_from(['"AAE"', '"A"', '"%%"']).map(Raw))
        case "DATE":
            return st.one_of(st.dates(date(1900, 1, 1)).map(quoted), st.just(Raw('"2024-2-1"')))
        case "TIME":
            return st.one_of(st.times().map(quoted), st.just(Raw('"12:30"')))
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return _datetimes(data_type)
        case "FLOAT" | "DOUBLE":
            return _floating(32 if data_type.name == "FLOAT" else 64)
        case name:
            return _integer(INTEGERS[name])


junk: st.SearchStrategy[Raw] = st.sampled_from(
    ["true", "[]", "{}", '{"a": [1, 2.50]}', '"text"', "12", "-1.25", "[[[]]]", '"\\ud800"', '""']
).map(Raw)


def values(data_type: DataType) -> st.SearchStrategy[Raw]:
    """JSON text of a value of that type; mostly a good one, seldom something else, sometimes null."""
    match data_type:
        case DecimalType():
            good = _decimal(data_type)
        case ArrayType():
            good = st.lists(values(data_type.element), max_size=3).map(lambda vs: Raw(f"[{', '.join(vs)}]"))
        case MapType():
            keys = map_key_texts(data_type.key)
            good = objects(st.lists(st.tuples(keys, values(data_type.value)), max_size=3))
        case StructType():
            good = objects(pairs(data_type.fields))
        case _:
            good = _scalar(data_type)
    return st.integers(0, 29).flatmap(lambda n: junk if n == 0 else st.just(Raw("null")) if n < 4 else good)


def map_key_texts(data_type: DataType) -> st.SearchStrategy[str]:
    match data_type.name:
        case "BIGINT" | "INTEGER":
            return st.integers(-99, 2**31 - 1).map(str)
        case "DATE":
            return st.dates(date(1900, 1, 1)).map(str)
        case "BOOLEAN":
            return st.sampled_from(["true", "false"])
        case _:
            return texts


def objects(content: st.SearchStrategy[list[tuple[str, Raw]]]) -> st.SearchStrategy[Raw]:
    return content.map(lambda ps: Raw("{" + ",".join(f"{quoted(n)}: {v}" for n, v in ps) + "}"))


@st.composite
def pairs(draw: Any, fields: tuple[Field | Column, ...]) -> list[tuple[str, Raw]]:
    """Most fields, seldom in another order, another case, twice, or with one that nobody declared."""
    result = [(f.name, draw(values(f.type))) for f in fields if draw(st.integers(0, 9)) > 0]
    if draw(st.integers(0, 4)) == 0:
        result = [(draw(st.sampled_from([n, n.upper(), n.lower()])), v) for n, v in result]
    if draw(st.integers(0, 6)) == 0:
        result.append(("extra", draw(junk)))
    if result and draw(st.integers(0, 9)) == 0:
        result.append(draw(st.sampled_from(result)))
    return list(draw(st.permutations(result))) if draw(st.integers(0, 3)) == 0 else result


@st.composite
def records(draw: Any, declared: tuple[Column, ...]) -> bytes:
    """A record of the columns; one in eight is cut, stained or something else altogether."""
    data = draw(objects(pairs(declared))).encode()
    match draw(st.integers(0, 31)):
        case 0:
            return bytes(data[: draw(st.integers(0, len(data)))])
        case 1:
            at = draw(st.integers(0, len(data) - 1))
            return bytes(data[:at] + draw(st.binary(min_size=1, max_size=2)) + data[at + 1 :])
        case 2:
            return bytes(draw(st.binary(max_size=20)))
        case 3:
            return bytes(data + draw(st.sampled_from([b" ", b"\n", b"}", b" 1", b"\x00"])))
        case _:
            return bytes(data)


batches = columns.flatmap(
    lambda declared: st.tuples(st.just(declared), st.lists(records(declared), min_size=20, max_size=40))
)
