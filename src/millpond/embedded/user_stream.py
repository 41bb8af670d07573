"""Keeps the demo's users in a stream: all of them at first, and somebody moves now and then."""

from __future__ import annotations

import logging
import threading
import time

import orjson

from millpond.clock import now_ms
from millpond.embedded.users import User, UserDirectory
from millpond.errors import MillpondError
from millpond.stores.protocol import Log, NewRecord

logger = logging.getLogger(__name__)

STREAM = "users"
MOVE_SECONDS = 3.0
NOTICE_MS = 10_000
"""A move is announced so long before it counts, so that no click of the new region comes before the news of it."""
QUIET_SECONDS = 1.0
"""A stream that brings nothing for so long was read to its end."""


class UserStream:
    """The stream `users` of `log`, and the directory that knows what was written into it."""

    def __init__(self, log: Log, directory: UserDirectory) -> None:
        self.log, self.directory = log, directory
        self.late = False
        """An announcement came too late, or nobody knows whether it came: the directory may be wrong."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._moving, name="users", daemon=True)

    def fill(self) -> None:
        """Learn what an earlier demo has written, and write the users who are missing. Errors are the log's."""
        known = self._read()
        self.directory.learn(known)
        there = {user.userid for user in known}
        missing = [user for user in self.directory.users() if user.userid not in there]
        if missing:
            self._write(missing)

    def start(self) -> None:
        """People begin to move."""
        self._thread.start()

    def stop(self) -> None:
        """Nobody moves any more."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(15)

    def _moving(self) -> None:
        while not self._stopping.wait(MOVE_SECONDS) and not self.late:
            user = self.directory.move(now_ms() + NOTICE_MS)
            try:
                self._write([user])
            except MillpondError as error:
                self.late = True
                logger.warning("the demo's users stay where they are: %s", error.sentence)
                return
            self.directory.learn([user])
            self.late = time.time() * 1000 > user.updated_at - NOTICE_MS / 2

    def _write(self, users: list[User]) -> None:
        self.log.produce(STREAM, [NewRecord(user.userid.encode(), user.json()) for user in users])

    def _read(self) -> list[User]:
        reader = self.log.read(STREAM, self.log.first_offsets(STREAM))
        try:
            found: list[User] = []
            while records := reader.poll(10_000, QUIET_SECONDS):
                found += [User(**orjson.loads(r.value)) for r in records if r.value]
            return found
        finally:
            reader.close()
