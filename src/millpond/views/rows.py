"""Changelog records -> rows for SQLite, a batch at a time.

Building Python values and turning them into SQLite's would cost more than storing them. So a batch is parsed
as one JSON array, and a column is taken as it is wherever JSON's value is what SQLite keeps.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from millpond.catalog.model import Relation
from millpond.stores.formats import temporal
from millpond.stores.formats.json_reader import (
    has_decimal,
    json_text,
    parse_exactly,
    parse_quickly,
    plain_string,
    timestamp_micros,
)
from millpond.stores.formats.numbers import SPECIAL, parse_decimal
from millpond.stores.formats.records import excluded, value_decoder
from millpond.stores.formats.undecodable import UndecodableError
from millpond.stores.protocol import Headers, Record
from millpond.types import NESTED, DataType, DecimalType
from millpond.views.values import row_encoder

Convert = Callable[[Any], Any]


@dataclass(slots=True)
class Rows:
    """What a batch does to a view: the last word for each key.

    `upserts` are rows of key, visible columns, ingested; `deletes` are rows of key, ingested.
    """

    upserts: list[Sequence[Any]] = field(default_factory=list)
    deletes: list[tuple[bytes, int]] = field(default_factory=list)
    undecodable: int = 0
    problem: str = ""
    """Where and why the last undecodable record was one."""


class RowReader:
    """Reads the records of one view's changelog."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self._names = [c.name for c in relation.columns]
        self._converts = [_converter(c.type) for c in relation.columns]
        self._parse = parse_exactly if any(has_decimal(c.type) for c in relation.columns) else parse_quickly
        self._whole = relation.value_format == "json" and not excluded(relation)

    def read(self, records: Sequence[Record], *, strictly: bool = False) -> Rows:
        """The rows of a batch. `strictly`: one by one and checked, for a batch that SQLite refused."""
        last = {r.key: r for r in records}
        rows = Rows()
        keyless = last.pop(None, None)
        if keyless is not None:
            _note(rows, keyless, "it has no key")
        rows.deletes = [(r.key or b"", ingested(r)) for r in last.values() if r.value is None]
        live = [r for r in last.values() if r.value is not None] if rows.deletes else list(last.values())
        if live and (strictly or not self._whole or not self._read_whole(live, rows)):
            self._read_each(live, rows)
        return rows

    def _read_whole(self, live: list[Record], rows: Rows) -> bool:
        """All records as one JSON array; False if any of them is not what it should be."""
        try:
            docs = self._parse(b"[" + b",".join([r.value for r in live]) + b"]")  # type: ignore[misc]
            if len(docs) != len(live):
                return False
            columns = [self._column(docs, n, c) for n, c in zip(self._names, self._converts, strict=True)]
        except Exception:  # noqa: BLE001 - whatever it is, reading one by one names the record
            return False
        rows.upserts = list(zip([r.key for r in live], *columns, [ingested(r) for r in live], strict=True))
        return True

    def _column(self, docs: list[dict[str, Any]], name: str, convert: Convert | frozenset[type]) -> list[Any]:
        if isinstance(convert, frozenset):
            values = [doc.get(name) for doc in docs]
            if not convert.issuperset(map(type, values)):
                raise TypeError(name)
            return values
        return [None if (v := doc.get(name)) is None else convert(v) for doc in docs]

    def _read_each(self, live: Iterable[Record], rows: Rows) -> None:
        decode, encode = value_decoder(self.relation), row_encoder(self.relation.columns)
        for record in live:
            try:
                row = encode(decode(record.key, record.value or b""))
            except UndecodableError as error:
                _note(rows, record, str(error))
            else:
                rows.upserts.append((record.key, *row, ingested(record)))


def ingested(record: Record) -> int:
    """Epoch milliseconds at which the source event came in; the record's own time if nobody wrote it down."""
    return header_millis(record.headers) or record.timestamp


def header_millis(headers: Headers) -> int | None:
    """The header `mp.ts`."""
    for name, value in headers:
        if name == "mp.ts" and value:
            return int(value)
    return None


def _note(rows: Rows, record: Record, problem: str) -> None:
    rows.undecodable += 1
    rows.problem = f"{record.topic}[{record.partition}]@{record.offset}: {problem}"


def _converter(type_: DataType) -> Convert | frozenset[type]:
    """JSON's value -> SQLite's; where they are the same, the Python types that JSON's may have."""
    if type_.name in NESTED:
        return json_text
    if isinstance(type_, DecimalType):
        return lambda value: f"{parse_decimal(type_, str(value)):f}"
    return CONVERTS.get(type_.name) or TAKEN_AS_IT_IS[type_.name]


def _float(value: Any) -> Any:
    """'NaN' stays text, the infinities are numbers to SQLite."""
    return SPECIAL[value] if isinstance(value, str) and value != "NaN" else value


TAKEN_AS_IT_IS: dict[str, frozenset[type]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), frozenset((int, type(None)))),
    "BOOLEAN": frozenset((bool, type(None))),
    "VARCHAR": frozenset((str, type(None))),
}
CONVERTS: dict[str, Convert] = {
    "FLOAT": _float,
    "DOUBLE": _float,
    "DATE": lambda v: temporal.parse_date(plain_string("DATE", v)),
    "TIME": lambda v: temporal.parse_time(plain_string("TIME", v)),
    "TIMESTAMP": partial(timestamp_micros, False),
    "TIMESTAMP_LTZ": partial(timestamp_micros, True),
    "BYTES": base64.b64decode,
    "VARBINARY": base64.b64decode,
}
