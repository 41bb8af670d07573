"""Values that go into binary formats: of exactly the type that their column has, as the JVM's writers get them."""

from __future__ import annotations

import math
from typing import Any

from millpond.stores.formats.numbers import single


def checked(wanted: type, value: Any) -> Any:
    """`value`, which is a `wanted`. Raises TypeError: True is no int."""
    if type(value) is not wanted:
        raise TypeError(f"{value!r} is not a {wanted.__name__}")
    return value


def exact_text(value: Any) -> str:
    """Raises TypeError, UnicodeEncodeError."""
    checked(str, value).encode()  # a lone surrogate has no bytes
    return str(value)


def exact_float(value: Any) -> float:
    """A FLOAT: rounded to 32 bits. Raises TypeError, ValueError."""
    number = float(value)
    return single(number) if math.isfinite(number) else number
