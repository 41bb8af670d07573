"""The hidden columns of a followed record: what rowtime(), rowkey() and rowmeta() read of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from millpond.catalog.model import Relation
from millpond.plan.nodes import KEY, OFFSET, PARTITION, ROWTIME, SEQUENCE, TOPIC
from millpond.stores.formats.temporal import to_datetime
from millpond.stores.formats.undecodable import UndecodableError
from millpond.stores.protocol import Record
from millpond.types import Column

Row = tuple[Any, ...]
PLACE: dict[str, Callable[[Record], Any]] = {
    PARTITION.name: lambda record: record.partition,
    OFFSET.name: lambda record: record.offset,
    KEY.name: lambda record: record.key,
    TOPIC.name: lambda record: record.topic,
    SEQUENCE.name: lambda record: str(record.offset),
}
"""What a record itself says."""


class RowColumns:
    """Puts `columns`, some of `plan.nodes.HIDDEN`, behind the columns of a row of `relation`."""

    def __init__(self, relation: Relation, columns: Sequence[Column], timestamp_column: str | None) -> None:
        self.columns = tuple(columns)
        names = [c.name for c in relation.columns]
        self._time = names.index(timestamp_column) if timestamp_column else None

    def behind(self, row: Row, record: Record, *, is_delete: bool = False) -> Row:
        """`row` and the hidden columns. The time of a delete is that of its record."""
        if not self.columns:
            return row
        event_time = None if is_delete or self._time is None else self._time
        return (*row, *(self._value(c.name, row, record, event_time) for c in self.columns))

    def _value(self, name: str, row: Row, record: Record, event_time: int | None) -> Any:
        if name != ROWTIME.name:
            return PLACE[name](record)
        if event_time is not None:
            return _instant(row[event_time])
        return _instant(record.timestamp) if record.timestamp >= 0 else None


def _instant(value: int | datetime | None) -> datetime | None:
    """A BIGINT is epoch milliseconds; one that no calendar has is NULL."""
    if not isinstance(value, int):
        return value
    try:
        return to_datetime(1000 * value, zoned=True)
    except UndecodableError:
        return None
