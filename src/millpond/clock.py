"""The time of day as everything here counts it."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Epoch milliseconds, UTC."""
    return time.time_ns() // 1_000_000
