"""Which stores can be reached: for /healthz, so known within a moment and asked for rarely."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from millpond.errors import MillpondError, internal

KEEP_SECONDS = 10.0
"""How old an answer may be. Shorter would knock at the stores with every probe, longer would hide an outage."""
WAIT_SECONDS = 0.3
"""What a probe waits for the stores: well below the second that those who probe may wait themselves."""
STALE_SECONDS = 30.0
"""What was known before that says nothing about now."""
THREADS = 4
UNKNOWN = "unknown: it has not answered yet"


@dataclass(slots=True)
class Reached:
    """What is known of a store, since when (of `time.monotonic`), and the call that is under way."""

    state: str = UNKNOWN
    at: float = float("-inf")
    asking: asyncio.Future[str] | None = None


class Reachability:
    """Store name -> 'ok' or the error that it ends with. `reach` returns or raises, in a thread."""

    def __init__(self, stores: Callable[[], Sequence[str]], reach: Callable[[str], None]) -> None:
        self.stores, self.reach = stores, reach
        self.known: dict[str, Reached] = {}
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="reach")

    async def states(self, wait: float = WAIT_SECONDS) -> Mapping[str, str]:
        """Answers after `wait` seconds at most: for a store that is still silent, with what was known before."""
        names = self.stores()
        self.known = {name: self.known.get(name) or Reached() for name in names}
        asking = [a for name in names if (a := self._ask(name, self.known[name])) is not None]
        if asking:
            await asyncio.wait(asking, timeout=wait)
        return {name: self._settled(found) for name, found in self.known.items()}

    def _ask(self, name: str, found: Reached) -> asyncio.Future[str] | None:
        """The call that is under way; a new one if the answer is old, None if it is not."""
        self._settled(found)
        if found.asking is None and time.monotonic() - found.at > KEEP_SECONDS:
            found.asking = asyncio.get_running_loop().run_in_executor(self.threads, self._reached, name)
        return found.asking

    def _settled(self, found: Reached) -> str:
        if found.asking is not None and found.asking.done():
            found.state, found.at, found.asking = found.asking.result(), time.monotonic(), None
        return found.state if time.monotonic() - found.at < STALE_SECONDS else UNKNOWN

    def _reached(self, name: str) -> str:
        try:
            self.reach(name)
        except MillpondError as error:
            return f"{error.name}: {error.sentence}"
        except Exception as error:  # noqa: BLE001 - a store that fails strangely is not reached either
            return str(internal(error))
        return "ok"

    def close(self) -> None:
        self.threads.shutdown(wait=False, cancel_futures=True)
