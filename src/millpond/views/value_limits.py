"""How large one value of a pull or push query may be: a slip in REPEAT or LPAD must not take the server's memory."""

from __future__ import annotations

from millpond.errors import MillpondError

LARGEST_TEXT = 16_000_000
"""Characters, or bytes, of one value that a query makes. A record in Kafka has 1 MB unless its topic allows more."""
LARGEST_STORED = 100_000_000
"""Bytes of one value that the view store keeps: a view may be filled from larger records."""
MOST_ITEMS = 1_000_000
"""Of an ARRAY that a query makes."""


def check_length(length: int) -> None:
    """Before a text or binary of this length is made. Raises VALUE_TOO_LARGE."""
    if length > LARGEST_TEXT:
        raise too_large()


def check_items(count: int) -> None:
    """Before an ARRAY of this many items is made. Raises VALUE_TOO_LARGE."""
    if count > MOST_ITEMS:
        raise too_large()


def too_large() -> MillpondError:
    """The error for a value over one of these limits."""
    return MillpondError("VALUE_TOO_LARGE", megabytes=LARGEST_TEXT // 1_000_000, items=f"{MOST_ITEMS:,}")
