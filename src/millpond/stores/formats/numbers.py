"""Numbers as text: the spellings that columns take, and the ones that they are written in."""

from __future__ import annotations

import math
import re
import struct
from decimal import ROUND_HALF_UP, Context, Decimal

from millpond.stores.formats.undecodable import not_a
from millpond.types import DecimalType

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
WIDE = Context(prec=100)
"""Wider than any DECIMAL with its digits on both sides, so that quantizing never fails for lack of room."""


class NumberText(str):
    """A JSON number with its digits as they were written."""

    __slots__ = ()


def parse_integer(type_name: str, text: str) -> int:
    """The whole number that `text` stands for, be it written 12, 12.0 or 1.2e1."""
    number = _decimal(type_name, text)
    if number.adjusted() > 20 or number != number.to_integral_value():
        raise not_a(type_name, text)
    return narrowed(type_name, int(number))


def narrowed(type_name: str, value: int) -> int:
    """`value` if it fits into the type's bits."""
    limit = 1 << (INTEGER_BITS[type_name] - 1)
    if -limit <= value < limit:
        return value
    raise not_a(type_name, value)


def parse_float(type_name: str, text: str) -> float:
    """A finite FLOAT or DOUBLE, or one of the names that JSON has no number for."""
    if text in SPECIAL:
        return SPECIAL[text]
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    value = single(value) if type_name == "FLOAT" else value
    if not math.isfinite(value):
        raise not_a(type_name, text)
    return value


def single(value: float) -> float:
    """`value` rounded to 32 bits; infinite if it does not fit."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def parse_decimal(type_: DecimalType, text: str) -> Decimal:
    """`text` rounded half up to the type's scale."""
    return fitted(type_, _decimal(type_, text), text)


def fitted(type_: DecimalType, number: Decimal, shown: object = None) -> Decimal:
    """`number` with exactly the type's scale; undecodable if it has too many digits then."""
    if not number.is_finite() or (number and number.adjusted() >= type_.precision - type_.scale):
        raise not_a(type_, number if shown is None else shown)
    rounded = number.quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP, WIDE)
    if rounded and rounded.adjusted() >= type_.precision - type_.scale:
        raise not_a(type_, number if shown is None else shown)
    return rounded or abs(rounded)


def _decimal(type_: object, text: str) -> Decimal:
    if not NUMBER.fullmatch(text):
        raise not_a(type_, text)
    return Decimal(text)


def java_float(value: float, *, bits32: bool = False) -> str:
    """The shortest digits, laid out as Java's toString does: 1.0, 1.0E10, NaN."""
    if not math.isfinite(value):
        return next(name for name, special in SPECIAL.items() if repr(special) == repr(value))
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    digits, exponent = _digits(value, bits32=bits32)
    sign = "-" if value < 0 else ""
    if -3 <= exponent < 7:
        return sign + _plain(digits, exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{whole}.{digits[exponent + 1 :] or '0'}"


def _digits(value: float, *, bits32: bool) -> tuple[str, int]:
    """Significant digits without trailing zeros, and the exponent of the first.

    Where one digit is enough Java takes the nearest number of two: 4.9E-324, not 5.0E-324.
    """
    text = repr(abs(value))
    if bits32:
        text = next(t for n in range(9) if single(float(t := f"{abs(value):.{n}e}")) == abs(value) or n == 8)
    if len(Decimal(text).normalize().as_tuple().digits) == 1:
        text = f"{abs(value):.1e}"
    _, figures, exponent = Decimal(text).as_tuple()
    shown = "".join(map(str, figures)).lstrip("0")
    return shown.rstrip("0"), len(shown) - 1 + int(exponent)
