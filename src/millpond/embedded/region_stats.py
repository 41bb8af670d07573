"""The figures of the page's second story: clicks by region and by page, asked from their view."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from millpond.embedded.region_story import VIEW_NAME
from millpond.errors import MillpondError
from millpond.serve.answers import Answer

REGION_SECONDS = 0.5
"""The view changes a batch at a time, so it is asked less often than the others."""

URLS_SHOWN = 5

REGION_URLS = f"SELECT regionid, url, visits FROM {VIEW_NAME};"

Figures = dict[str, Any]
Ask = Callable[[str], Awaitable[Answer]]


class RegionStats:
    """What one view has; whatever is wrong with it stays within its own figures."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._told: Figures = {}
        self._told_at = float("-inf")

    async def figures(self) -> Figures:
        """{"state", "note", "regions": [{"name", "visits", "urls"}]}, the busiest region first.

        `state` is 'live', 'empty' (no row yet), 'filling', 'absent' (the view does not exist) or 'failed'.
        """
        if time.monotonic() - self._told_at > REGION_SECONDS:
            self._told, self._told_at = await self._figures(), time.monotonic()
        return self._told

    async def _figures(self) -> Figures:
        try:
            answer = await self._ask(REGION_URLS)
        except MillpondError as e:
            states = {"RELATION_NOT_FOUND": "absent", "VIEW_NOT_READY": "filling"}
            state = states.get(e.name, "failed")
            return {"state": state, "note": "" if state == "absent" else e.sentence, "regions": []}
        state = "empty" if not answer.rows else "filling" if answer.message else "live"
        return {"state": state, "note": answer.message if answer.rows else "", "regions": by_region(answer.rows)}


def by_region(rows: Iterable[Sequence[Any]]) -> list[Figures]:
    """(region, url, visits) -> what the page shows of each region, most visits first."""
    urls: dict[str, Counter[str]] = {}
    for region, url, visits in rows:
        urls.setdefault(str(region), Counter())[str(url)] += int(visits or 0)
    found = [{"name": name, "visits": counts.total(), "urls": top(counts)} for name, counts in urls.items()]
    return sorted(found, key=lambda region: (-region["visits"], region["name"]))


def top(counts: Counter[str]) -> list[Figures]:
    """The most visited first, then by name."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [{"name": url, "visits": visits} for url, visits in ranked[:URLS_SHOWN]]
