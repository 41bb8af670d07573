"""Keeps the embedded broker alive: one that died is started again, on its folder and its port."""

from __future__ import annotations

import logging
import threading

from millpond.embedded.broker import Broker
from millpond.errors import MillpondError

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
LONGEST_PAUSE = 15.0


class BrokerKeeper:
    """Watches a started broker until `stop`, which also stops the broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="broker-keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self.broker.stop()

    def _watch(self) -> None:
        pause = LOOK_SECONDS
        while not self._stopping.wait(pause):
            pause = LOOK_SECONDS if self.broker.alive() or self._revived() else min(pause * 2, LONGEST_PAUSE)

    def _revived(self) -> bool:
        logger.warning("the embedded broker has ended; it is started again")
        try:
            self.broker.start()
        except (MillpondError, OSError) as error:
            logger.warning("%s", str(error).replace("\n", " "))
            return False
        return True
