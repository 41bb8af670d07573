"""What happened to each query since the server started."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millpond.clock import now_ms

EVENTS_KEPT = 50
"""Events remembered for each query: a query that fails all the time must not fill the memory."""


@dataclass(frozen=True, slots=True)
class Event:
    """The query went into `state`, or its message changed, at epoch milliseconds."""

    at: int
    state: str
    message: str


class History:
    """The latest events by query. Thread-safe."""

    def __init__(self, clock: Callable[[], int] = now_ms) -> None:
        self.clock = clock
        self.events: defaultdict[str, deque[Event]] = defaultdict(lambda: deque(maxlen=EVENTS_KEPT))
        self.lock = threading.Lock()

    def note(self, query_id: str, state: str, message: str = "") -> None:
        """Remember a state if it differs from the last one."""
        with self.lock:
            events = self.events[query_id]
            if not events or (events[-1].state, events[-1].message) != (state, message):
                events.append(Event(self.clock(), state, message))

    def of(self, query_id: str) -> Sequence[Event]:
        """Oldest first."""
        with self.lock:
            return tuple(self.events.get(query_id, ()))

    def forget(self, query_id: str) -> None:
        with self.lock:
            self.events.pop(query_id, None)
