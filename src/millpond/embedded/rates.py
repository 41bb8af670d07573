"""Events a second, from a counter looked at now and then."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

RATE_SECONDS = 3.0
"""The rate is the mean of this long: shorter flickers, longer lags behind."""


class RateHistory:
    """Remembers a growing count for `seconds`; how often it is noted does not matter.

    Times are seconds of any clock that only moves forward.
    """

    def __init__(self, seconds: int = 60) -> None:
        self._seconds = seconds
        self._samples: deque[tuple[float, int]] = deque()

    def note(self, at: float, count: int) -> None:
        """The counter stood at `count`. A smaller one than before (it began anew) forgets the past."""
        if self._samples and count < self._samples[-1][1]:
            self._samples.clear()
        self._samples.append((at, count))
        # One sample older than the window stays, so that the window's first second is known too.
        while len(self._samples) > 2 and self._samples[1][0] < at - self._seconds - 1:
            self._samples.popleft()

    def now(self) -> float:
        """Events a second of late; 0 before there are two samples."""
        if len(self._samples) < 2:
            return 0.0
        at, count = self._samples[-1]
        since = max(at - RATE_SECONDS, self._samples[0][0])
        return (count - self._count_at(since)) / max(at - since, 1e-9)

    def per_second(self) -> list[float]:
        """Events in each full second, oldest first; shorter while there is less to tell."""
        if len(self._samples) < 2:
            return []
        last = int(self._samples[-1][0])
        first = max(last - self._seconds, -int(-self._samples[0][0] // 1))
        counts = [self._count_at(second) for second in range(first, last + 1)]
        return [after - before for before, after in pairwise(counts)]

    def _count_at(self, at: float) -> float:
        """The count at a moment, read off the line between the two samples around it."""
        for (t0, c0), (t1, c1) in pairwise(self._samples):
            if t0 <= at <= t1:
                return c0 + (c1 - c0) * (at - t0) / max(t1 - t0, 1e-9)
        return float(self._samples[0 if at < self._samples[0][0] else -1][1])
