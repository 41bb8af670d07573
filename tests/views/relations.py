"""Views and their changelog records for tests."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from millpond.catalog.model import Relation, RelationKind
from millpond.stores.formats.records import encode_key, encode_value
from millpond.stores.protocol import NewRecord, Record
from millpond.types import BIGINT, VARCHAR, Column

VISITS = Relation(
    id="7f-1",
    database="default",
    schema="public",
    name="visits",
    kind=RelationKind.VIEW,
    columns=(Column("url", VARCHAR), Column("device", VARCHAR), Column("visits", BIGINT)),
    primary_key=("url", "device"),
    store="kafka",
    topic="visits",
    value_format="json",
    key_format="json",
    key_type=None,
    key_columns=("url", "device"),
    timestamp_column=None,
    timestamp_format="sql",
    owner="sysadmin",
    created_at=0,
    updated_at=0,
)


def another(name: str, **changes: Any) -> Relation:
    """A view like VISITS with a topic of its own."""
    return replace(VISITS, id=f"7f-{name}", name=name, topic=name, **changes)


def upsert(url: str, visits: int | None, device: str = "d", ts: int | None = None) -> NewRecord:
    """The record of a row of VISITS; no visits: a delete."""
    key = encode_key(VISITS, (url, device))
    value = None if visits is None else encode_value(VISITS, (url, device, visits))
    stamp = int(time.time() * 1000) if ts is None else ts
    return NewRecord(key, value, [("mp.src", b"0:0"), ("mp.ts", b"%d" % stamp)])


def at(offset: int, new: NewRecord, partition: int = 0, topic: str = "visits") -> Record:
    """`new` as it lies in the topic."""
    return Record(topic, partition, offset, 1, new.key, new.value, new.headers)
