"""The next step of a not-found error: the nearest known name, so that a slip of the pen costs no look-up."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`, letter case aside; None if none is like it."""
    by_folded = {k.lower(): k for k in known}
    close = get_close_matches(name.lower(), by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def suggestion(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A sentence that names the nearest known name, or `otherwise`."""
    found = nearest(name, known)
    return otherwise if found is None else f"Did you mean '{found}'?"
