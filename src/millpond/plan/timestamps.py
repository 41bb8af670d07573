"""The column that holds a record's event time."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.errors import MillpondError
from millpond.types import Column

TIMESTAMPS = ("BIGINT", "TIMESTAMP", "TIMESTAMP_LTZ")
"""Types of an event time; a BIGINT is epoch milliseconds."""


def timestamp_column(relation: str, columns: Sequence[Column], wanted: str | None) -> str | None:
    """The column that the property `timestamp` names: exactly first, then without case; None if it is not given.

    Raises COLUMN_NOT_FOUND, and BAD_PROPERTY for a type that is no time.
    """
    if wanted is None:
        return None
    exact = [c for c in columns if c.name == wanted.strip('"')]
    found = exact or [c for c in columns if c.name.lower() == wanted.lower()]
    if len(found) != 1:
        known = f"The columns are: {', '.join(c.name for c in columns)}."
        where = f"'{relation}' (property 'timestamp')"
        raise MillpondError("COLUMN_NOT_FOUND", name=wanted, where=where, suggestion=known)
    if found[0].type.name not in TIMESTAMPS:
        takes = f"a column of {', '.join(TIMESTAMPS)}; '{found[0].name}' is {found[0].type}"
        raise MillpondError("BAD_PROPERTY", name="timestamp", value=wanted, takes=takes)
    return found[0].name
