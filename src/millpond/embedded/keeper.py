"""Keeps an embedded broker or emulator alive: one that died is started again, on its folder and its port."""

from __future__ import annotations

import logging
import threading
from typing import Protocol

from millpond.errors import MillpondError

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
LONGEST_PAUSE = 15.0


class Child(Protocol):
    """A process of ours. `start` does nothing if it is alive, and raises a named error."""

    def alive(self) -> bool: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Keeper:
    """Watches a started child until `stop`, which also stops the child. `name` is for the log."""

    def __init__(self, child: Child, name: str) -> None:
        self.child, self.name = child, name
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"keeper {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self.child.stop()

    def _watch(self) -> None:
        pause = LOOK_SECONDS
        while not self._stopping.wait(pause):
            pause = LOOK_SECONDS if self.child.alive() or self._revived() else min(pause * 2, LONGEST_PAUSE)

    def _revived(self) -> bool:
        logger.warning("the embedded %s has ended; it is started again", self.name)
        try:
            self.child.start()
        except (MillpondError, OSError) as error:
            logger.warning("%s", str(error).replace("\n", " "))
            return False
        return True
