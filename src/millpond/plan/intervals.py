"""INTERVAL '5' MINUTE and its kin, as amounts of one unit each."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from millpond.errors import MillpondError
from millpond.plan.coercion import coerce, is_integer
from millpond.plan.expressions import Expr, Literal
from millpond.plan.functions.constants import unit
from millpond.types import BIGINT

SPAN_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")
_SPAN = re.compile(r"\s*([+-])?(?:(\d+)\s+)?(\d+)(?::(\d+))?(?::(\d+))?(?:\.(\d{1,6}))?\s*")
_YEARS = re.compile(r"\s*([+-])?(\d+)-(\d+)\s*")


def read_interval(node: exp.Interval, bind: Callable[[exp.Expression], Expr]) -> list[tuple[str, Expr]]:
    """The (unit, BIGINT amount) pairs that an interval adds, one after the other."""
    written = node.args.get("unit")
    if isinstance(written, exp.IntervalSpan):
        return _span(node, written)
    text, name = _amount(node)
    if text is None:
        bound = bind(node.this)
        if not is_integer(bound.type):
            raise MillpondError(
                "TYPE_MISMATCH", what="An INTERVAL", given=str(bound.type), instead="Use a whole number."
            )
        return [(name, coerce(bound, BIGINT))]
    return [_constant(text, name, node)]


def _amount(node: exp.Interval) -> tuple[str | None, str]:
    """The constant amount (None if it is computed) and the canonical unit."""
    written = node.args.get("unit")
    if isinstance(node.this, exp.Literal):
        text = node.this.name
        if written is None:
            text, _, last = text.strip().rpartition(" ")
            return text, str(unit(last))
        return text, str(unit(written.name))
    if isinstance(node.this, exp.Neg) and isinstance(node.this.this, exp.Literal) and written is not None:
        return "-" + node.this.this.name, str(unit(written.name))
    return None, str(unit(written.name if written is not None else ""))


def _constant(text: str, name: str, node: exp.Interval) -> tuple[str, Expr]:
    found = re.fullmatch(r"\s*([+-]?\d+)(?:\.(\d{1,6}))?\s*", text)
    if not found or (found[2] and name != "SECOND"):
        raise _wrong(text, node)
    if found[2]:
        micros = int(found[2].ljust(6, "0")) * (-1 if found[1].startswith("-") else 1)
        return "MICROSECOND", Literal(BIGINT, int(found[1]) * 1_000_000 + micros)
    return name, Literal(BIGINT, int(found[1]))


def _span(node: exp.Interval, span: exp.IntervalSpan) -> list[tuple[str, Expr]]:
    """'1-6' YEAR TO MONTH, '1 02:03:04.5' DAY TO SECOND, '10:30' MINUTE TO SECOND."""
    first, last = (str(unit(span.args[k].name)) for k in ("this", "expression"))
    text = node.this.name
    if (first, last) == ("YEAR", "MONTH") and (years := _YEARS.fullmatch(text)):
        months = int(years[2]) * 12 + int(years[3])
        return [("MONTH", Literal(BIGINT, -months if years[1] == "-" else months))]
    found = _SPAN.fullmatch(text)
    if not found or first not in SPAN_UNITS or last not in SPAN_UNITS:
        raise _wrong(text, node)
    wanted = SPAN_UNITS[SPAN_UNITS.index(first) : SPAN_UNITS.index(last) + 1]
    numbers = [int(n) for n in found.group(2, 3, 4, 5) if n is not None]
    if len(numbers) != len(wanted):
        raise _wrong(text, node)
    seconds = sum(n * SECONDS[u] for n, u in zip(numbers, wanted, strict=True))
    micros = seconds * 1_000_000 + int((found[6] or "").ljust(6, "0"))
    return [("MICROSECOND", Literal(BIGINT, -micros if found[1] == "-" else micros))]


SECONDS = {"DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}


def _wrong(text: str, node: exp.Interval) -> MillpondError:
    return MillpondError("INVALID_CONSTANT", kind="interval", text=text, reason="write it as INTERVAL '5' MINUTE")
