"""Values compared as they are, without Spark."""

from __future__ import annotations

import math
from typing import Any


def marked(value: Any) -> Any:
    """The value in a form in which NaN is itself, 0.0 is not -0.0, and 1 is not True."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value.hex()
    if isinstance(value, list | tuple):
        return [marked(v) for v in value]
    if isinstance(value, dict):
        return {k: marked(v) for k, v in value.items()}
    return (type(value).__name__, value)
