"""How long a real-time batch lasts.

A boundary between two batches holds every row back for some tenths of a second, so batches are long. A crash makes what
came since the last boundary be computed again, so a batch holds no more rows than micro-batch replays in seconds.
"""

from __future__ import annotations

from collections.abc import Callable

from millpond.errors import MillpondError

REPLAY_ROWS = 200_000
"""Rows of one batch: micro-batch replays them in two to four seconds. More: longer replays; fewer: more boundaries."""
SHORTEST, LONGEST = 30, 600
"""Seconds. Shorter ones would be felt in the 99th percentile; windows are cleared of old state once a batch, and what
is not committed takes room, so longer ones gain nothing."""
STAGGER_SECONDS = 7
"""Batches of queries differ by up to this, so that their boundaries do not fall together."""
MISFIT = 4
"""By how much a length must miss the rate before the query starts again with another: that holds up its rows once."""
LOOK_SECONDS = 60.0
"""Between two looks at the rate, and before the first: a backlog that has just come in is not the rate."""


def batch_seconds(rows_per_second: float, query_id: str) -> int:
    """Seconds for a query whose sources bring so many rows."""
    return _fitting(rows_per_second) - _spread(query_id)


class BatchLength:
    """The length that a query runs with, at first for `rate` rows a second; `rows` counts those that ever came.

    Both ask the store. `fixed` (0: none) is the operator's own choice, for which neither is asked.
    """

    def __init__(
        self,
        rate: Callable[[], float],
        rows: Callable[[], int],
        query_id: str,
        fixed: int,
        clock: Callable[[], float],
    ) -> None:
        self.rows, self.fixed, self.clock = rows, fixed, clock
        self.seconds = fixed or batch_seconds(rate(), query_id)
        self.looked, self.seen = clock(), 0 if fixed else rows()

    def misfits(self) -> bool:
        """Whether the rate has changed so much that another length is worth a new start."""
        now = self.clock()
        if self.fixed or now - self.looked < LOOK_SECONDS:
            return False
        try:
            rows = self.rows()
        except MillpondError:  # the store is away: the query rides it out
            return False
        fitting = _fitting((rows - self.seen) / (now - self.looked))
        self.looked, self.seen = now, rows
        return fitting * MISFIT < self.seconds or self.seconds * MISFIT < fitting


def _fitting(rows_per_second: float) -> int:
    fitting = REPLAY_ROWS / rows_per_second if rows_per_second > 0 else LONGEST
    return round(min(max(fitting, SHORTEST), LONGEST))


def _spread(query_id: str) -> int:
    digits = query_id.replace("-", "")[:6]
    return int(digits, 16) % STAGGER_SECONDS if digits else 0
