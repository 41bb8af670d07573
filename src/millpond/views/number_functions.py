"""SQLite functions over numbers. Decimals come and go as text of their type's scale."""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from millpond.stores.formats.numbers import NUMBER, java_float, single

WIDE = Context(prec=120, rounding=ROUND_HALF_UP)
"""Wider than the exact product of two DECIMAL(38, 38), so that only the last step rounds."""


@lru_cache(128)
def _unit(scale: int) -> Decimal:
    return Decimal(1).scaleb(-scale)


def decimal_text(number: Decimal, precision: int, scale: int, rounding: str = ROUND_HALF_UP) -> str | None:
    """`number` as text of DECIMAL(precision, scale); None if it has too many digits."""
    if not number.is_finite() or number.adjusted() > precision:
        return None
    rounded = number.quantize(_unit(scale), rounding, WIDE)
    if rounded and rounded.adjusted() >= precision - scale:
        return None
    return f"{rounded or abs(rounded):f}"


def in_bits(value: int, bits: int) -> int | None:
    """`value` if a signed integer of `bits` holds it."""
    limit = 1 << (bits - 1)
    return value if -limit <= value < limit else None


def _truncated(left: int, right: int) -> int:
    """The quotient towards zero."""
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


INTEGER_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _truncated,
    "mod": lambda a, b: a - b * _truncated(a, b),
}
DECIMAL_OPERATORS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "add": WIDE.add,
    "sub": WIDE.subtract,
    "mul": WIDE.multiply,
    "div": WIDE.divide,
    "mod": WIDE.remainder,
}


def _integer_operator(name: str) -> Callable[[int, int, int], int | None]:
    operate = INTEGER_OPERATORS[name]
    return lambda a, b, bits: in_bits(operate(a, b), bits)


def _decimal_operator(name: str) -> Callable[[str, str, int, int], str | None]:
    operate = DECIMAL_OPERATORS[name]
    return lambda a, b, p, s: decimal_text(operate(Decimal(a), Decimal(b)), p, s)


def _round_integer(value: int, places: int, bits: int) -> int | None:
    return in_bits(int(Decimal(value).quantize(_unit(places), ROUND_HALF_UP, WIDE)), bits) if places < 0 else value


def _round(value: float, places: int) -> float:
    if not math.isfinite(value):
        return value
    return float(Decimal(repr(value)).quantize(_unit(places), ROUND_HALF_UP, Context(prec=400)))


def _round_decimal(text: str, places: int, precision: int, scale: int) -> str | None:
    number = Decimal(text)
    if places < scale:
        number = number.quantize(_unit(places), ROUND_HALF_UP, WIDE)
    return decimal_text(number, precision, scale)


def _exp(x: float) -> float:
    return math.inf if x > 709.79 else math.exp(x)


def _hyperbolic(f: Callable[[float], float], odd: bool) -> Callable[[float], float]:
    def safe(x: float) -> float:
        try:
            return f(x)
        except OverflowError:
            return math.copysign(math.inf, x) if odd else math.inf

    return safe


MATH: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "cbrt": math.cbrt,
    "exp": _exp,
    "ln": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "cot": lambda x: 1 / math.tan(x) if x else math.inf,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": _hyperbolic(math.sinh, odd=True),
    "cosh": _hyperbolic(math.cosh, odd=False),
    "tanh": math.tanh,
    "degrees": math.degrees,
    "radians": math.radians,
    "pi": lambda x: math.pi,
    "e": lambda x: math.e,
}


def _power(base: float, exponent: float) -> float | None:
    try:
        found = math.pow(base, exponent)
    except OverflowError:
        odd = float(exponent).is_integer() and exponent % 2 == 1
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        return math.inf if base == 0 else None
    return found


def _log(base: float, value: float) -> float | None:
    return None if base == 1 else math.log(value) / math.log(base)


def _whole(rounding: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(rounding(x)) if math.isfinite(x) else x


def to_integer(value: Any, bits: int) -> int | None:
    """An integer from any number, towards zero; from text only whole numbers."""
    if isinstance(value, str):
        text = value.strip()
        digits = text[1:] if text[:1] in ("+", "-") else text
        return in_bits(int(text), bits) if digits.isascii() and digits.isdigit() else None
    return in_bits(int(value), bits)


def decimal_to_integer(text: str, bits: int) -> int | None:
    """The whole part of a decimal."""
    return in_bits(int(Decimal(text)), bits)


_NAMED = {
    **{f"{sign}{name}": math.inf for sign in ("", "+") for name in ("inf", "infinity")},
    **{f"-{name}": -math.inf for name in ("inf", "infinity")},
}


def to_double(text: str) -> float | str | None:
    """A DOUBLE from text in the spellings that Spark reads; NaN is the text 'NaN', as the view store keeps it."""
    stripped = text.strip()
    if stripped.lower() == "nan" or stripped in ("+NaN", "-NaN"):  # with a sign Java reads it, in this spelling alone
        return "NaN"
    if stripped.lower() in _NAMED:
        return _NAMED[stripped.lower()]
    if stripped[-1:] in "dDfF":
        stripped = stripped[:-1]
    return float(stripped) if NUMBER.fullmatch(stripped) else None


def to_decimal(value: Any, precision: int, scale: int) -> str | None:
    """DECIMAL(precision, scale) from a number or a text, rounded half up."""
    try:
        number = Decimal(value.strip() if isinstance(value, str) else repr(value))
    except InvalidOperation:
        return None
    return decimal_text(number, precision, scale)


def float_to_decimal(value: float, precision: int, scale: int) -> str | None:
    """A FLOAT's shortest digits count, not those of the double that holds it."""
    return to_decimal(java_float(value, bits32=True), precision, scale)


def to_float(value: float | str) -> float | str:
    """The nearest FLOAT; NaN, which is kept as text, stays."""
    return value if isinstance(value, str) else single(value)


def to_boolean(text: str) -> int | None:
    """TRUE and FALSE in the spellings that Spark reads."""
    word = text.strip().lower()
    return 1 if word in ("t", "true", "y", "yes", "1") else 0 if word in ("f", "false", "n", "no", "0") else None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"mp_int_{name}": _integer_operator(name) for name in INTEGER_OPERATORS},
    **{f"mp_dec_{name}": _decimal_operator(name) for name in DECIMAL_OPERATORS},
    "mp_int_abs": lambda a, bits: in_bits(abs(a), bits),
    "mp_int_round": _round_integer,
    "mp_dec_negate": lambda a, p, s: decimal_text(-Decimal(a), p, s),
    "mp_dec_abs": lambda a, p, s: decimal_text(abs(Decimal(a)), p, s),
    "mp_dec_ceil": lambda a, p, s: decimal_text(Decimal(a), p, s, ROUND_CEILING),
    "mp_dec_floor": lambda a, p, s: decimal_text(Decimal(a), p, s, ROUND_FLOOR),
    "mp_dec_round": _round_decimal,
    "mp_dec_sign": lambda a, p, s: decimal_text(Decimal((Decimal(a) > 0) - (Decimal(a) < 0)), p, s),
    "mp_fmod": math.fmod,
    "mp_round": _round,
    "mp_ceil": _whole(math.ceil),
    "mp_floor": _whole(math.floor),
    "mp_math": lambda name, x: MATH[name](x),
    "mp_power": _power,
    "mp_atan2": math.atan2,
    "mp_log": _log,
    "mp_integer_key": lambda key: str(int.from_bytes(key, "big", signed=True)),
    "mp_bin": lambda n: f"{n & 0xFFFFFFFFFFFFFFFF:b}",
    "mp_hex": lambda n: f"{n & 0xFFFFFFFFFFFFFFFF:X}",
    "mp_crc32": lambda text: zlib.crc32(text.encode()),
    "mp_to_int": to_integer,
    "mp_dec_to_int": decimal_to_integer,
    "mp_to_double": to_double,
    "mp_to_decimal": to_decimal,
    "mp_float_to_decimal": float_to_decimal,
    "mp_to_float": to_float,
    "mp_to_boolean": to_boolean,
    "mp_double_text": lambda x: x if isinstance(x, str) else java_float(x),
    "mp_float_text": lambda x: x if isinstance(x, str) else java_float(x, bits32=True),
    "mp_bool_text": lambda x: "true" if x else "false",
}
"""NULL in, NULL out; what raises an arithmetic error or ValueError is NULL."""

VOLATILE: dict[str, Callable[..., Any]] = {"mp_rand": random.random}
"""Different at every call."""
