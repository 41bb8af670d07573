"""Constants as values."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation

from millpond.plan.expressions import Literal
from millpond.types import BIGINT, DOUBLE, INTEGER, VARCHAR, DataType, DecimalType, Sized

INTEGER_LIMIT = 2**31
BIGINT_LIMIT = 2**63
INTEGER_RANGE = {"TINYINT": 2**7, "SMALLINT": 2**15, "INTEGER": 2**31, "BIGINT": 2**63}
"""Type -> the first number that is too large for it."""

_DATE = r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
_TIME = r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?"
_ZONE = r"(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)"
_DATETIME = re.compile(rf"\s*{_DATE}(?:[ T]{_TIME}\s*{_ZONE}?)?\s*")
_DAY = re.compile(rf"\s*{_DATE}(?:[ T].*)?\s*")
_CLOCK = re.compile(rf"\s*{_TIME}\s*")


def number_literal(text: str) -> Literal:
    """1 is INTEGER (or BIGINT, or DECIMAL by size), 1.5 DECIMAL(2, 1), 1e3 DOUBLE."""
    if "e" in text.lower():
        return Literal(DOUBLE, float(text))
    if "." not in text:
        value = int(text)
        if -INTEGER_LIMIT <= value < INTEGER_LIMIT:
            return Literal(INTEGER, value)
        if -BIGINT_LIMIT <= value < BIGINT_LIMIT:
            return Literal(BIGINT, value)
    number = Decimal(text)
    digits, exponent = number.as_tuple().digits, number.as_tuple().exponent
    scale = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    precision = max(len(digits), scale, 1)
    if precision > 38:
        return Literal(DOUBLE, float(text))
    return Literal(DecimalType(precision=precision, scale=scale), number)


def text_literal(text: str) -> Literal:
    return Literal(VARCHAR, text)


def read_date(text: str) -> date | None:
    """A date in 'yyyy-MM-dd' (month and day may be left out, a time after it is ignored), or None."""
    found = _DAY.fullmatch(text)
    if not found:
        return None
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        return None


def read_time(text: str) -> time | None:
    """A time in 'HH:mm[:ss[.ffffff]]', or None."""
    found = _CLOCK.fullmatch(text)
    if not found:
        return None
    try:
        return _time(*found.groups())
    except ValueError:
        return None


def _time(hour: str | None, minute: str | None, second: str | None, fraction: str | None) -> time:
    micros = int((fraction or "").ljust(6, "0")[:6])
    return time(int(hour or 0), int(minute or 0), int(second or 0), micros)


def read_timestamp(text: str) -> datetime | None:
    """A point in time in 'yyyy-MM-dd[ T]HH:mm[:ss[.ffffff]][zone]' as UTC, or None. Without a zone it is UTC."""
    found = _DATETIME.fullmatch(text)
    if not found:
        return None
    year, month, day, *clock, zone = found.groups()
    try:
        when = datetime.combine(date(int(year), int(month or 1), int(day or 1)), _time(*clock), _zone(zone))
        return when.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(text: str | None) -> timezone:
    if text is None or text in ("Z", "UTC", "GMT"):
        return UTC
    digits = text[1:].replace(":", "")
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    if minutes > 59:
        raise ValueError(text)
    offset = timedelta(hours=hours, minutes=minutes)
    if offset > timedelta(hours=18):
        raise ValueError(text)
    return timezone(-offset if text[0] == "-" else offset)


def constant_cast(text: str, target: DataType) -> Literal | None:
    """The constant that CAST('text' AS target) is where it reads cleanly, else None."""
    if target.name == "DATE":
        day = read_date(text)
        return None if day is None else Literal(target, day)
    if target.name == "TIME":
        clock = read_time(text)
        return None if clock is None else Literal(_exact(target, clock.microsecond), clock)
    if target.name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        when = read_timestamp(text)
        if when is None:
            return None
        value = when if target.name == "TIMESTAMP_LTZ" else when.replace(tzinfo=None)
        return Literal(_exact(target, when.microsecond), value)
    if target.name == "BOOLEAN":
        truth = {"true": True, "false": False}.get(text.strip().lower())
        return None if truth is None else Literal(target, truth)
    return _constant_number(text, target)


def _constant_number(text: str, target: DataType) -> Literal | None:
    """A number of exactly the type `target`, or None where it is none or would lose digits."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not number.is_finite():
        return None
    if target.name in ("FLOAT", "DOUBLE"):
        return Literal(target, float(number))
    if isinstance(target, DecimalType):
        exact = round(number, target.scale) if number.adjusted() < 38 else None
        return Literal(target, exact) if exact == number and fits_decimal(exact, target) else None
    limit = INTEGER_RANGE.get(target.name, 0)
    return Literal(target, int(number)) if number == int(number) and -limit <= number < limit else None


def fits_decimal(number: Decimal, target: DecimalType) -> bool:
    """Whether `number` has no more whole digits than `target`."""
    return abs(number) < Decimal(10) ** (target.precision - target.scale)


def _exact(target: DataType, microsecond: int) -> DataType:
    """`target`, with six digits where a constant has that many."""
    assert isinstance(target, Sized)
    needed = 6 if microsecond % 1000 else 3 if microsecond else 0
    return Sized(target.name, max(needed, target.size or 0) or None)
