"""The dialects that a client may ask for: the API and the command line refuse the same ones."""

from __future__ import annotations

from millpond.errors import MillpondError

DIALECTS = ("deltastream",)


def check_dialect(name: str) -> str:
    """`name`, if statements of that dialect can be read. Raises UNSUPPORTED."""
    if name not in DIALECTS:
        raise MillpondError("UNSUPPORTED", feature=f"The dialect '{name}'", instead=f"Use {', '.join(DIALECTS)}.")
    return name
