"""Dates and times at both ends of the years 1 to 9999: all decoders, Java's and Python's, take or refuse them alike."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from millpond.types import DATE, TIMESTAMP, TIMESTAMP_LTZ, DataType

HELD: list[tuple[DataType, str, Any]] = [
    (DATE, '"0001-01-01"', date(1, 1, 1)),
    (DATE, '"9999-12-31"', date(9999, 12, 31)),
    (TIMESTAMP, '"0001-01-01 00:00:00"', datetime(1, 1, 1)),
    (TIMESTAMP, '"9999-12-31 23:59:59.999999"', datetime(9999, 12, 31, 23, 59, 59, 999_999)),
    (TIMESTAMP, "-62135596800000", datetime(1, 1, 1)),
    (TIMESTAMP, "253402300799999", datetime(9999, 12, 31, 23, 59, 59, 999_000)),
    (TIMESTAMP_LTZ, '"0001-01-01 02:00:00+02:00"', datetime(1, 1, 1, tzinfo=UTC)),
]
"""Type, JSON, the value."""

OUTSIDE: list[tuple[DataType, str]] = [
    (DATE, '"-5000-01-01"'),
    (DATE, '"0000-12-31"'),
    (DATE, '"+10000-01-01"'),
    (DATE, '"10000-01-01"'),
    (TIMESTAMP, "253402300800000"),
    (TIMESTAMP, "-62135596800001"),
    (TIMESTAMP, "-99999999999999"),
    (TIMESTAMP, '"+294276-12-31 23:59:59"'),
    (TIMESTAMP, '"294276-12-31 23:59:59"'),
    (TIMESTAMP, '"-0044-03-15 00:00:00"'),
    (TIMESTAMP, '"0000-01-01 00:00:00"'),
    (TIMESTAMP_LTZ, "253402300800000"),
    (TIMESTAMP_LTZ, '"9999-12-31 23:59:59-01:00"'),
    (TIMESTAMP_LTZ, '"0001-01-01 00:00:00+01:00"'),
]
"""Type and JSON of what is no value of it."""
