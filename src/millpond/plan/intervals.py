"""INTERVAL '5' MINUTE as an amount of one unit."""

from __future__ import annotations

import re

from sqlglot import exp

from millpond.errors import MillpondError
from millpond.plan.expressions import Literal
from millpond.plan.functions.constants import unit
from millpond.types import BIGINT

_AMOUNT = re.compile(r"\s*([+-]?)(\d+)(?:\.(\d{1,6}))?\s*", re.ASCII)


def read_interval(node: exp.Interval, *, negative: bool = False) -> tuple[str, Literal]:
    """The unit and the BIGINT amount that an interval adds. Only seconds have a fraction: '0.5' is microseconds."""
    name, text = str(unit(node.args["unit"].name)), node.this.name
    found = _AMOUNT.fullmatch(text)
    if not found or (found[3] and name != "SECOND"):
        raise MillpondError("INVALID_CONSTANT", kind="interval", text=text, reason="write it as INTERVAL '5' MINUTE")
    sign = -1 if (found[1] == "-") is not negative else 1
    if not found[3]:
        return name, Literal(BIGINT, sign * int(found[2]))
    return "MICROSECOND", Literal(BIGINT, sign * (int(found[2]) * 1_000_000 + int(found[3].ljust(6, "0"))))
