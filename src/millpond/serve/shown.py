"""Which keys a subscriber with a condition was shown, so that it is told when one is its no longer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millpond.serve.evaluate import Selection


class Shown:
    """Keys that the subscriber holds.

    Without a condition every change is passed on, and with one that depends on the key only a key never comes or
    goes: then nothing is remembered. `begun_before`: the subscriber resumed, and may hold keys that are not known
    here; for such a key one delete too many is sent rather than none: nothing changes for who keeps rows by key.
    """

    def __init__(self, selection: Selection, *, by_key: bool, begun_before: bool) -> None:
        self._selection = selection
        self._remembers = not by_key
        self._keys: set[bytes | None] = set()
        self._unsure = begun_before
        self._settled: set[bytes | None] = set()

    def add(self, key: bytes | None) -> None:
        """The row of a key was shown."""
        if self._remembers:
            self._keys.add(key)

    def remove(self, key: bytes | None, key_row: Sequence[Any], *, is_delete: bool) -> bool:
        """A row is gone, or no longer meets the condition. Whether the subscriber has to be told."""
        if not self._remembers:
            return is_delete and (self._selection.condition is None or self._selection.apply(key_row) is not None)
        if key in self._keys:
            self._keys.discard(key)
            self._settled.add(key)
            return True
        if self._unsure and key not in self._settled:
            self._settled.add(key)
            return True
        return False
