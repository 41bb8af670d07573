"""Dates and times as text, and as the numbers that they are kept in: epoch days and microseconds.

The numbers reach further than the years 1 to 9999 that the types hold: turning one into a Python value can fail.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache

from millpond.stores.formats.undecodable import UndecodableError, not_a

MICROS_PER_DAY = 86_400_000_000
EPOCH = datetime(1970, 1, 1)
EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY = date(1970, 1, 1).toordinal()
MICROSECOND = timedelta(microseconds=1)

DATE = r"(\d{4}|[+-]\d{4,6})-(\d\d)-(\d\d)"
TIME = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
DATE_TEXT = re.compile(DATE, re.ASCII)
TIME_TEXT = re.compile(TIME, re.ASCII)
DATE_TIME_TEXT = re.compile(rf"({DATE})[ T]({TIME})(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII)


@lru_cache(4096)
def parse_date(text: str, type_name: str = "DATE") -> int:
    """Epoch days of `YYYY-MM-DD`."""
    found = DATE_TEXT.fullmatch(text)
    if found is None:
        raise not_a(type_name, text)
    year, month, day = map(int, found.groups())
    # The calendar repeats every 400 years: days of a year that Python has, shifted.
    cycles = year // 400 - 5
    try:
        return date(year - cycles * 400, month, day).toordinal() - EPOCH_DAY + cycles * 146_097
    except ValueError:
        raise not_a(type_name, text) from None


def parse_time(text: str, type_name: str = "TIME") -> int:
    """Microseconds of the day of `HH:MM:SS[.f]`; digits behind the sixth are dropped."""
    found = TIME_TEXT.fullmatch(text)
    if found is None:
        raise not_a(type_name, text)
    hour, minute, second, fraction = found.groups()
    if hour > "23" or minute > "59" or second > "59":
        raise not_a(type_name, text)
    micros = int(fraction[:6].ljust(6, "0")) if fraction else 0
    return (int(hour) * 3600 + int(minute) * 60 + int(second)) * 1_000_000 + micros


def parse_timestamp(text: str, *, zoned: bool) -> int:
    """Epoch microseconds. An offset is for TIMESTAMP_LTZ (`zoned`) only; without one it is UTC."""
    type_name = "TIMESTAMP_LTZ" if zoned else "TIMESTAMP"
    found = DATE_TIME_TEXT.fullmatch(text)
    offset = found and found[10]
    if found is None or (offset and not zoned):
        raise not_a(type_name, text)
    micros = parse_date(found[1], type_name) * MICROS_PER_DAY + parse_time(found[5], type_name)
    return micros if not offset or offset == "Z" else micros - _offset_micros(offset, text)


def _offset_micros(offset: str, text: str) -> int:
    hours, minutes = int(offset[1:3]), int(offset[3:].removeprefix(":") or 0)
    if hours > 18 or minutes > 59:
        raise not_a("TIMESTAMP_LTZ", text)
    micros = (hours * 60 + minutes) * 60_000_000
    return -micros if offset[0] == "-" else micros


def to_date(days: int) -> date:
    """Epoch days as a Python date."""
    try:
        return date.fromordinal(days + EPOCH_DAY)
    except (ValueError, OverflowError):
        raise UndecodableError(f"day {days} is outside the years 1 to 9999") from None


def to_time(micros: int) -> time:
    """Microseconds of the day as a Python time."""
    seconds, micros = divmod(micros, 1_000_000)
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, micros)


def to_datetime(micros: int, *, zoned: bool) -> datetime:
    """Epoch microseconds as a Python datetime: in UTC if `zoned`, else naive."""
    try:
        return (EPOCH_UTC if zoned else EPOCH) + timedelta(microseconds=micros)
    except OverflowError:
        raise UndecodableError(f"microsecond {micros} is outside the years 1 to 9999") from None


def from_datetime(value: datetime) -> int:
    """Epoch microseconds; a naive value counts as UTC."""
    return (value - (EPOCH if value.tzinfo is None else EPOCH_UTC)) // MICROSECOND


def from_time(value: time) -> int:
    """Microseconds of the day."""
    return (value.hour * 3600 + value.minute * 60 + value.second) * 1_000_000 + value.microsecond


def from_date(value: date) -> int:
    """Epoch days."""
    return value.toordinal() - EPOCH_DAY


def time_text(micros: int) -> str:
    """`HH:MM:SS`, with milliseconds or microseconds if there are any."""
    seconds, micros = divmod(micros, 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if micros == 0:
        return text
    return f"{text}.{micros // 1000:03}" if micros % 1000 == 0 else f"{text}.{micros:06}"


def date_text(days: int) -> str:
    """`YYYY-MM-DD`."""
    return to_date(days).isoformat()


def timestamp_text(micros: int, separator: str, *, zoned: bool) -> str:
    """Date and time with `separator` between; Z behind it if `zoned`."""
    days, rest = divmod(micros, MICROS_PER_DAY)
    return f"{date_text(days)}{separator}{time_text(rest)}{'Z' if zoned else ''}"
