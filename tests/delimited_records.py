"""Records and rows in delimited text: what both decoders and both encoders are held against."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from millpond.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    TIME,
    TIMESTAMP,
    TIMESTAMP_LTZ,
    VARCHAR,
    Column,
    DataType,
    DecimalType,
)
from tests import avro_records as av

Columns = tuple[Column, ...]
D = DecimalType(precision=9, scale=2)


def columns_of(*types: DataType) -> Columns:
    return tuple(Column(f"c{i}", type_) for i, type_ in enumerate(types))


ID_NAME = columns_of(BIGINT, VARCHAR)
GOOD: list[tuple[Columns, str, bytes, tuple[Any, ...]]] = [
    (ID_NAME, ",", b"1,a", (1, "a")),
    (ID_NAME, ",", b"1,a\n", (1, "a")),
    (ID_NAME, ",", b"1,a\r\n", (1, "a")),
    (ID_NAME, ",", b'"1","a"', (1, "a")),
    (ID_NAME, ",", b'1,"a, ""b"" \r\n c" \t', (1, 'a, "b" \r\n c')),
    (ID_NAME, ",", b'1,a "b" c', (1, 'a "b" c')),
    (ID_NAME, ",", b'1, "a"', (1, ' "a"')),
    (ID_NAME, ",", b",", (None, None)),
    (ID_NAME, ",", b'"",""', (None, "")),
    (ID_NAME, "|", b"1|a,b", (1, "a,b")),
    (ID_NAME, "\t", b'1\t"a\tb"', (1, "a\tb")),
    (ID_NAME, "\t", b'"1"\ta', (1, "a")),
    (ID_NAME, " ", b'"1" a', (1, "a")),
    (ID_NAME, "\u00a7", "1\u00a7\u00e9\U0001f600".encode(), (1, "\u00e9\U0001f600")),
    (columns_of(VARCHAR), ",", b"", (None,)),
    (columns_of(VARCHAR), ",", b"\n", (None,)),
    (columns_of(VARCHAR), ",", b'""', ("",)),
    (
        columns_of(D, BOOLEAN, BYTES, DOUBLE, DATE, TIME),
        ",",
        b"1.005,TRUE,AP8=,-Infinity,2024-02-29,23:59:59.5",
        (Decimal("1.01"), True, b"\0\xff", float("-inf"), date(2024, 2, 29), time(23, 59, 59, 500_000)),
    ),
    (
        columns_of(TIMESTAMP, TIMESTAMP_LTZ, BYTES, DOUBLE),
        ",",
        b'2024-02-29 01:02:03,2024-02-29T01:02:03+01:00,"",1e3',
        (datetime(2024, 2, 29, 1, 2, 3), datetime(2024, 2, 29, 0, 2, 3, tzinfo=UTC), b"", 1000.0),
    ),
]
"""Columns, delimiter, record -> row."""

BAD: list[tuple[Columns, str, bytes, str]] = [
    (ID_NAME, ",", b"", "1 fields where there are 2 columns"),
    (ID_NAME, ",", b"1", "1 fields where there are 2 columns"),
    (ID_NAME, ",", b"1,a,", "3 fields where there are 2 columns"),
    (ID_NAME, "|", b"1,a", "1 fields where there are 2 columns"),
    (ID_NAME, ",", b'1,"a', "a quote is not closed"),
    (ID_NAME, ",", b'1,"a""', "a quote is not closed"),
    (ID_NAME, ",", b'1,"a"b', "more follows a closing quote"),
    (ID_NAME, ",", b"1,a\n2,b", "more than one line"),
    (ID_NAME, ",", b"1,a\n\n", "more than one line"),
    (ID_NAME, ",", b"1,\xff", "not UTF-8"),
    (ID_NAME, ",", b"x,a", "column 'c0': 'x' is not a BIGINT"),
    (ID_NAME, ",", b" 1,a", "column 'c0': ' 1' is not a BIGINT"),
    (columns_of(BYTES), ",", b"?", "column 'c0': '?' is not base64"),
    (columns_of(D), ",", b"1e9", "column 'c0'"),
    (columns_of(DATE), ",", b"2023-02-29", "column 'c0'"),
]
"""Columns, delimiter, record, and a part of the reason why it does not decode."""

WRITTEN: list[tuple[Columns, str, tuple[Any, ...], bytes]] = [
    (ID_NAME, ",", (1, "a b"), b"1,a b"),
    (ID_NAME, ",", (None, None), b","),
    (ID_NAME, ",", (1, ""), b'1,""'),
    (ID_NAME, ",", (1, 'a"b'), b'1,"a""b"'),
    (ID_NAME, ",", (1, "a\nb"), b'1,"a\nb"'),
    (ID_NAME, ",", (1, " a"), b'1," a"'),
    (ID_NAME, ",", (1, "a\t"), b'1,"a\t"'),
    (ID_NAME, "|", (1, "a,b|"), b'1|"a,b|"'),
    (columns_of(INTEGER, D), "-", (-1, Decimal("0.50")), b'"-1"-0.50'),
    (columns_of(TIMESTAMP, BYTES), " ", (datetime(2024, 1, 1), b""), b'"2024-01-01 00:00:00" ""'),
    (columns_of(BOOLEAN, DOUBLE, TIME), ";", (False, 1e10, time(1, 2)), b"false;1.0E10;01:02:00"),
    (columns_of(VARCHAR), ",", (None,), b""),
]
"""Columns, delimiter, row -> record."""

delimiters = st.sampled_from([",", "|", "\t", " ", ";", "-", "\u00a7"])
texts = st.text(st.sampled_from('a,|"\t \r\n;-\u00a7\u00e9\U0001f600'), max_size=6)
types = st.one_of(st.sampled_from(list(av.SCALARS)), av.decimals)
columns = st.lists(types, min_size=1, max_size=4).map(lambda found: columns_of(*found))


def values(type_: DataType) -> st.SearchStrategy[Any]:
    return st.one_of(texts, av.values(type_)) if type_ == VARCHAR else av.values(type_)


tables = columns.flatmap(
    lambda cs: st.tuples(
        st.just(cs), delimiters, st.lists(st.tuples(*(values(c.type) for c in cs)), min_size=5, max_size=20)
    )
)
"""Columns, a delimiter, and rows of them."""
