"""Spark's task slots: a real-time query holds its slots for as long as it runs."""

from __future__ import annotations

import threading


class Slots:
    """Counts free slots; two are always left for the catch-ups of other queries."""

    RESERVED = 2

    def __init__(self, total: int) -> None:
        self.total = total
        self.held: dict[str, int] = {}
        self.lock = threading.Lock()

    def take(self, query_id: str, needed: int) -> str:
        """Hold `needed` slots; the reason why not, empty if it was possible."""
        with self.lock:
            free = self.free()
            if needed > free:
                return f"it needs {needed} task slots, {free} of {self.total} are free (see MILLPOND_SPARK_MASTER)"
            self.held[query_id] = needed
            return ""

    def free(self) -> int:
        """Slots that a query could take now."""
        return max(0, self.total - self.RESERVED - sum(self.held.values()))

    def give_back(self, query_id: str) -> None:
        with self.lock:
            self.held.pop(query_id, None)
