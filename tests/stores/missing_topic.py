"""Every call on a topic that is not there: the same for each kind of log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millpond.errors import MillpondError
from millpond.stores.protocol import Log, NewRecord

on_a_missing_topic = pytest.mark.parametrize(
    "call",
    [
        lambda log: log.describe("missing"),
        lambda log: log.delete("missing"),
        lambda log: log.first_offsets("missing"),
        lambda log: log.end_offsets("missing"),
        lambda log: log.offsets_at("missing", 0),
        lambda log: log.produce("missing", [NewRecord(b"1", b"1")]),
    ],
    ids=["describe", "delete", "first", "end", "at", "produce"],
)


def error_of(log: Log, call: Callable[[Log], object]) -> MillpondError:
    """The error that `call` raises."""
    with pytest.raises(MillpondError) as caught:
        call(log)
    return caught.value
