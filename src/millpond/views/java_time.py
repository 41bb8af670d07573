"""Times as text by Java's patterns, as Spark's date_format and to_timestamp read and write them. All in UTC."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

from millpond.plan.functions.datetime_pattern import Part, parse_pattern

MONTHS = tuple(calendar.month_name)[1:]
DAYS = tuple(calendar.day_name)
QUARTERS = ("1st", "2nd", "3rd", "4th")

Numbers = dict[str, int]


def format_time(when: datetime, pattern: str) -> str:
    """`when` (UTC) as text."""
    return "".join(_write(when, part) for part in parse_pattern(pattern))


def _write(when: datetime, part: Part) -> str:
    if not part.letter:
        return part.text
    if part.letter in "[]":
        return ""
    write = WRITERS.get(part.letter)
    if write:
        return write(when, part.count)
    return f"{NUMBERS[part.letter](when):0{part.count}d}"


def _year(when: datetime, count: int) -> str:
    return f"{when.year % 100:02d}" if count == 2 else f"{when.year:0{count}d}"


def _month(when: datetime, count: int) -> str:
    if count <= 2:
        return f"{when.month:0{count}d}"
    name = MONTHS[when.month - 1]
    return name[:3] if count == 3 else name


def _day_name(when: datetime, count: int) -> str:
    name = DAYS[when.weekday()]
    return name if count == 4 else name[:3]


def _quarter(when: datetime, count: int) -> str:
    quarter = (when.month + 2) // 3
    if count <= 2:
        return f"{quarter:0{count}d}"
    return f"Q{quarter}" if count == 3 else f"{QUARTERS[quarter - 1]} quarter"


WRITERS: dict[str, Callable[[datetime, int], str]] = {
    "y": _year,
    "u": _year,
    "M": _month,
    "L": _month,
    "E": _day_name,
    "a": lambda when, count: "AM" if when.hour < 12 else "PM",
    "S": lambda when, count: f"{when.microsecond:06d}000"[:count],
    "X": lambda when, count: "Z",
    "x": lambda when, count: ("+00", "+0000", "+00:00")[count - 1],
    "Z": lambda when, count: "+0000",
    "z": lambda when, count: "UTC",
    "V": lambda when, count: "UTC",
    "Q": _quarter,
    "q": _quarter,
}
NUMBERS: dict[str, Callable[[datetime], int]] = {
    "d": lambda when: when.day,
    "D": lambda when: when.timetuple().tm_yday,
    "H": lambda when: when.hour,
    "h": lambda when: when.hour % 12 or 12,
    "k": lambda when: when.hour or 24,
    "K": lambda when: when.hour % 12,
    "m": lambda when: when.minute,
    "s": lambda when: when.second,
}


def parse_time(text: str, pattern: str) -> datetime | None:
    """The time (UTC) that `text` stands for, or None. What the pattern leaves out is of 1970-01-01 00:00:00."""
    expression, groups = _reader(pattern)
    found = expression.fullmatch(text)
    if not found:
        return None
    numbers: Numbers = {}
    zone: timezone | ZoneInfo = UTC
    for name, part in groups:
        value = found[name]
        if value is None:
            continue
        if part.letter in "XxZzV":
            zone = _zone(value)
        else:
            number = _read(part, value)
            if numbers.setdefault(part.letter, number) != number:
                return None
    return _resolve(numbers, zone)


@lru_cache(256)
def _reader(pattern: str) -> tuple[re.Pattern[str], tuple[tuple[str, Part], ...]]:
    groups: list[tuple[str, Part]] = []
    text = ""
    for n, part in enumerate(parse_pattern(pattern)):
        if not part.letter:
            text += re.escape(part.text)
        elif part.letter in "[]":
            text += "(?:" if part.letter == "[" else ")?"
        else:
            groups.append((f"g{n}", part))
            text += f"(?P<g{n}>{_expression(part)})"
    return re.compile(text, re.IGNORECASE | re.ASCII), tuple(groups)


def _expression(part: Part) -> str:
    letter, count = part.letter, part.count
    if letter in "ML" and count >= 3:
        return "|".join(m[:3] if count == 3 else m for m in MONTHS)
    if letter == "E":
        return "|".join(d if count == 4 else d[:3] for d in DAYS)
    if letter in ZONES:
        return ZONES[letter][min(count, len(ZONES[letter])) - 1]
    if letter in "Qq":
        return "[1-4]" if count == 1 else "0[1-4]" if count == 2 else "Q[1-4]"
    if letter == "a":
        return "AM|PM"
    if letter == "S":
        return rf"\d{{1,{count}}}"
    return r"\d{1,9}" if count == 1 else rf"\d{{{count}}}"


_NUMERIC_ZONE = (r"Z|[+-]\d\d(?:\d\d)?", r"Z|[+-]\d{4}", r"Z|[+-]\d\d:\d\d")
ZONES = {
    "X": _NUMERIC_ZONE,
    "x": tuple(z.removeprefix("Z|") for z in _NUMERIC_ZONE),
    "Z": (r"[+-]\d{4}",),
    "z": ("UTC|GMT|Z",),
    "V": (r"[A-Za-z0-9_+\-/:]+",),
}


def _read(part: Part, value: str) -> int:
    match part.letter:
        case "M" | "L" if part.count >= 3:
            return next(n for n, m in enumerate(MONTHS, 1) if m.lower().startswith(value.lower()[:3]))
        case "E":
            return next(n for n, d in enumerate(DAYS) if d.lower().startswith(value.lower()[:3]))
        case "a":
            return int(value.upper() == "PM")
        case "S":
            return int(value.ljust(6, "0")[:6])
        case "Q" | "q":
            return int(value[-1])
        case "y" | "u" if part.count == 2:
            return 2000 + int(value)
    return int(value)


def _zone(text: str) -> timezone | ZoneInfo:
    if text.upper() in ("Z", "UTC", "GMT"):
        return UTC
    if text[0] not in "+-":
        return ZoneInfo(text)
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]))
    return timezone(-offset if text[0] == "-" else offset)


def _resolve(numbers: Numbers, zone: timezone | ZoneInfo) -> datetime | None:
    year = numbers.get("y", numbers.get("u", 1970))
    quarter = numbers.get("Q", numbers.get("q", 1))
    month = numbers.get("M", numbers.get("L", quarter * 3 - 2))
    when = datetime(
        year,
        month,
        numbers.get("d", 1),
        _hour(numbers),
        numbers.get("m", 0),
        numbers.get("s", 0),
        tzinfo=zone,
    )
    if "D" in numbers:
        when = when.replace(month=1, day=1) + timedelta(days=numbers["D"] - 1)
        if when.year != year:
            return None
    if "E" in numbers and when.weekday() != numbers["E"]:
        return None
    return when.replace(microsecond=numbers.get("S", 0)).astimezone(UTC)


def _hour(numbers: Numbers) -> int:
    half = 12 * numbers.get("a", 0)
    if "H" in numbers:
        return numbers["H"]
    if "k" in numbers:
        return _within(numbers["k"], 1, 24) % 24
    if "h" in numbers:
        return _within(numbers["h"], 1, 12) % 12 + half
    return _within(numbers.get("K", 0), 0, 11) + half


def _within(value: int, low: int, high: int) -> int:
    if low <= value <= high:
        return value
    raise ValueError(value)
