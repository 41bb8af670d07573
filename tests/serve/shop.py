"""A catalog and a view store with known contents: what pull queries are asked about in tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import Relation, RelationKind
from millpond.stores.formats.records import encode_key, encode_value
from millpond.stores.protocol import Record
from millpond.type_text import read_type
from millpond.types import Column
from millpond.views.reader import ViewReader
from millpond.views.schema import ViewIndex
from millpond.views.store import ViewStore
from tests.catalog.examples import CLICKS, KAFKA, VISITS, ticking

KINDS = {
    "id": "INTEGER",
    "flag": "BOOLEAN",
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "big": "BIGINT",
    "price": "DECIMAL(10, 2)",
    "ratio": "DOUBLE",
    "part": "FLOAT",
    "txt": "VARCHAR",
    "raw": "BYTES",
    "day": "DATE",
    "clock": "TIME",
    "seen": "TIMESTAMP(3)",
    "at": "TIMESTAMP_LTZ(3)",
    "tags": "ARRAY<VARCHAR>",
    "scores": "MAP<VARCHAR, BIGINT>",
    "home": "STRUCT<city VARCHAR, zip INTEGER>",
}
FIRST: tuple[Any, ...] = (
    1,
    True,
    7,
    300,
    2**40,
    Decimal("9.50"),
    2.5,
    0.5,
    "grüß",
    b"\x00\xff",
    date(2024, 2, 29),
    time(12, 30, 15),
    datetime(2024, 5, 6, 7, 8, 9, 123000),
    datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC),
    ["a", "b"],
    {"k": 1},
    {"city": "Bonn", "zip": 53111},
)
SECOND: tuple[Any, ...] = (
    2,
    False,
    -7,
    -300,
    -(2**40),
    Decimal("10.00"),
    -2.5,
    1.5,
    "it's",
    b"",
    date(1969, 12, 31),
    time(0, 0),
    datetime(1969, 12, 31, 23, 59, 59),
    datetime(2024, 5, 6, 0, 0, tzinfo=UTC),
    [],
    {},
    {"city": None, "zip": None},
)

CONTENTS: Mapping[str, tuple[Mapping[str, str], tuple[str, ...], Sequence[Sequence[Any]]]] = {
    "visits": (
        {"url": "VARCHAR", "device": "VARCHAR", "visits": "BIGINT"},
        ("url", "device"),
        [("./home", "d1", 3), ("./home", "d2", 1), ("./cart", "d1", 2), ("./pay", "d3", 2)],
    ),
    "users": (
        {"userid": "VARCHAR", "name": "VARCHAR", "device": "VARCHAR", "age": "INTEGER"},
        ("userid",),
        [("u1", "Ann", "d1", 30), ("u2", "Bob", "d2", None), ("u3", "O'Hara", None, 41), ("u4", "ann", "d9", 30)],
    ),
    "kinds": (KINDS, ("id",), [FIRST, SECOND, (3, *[None] * 16)]),
    "empty": ({"url": "VARCHAR", "n": "BIGINT"}, ("url",), []),
    "odd": ({"Url": "VARCHAR", "order": "INTEGER"}, ("Url",), [("x", 1)]),
}
"""View -> its columns, primary key and rows."""


@dataclass(frozen=True)
class Shop:
    """The views above and the stream `clicks`, in schema default.public."""

    catalog: Catalog
    store: ViewStore
    reader: ViewReader

    def make(
        self, name: str, columns: Mapping[str, str], key: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> Relation:
        """A view with rows, in the catalog and in the store."""
        relation = self.catalog.create_relation(view(name, columns, key))
        indexes = [ViewIndex(i.name, i.columns) for i in self.catalog.indexes(relation.id)]
        self.store.create_view(relation, indexes)
        self.store.stage(relation.id, [_record(relation, n, row) for n, row in enumerate(rows)])
        self.store.finish_load(relation.id, {0: len(rows)})
        return relation


def view(name: str, columns: Mapping[str, str], key: Sequence[str]) -> Relation:
    """A view's relation; types as text."""
    made = tuple(Column(c, read_type(t)) for c, t in columns.items())
    return replace(
        VISITS, name=name, topic=name, columns=made, primary_key=tuple(key), key_columns=tuple(key), key_type=None
    )


def _record(relation: Relation, offset: int, row: Sequence[Any]) -> Record:
    values = {c.name: v for c, v in zip(relation.columns, row, strict=True)}
    key = encode_key(relation, [values[c] for c in relation.key_columns])
    return Record(relation.topic, 0, offset, 1, key, encode_value(relation, row))


@contextmanager
def open_shop(folder: Path, names: Sequence[str] = tuple(CONTENTS)) -> Iterator[Shop]:
    """The shop with these of its views."""
    catalog = Catalog.in_memory(ticking())
    catalog.create_store(KAFKA)
    catalog.create_relation(replace(CLICKS, kind=RelationKind.STREAM))
    store = ViewStore(folder / "views.db")
    shop = Shop(catalog, store, ViewReader(folder / "views.db"))
    try:
        for name in names:
            shop.make(name, *CONTENTS[name])
        yield shop
    finally:
        shop.reader.close()
        store.close()
        catalog.close()
