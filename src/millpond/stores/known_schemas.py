"""What is made of a registry's schemas, by their ids."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, TypeVar

from millpond.avro_types import UnreadableSchemaError
from millpond.stores.formats.undecodable import UndecodableError

T = TypeVar("T")

ASK_AGAIN_SECONDS = 30.0
"""An id without a usable schema is not asked for again for so long: stray bytes look like ids."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why there is nothing of an id, and until when that counts."""

    reason: str
    until: float


class KnownSchemas(Generic[T]):
    """What `ask` makes of an id, asked for once; it raises UnreadableSchemaError for one that it can make nothing of.

    Safe to use from several threads.
    """

    def __init__(self, ask: Callable[[int], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._clock = ask, clock
        self._made: dict[int, T] = {}
        self._unusable: dict[int, Unusable] = {}
        """Oldest first."""
        self._lock = threading.Lock()

    def get(self, schema_id: int) -> T:
        """It may take time. Raises UndecodableError for an id without a usable schema, and what `ask` raises."""
        found = self._known(schema_id)
        if found is None:
            with self._lock:
                found = self._known(schema_id)
                found = self._asked(schema_id) if found is None else found
        if isinstance(found, Unusable):
            raise UndecodableError(found.reason)
        return found

    def at_hand(self, schema_id: int) -> T | None:
        """Without asking anyone; None if it is not known, or not usable."""
        return self._made.get(schema_id)

    def unknown(self, ids: Iterable[int]) -> set[int]:
        """Those that would have to be asked for."""
        return {i for i in ids if self._known(i) is None}

    def fetch(self, ids: Iterable[int]) -> None:
        """Have them at hand, those that are usable. Raises what `ask` raises."""
        for schema_id in ids:
            with suppress(UndecodableError):
                self.get(schema_id)

    def _known(self, schema_id: int) -> T | Unusable | None:
        if schema_id in self._made:
            return self._made[schema_id]
        found = self._unusable.get(schema_id)
        return None if found is None or found.until < self._clock() else found

    def _asked(self, schema_id: int) -> T | Unusable:
        try:
            made = self._made[schema_id] = self._ask(schema_id)
        except UnreadableSchemaError as error:
            now = self._clock()
            for over in list(takewhile(lambda i: self._unusable[i].until < now, self._unusable)):
                del self._unusable[over]
            found = self._unusable[schema_id] = Unusable(str(error), now + ASK_AGAIN_SECONDS)
            return found
        return made
