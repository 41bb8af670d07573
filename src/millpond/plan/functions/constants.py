"""Arguments that must be constants, and what is checked of them when a statement is read."""

from __future__ import annotations

from collections.abc import Callable

from millpond.errors import MillpondError
from millpond.plan.expressions import LiteralValue
from millpond.plan.functions.datetime_pattern import check_for_reading, parse_pattern
from millpond.plan.functions.java_regex import compile_regex, replacement_groups
from millpond.plan.functions.json_path import parse_path, write_path

UNITS = (
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
)


def unit(value: LiteralValue) -> LiteralValue:
    """The canonical name of a time unit: 'days' -> 'DAY'."""
    name = str(value).upper().removeprefix("SQL_TSI_")
    for candidate in (name, name.removesuffix("S")):
        if candidate in UNITS:
            return candidate
    raise MillpondError("INVALID_CONSTANT", kind="unit of time", text=value, reason=f"the units are {', '.join(UNITS)}")


def _text(kind: str, value: LiteralValue) -> str:
    if isinstance(value, str):
        return value
    raise MillpondError("INVALID_CONSTANT", kind=kind, text=value, reason="it must be text in quotes")


def reading_pattern(value: LiteralValue) -> LiteralValue:
    """A date and time pattern such as 'yyyy-MM-dd HH:mm:ss', to read times with."""
    return _pattern(value, check_for_reading)


def pattern(value: LiteralValue) -> LiteralValue:
    """A date and time pattern to write times with."""
    return _pattern(value, parse_pattern)


def _pattern(value: LiteralValue, check: Callable[[str], object]) -> LiteralValue:
    text = _text("date pattern", value)
    try:
        check(text)
    except ValueError as error:
        raise MillpondError("INVALID_CONSTANT", kind="date pattern", text=text, reason=error) from None
    return text


def regex(value: LiteralValue) -> LiteralValue:
    """A regular expression."""
    text = _text("regular expression", value)
    try:
        compile_regex(text)
    except ValueError as error:
        raise MillpondError("INVALID_CONSTANT", kind="regular expression", text=text, reason=error) from None
    return text


def replacement(value: LiteralValue) -> LiteralValue:
    """What REGEXP_REPLACE puts in: text in which $1 is the first group."""
    text = _text("replacement", value)
    try:
        replacement_groups(text)
    except ValueError as error:
        raise MillpondError("INVALID_CONSTANT", kind="replacement", text=text, reason=error) from None
    return text


def json_path(value: LiteralValue) -> LiteralValue:
    """A path into JSON of members and indexes, in one canonical spelling: "lax $.a" -> "$['a']"."""
    text = _text("JSON path", value)
    try:
        return write_path(parse_path(text))
    except ValueError as error:
        raise MillpondError("INVALID_CONSTANT", kind="JSON path", text=text, reason=error) from None


CHECKS: dict[str, Callable[[LiteralValue], LiteralValue]] = {
    "UNIT": unit,
    "FORMAT": pattern,
    "PATTERN": reading_pattern,
    "REGEX": regex,
    "REPLACEMENT": replacement,
    "JSONPATH": json_path,
}
