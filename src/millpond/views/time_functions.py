"""SQLite functions over times: timestamps are epoch microseconds, dates epoch days, times microseconds of the day."""

from __future__ import annotations

import calendar
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from millpond.plan.functions.temporal import LIMITS
from millpond.plan.literals import read_date, read_time, read_timestamp
from millpond.stores.formats.temporal import (
    EPOCH_UTC,
    MICROS_PER_DAY,
    from_date,
    from_datetime,
    from_time,
    to_date,
)
from millpond.views.java_time import format_time, parse_time

FIXED = {
    "WEEK": 7 * MICROS_PER_DAY,
    "DAY": MICROS_PER_DAY,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
"""Microseconds of the units that are always equally long."""
MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}


def moment(micros: int) -> datetime:
    """Epoch microseconds as UTC; OverflowError outside the years 1 to 9999."""
    return EPOCH_UTC + timedelta(microseconds=micros)


def now() -> int:
    """Epoch microseconds of now, whole milliseconds as in Spark."""
    return time.time_ns() // 1_000_000 * 1000


def _shifted(when: date, months: int) -> date:
    """`when` some months later, on the last day of a shorter month."""
    total = when.year * 12 + when.month - 1 + months
    year, month = total // 12, total % 12 + 1
    return when.replace(year=year, month=month, day=min(when.day, calendar.monthrange(year, month)[1]))


def timestamp_add(unit: str, amount: int, micros: int) -> int | None:
    """`micros` moved by `amount` units."""
    if abs(amount) > LIMITS[unit]:
        return None
    if unit in FIXED:
        return from_datetime(moment(micros + amount * FIXED[unit]))
    when = moment(micros)
    return from_datetime(datetime.combine(_shifted(when.date(), amount * MONTHS[unit]), when.time(), UTC))


def date_add(unit: str, amount: int, days: int) -> int | None:
    """`days` moved by `amount` units of whole days."""
    moved = timestamp_add(unit, amount, days * MICROS_PER_DAY)
    return None if moved is None else moved // MICROS_PER_DAY


def timestamp_diff(unit: str, start: int, end: int) -> int:
    """Whole units from `start` to `end`, towards zero."""
    if unit in FIXED:
        distance = abs(end - start) // FIXED[unit]
    else:
        early, late = sorted((moment(start), moment(end)))
        months = (late.year - early.year) * 12 + late.month - early.month
        months -= (late.day, late.time()) < (early.day, early.time())
        distance = months // MONTHS[unit]
    return distance if end >= start else -distance


def date_trunc(unit: str, micros: int) -> int:
    """The beginning of the unit; weeks begin on Mondays."""
    if unit in FIXED and unit != "WEEK":
        return micros - micros % FIXED[unit]
    day = moment(micros).date()
    if unit == "WEEK":
        first = day - timedelta(days=day.weekday())
    else:
        first = day.replace(month=(day.month - 1) // MONTHS[unit] * MONTHS[unit] + 1, day=1)
    return from_date(first) * MICROS_PER_DAY


PARTS: dict[str, Callable[[datetime], int]] = {
    "year": lambda when: when.year,
    "quarter": lambda when: (when.month + 2) // 3,
    "month": lambda when: when.month,
    "week": lambda when: when.isocalendar().week,
    "day": lambda when: when.day,
    "dayofyear": lambda when: when.timetuple().tm_yday,
    "dayofweek": lambda when: when.isoweekday() % 7 + 1,
    "isodow": lambda when: when.isoweekday(),
    "hour": lambda when: when.hour,
    "minute": lambda when: when.minute,
    "second": lambda when: when.second,
    "epoch": lambda when: from_datetime(when) // 1_000_000,
}


def from_epoch(value: int, unit: int) -> int:
    """Epoch microseconds from a count of units of `unit` microseconds; OverflowError outside the calendar."""
    return from_datetime(moment(value * unit))


def timestamp_text(micros: int, digits: int) -> str:
    """'yyyy-MM-dd HH:mm:ss' and `digits` digits of the second."""
    return format_time(moment(micros), "yyyy-MM-dd HH:mm:ss" + ("." + "S" * digits if digits else ""))


def time_text(micros: int, digits: int) -> str:
    """'HH:mm:ss' and `digits` digits of the second."""
    return format_time(moment(micros), "HH:mm:ss" + ("." + "S" * digits if digits else ""))


def _parsed(text: str, pattern: str) -> int | None:
    when = parse_time(text, pattern)
    return None if when is None else from_datetime(when)


def _read_timestamp(text: str) -> int | None:
    when = read_timestamp(text)
    return None if when is None else from_datetime(when)


def _read_date(text: str) -> int | None:
    day = read_date(text)
    return None if day is None else from_date(day)


def _read_time(text: str) -> int | None:
    clock = read_time(text)
    return None if clock is None else from_time(clock)


def _last_day(days: int) -> int:
    day = to_date(days)
    return from_date(day.replace(day=calendar.monthrange(day.year, day.month)[1]))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mp_date_part": lambda part, micros: PARTS[part](moment(micros)),
    "mp_unix_seconds": lambda micros: micros // 1_000_000,
    "mp_unix_millis": lambda micros: micros // 1_000,
    "mp_from_epoch": from_epoch,
    "mp_timestamp_add": timestamp_add,
    "mp_date_add": date_add,
    "mp_timestamp_diff": timestamp_diff,
    "mp_date_trunc": date_trunc,
    "mp_truncate": lambda micros, unit: micros - micros % unit,
    "mp_to_date": lambda micros: micros // MICROS_PER_DAY,
    "mp_to_time": lambda micros, unit: micros % MICROS_PER_DAY // unit * unit,
    "mp_date_format": lambda micros, pattern: format_time(moment(micros), pattern),
    "mp_parse_timestamp": _parsed,
    "mp_text_to_timestamp": _read_timestamp,
    "mp_text_to_date": _read_date,
    "mp_text_to_time": _read_time,
    "mp_timestamp_text": timestamp_text,
    "mp_time_text": time_text,
    "mp_date_text": lambda days: to_date(days).isoformat(),
    "mp_last_day": _last_day,
    "mp_make_date": lambda year, month, day: from_date(date(year, month, day)),
}
"""NULL in, NULL out; what is outside the calendar is NULL."""

VOLATILE: dict[str, Callable[..., Any]] = {"mp_now": now}
