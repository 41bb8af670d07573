"""The demo's second story: clicks in Kafka meet users in Kinesis, and are counted by page and region."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rich.console import Console

from millpond.embedded.server_client import ServerClient
from millpond.embedded.user_stream import STREAM, UserStream
from millpond.embedded.users import UserDirectory
from millpond.errors import MillpondError
from millpond.stores.protocol import Log

VIEW_NAME = "url_region_visits"
VIEW_COLUMNS = ("url", "regionid")

USERS = (
    "CREATE CHANGELOG IF NOT EXISTS users (userid VARCHAR, name VARCHAR, regionid VARCHAR, updated_at BIGINT, "
    f"PRIMARY KEY(userid)) WITH ('store'='kinesis', 'topic'='{STREAM}', 'topic.shards'=1, 'value.format'='json', "
    "'key.format'='primitive', 'key.type'='VARCHAR', 'timestamp'='updated_at');"
)
STATEMENTS = (
    "CREATE STREAM IF NOT EXISTS user_clicks WITH ('store'='kafka', 'topic.partitions'=1, 'topic.replicas'=1) AS "
    "SELECT c.userid, u.name, u.regionid, c.url, c.event_time FROM clicks c WITH ('starting.position'='earliest') "
    "JOIN users u WITH ('starting.position'='earliest') ON c.userid = u.userid;",
    f"CREATE MATERIALIZED VIEW IF NOT EXISTS {VIEW_NAME} AS SELECT url, regionid, COUNT(*) AS visits "
    "FROM user_clicks WITH ('starting.position'='earliest') GROUP BY url, regionid;",
)
"""Sent once the users are there, so that the first click of each meets one."""


class RegionStory:
    """Begins in a thread of its own. What fails is said, and the first story goes on without it.

    `open_log` opens the store of the users; without it there is no second story.
    """

    def __init__(self, base_url: str, open_log: Callable[[], Log] | None, console: Console) -> None:
        self.directory = UserDirectory()
        self._base_url, self._open_log, self._console = base_url, open_log, console
        self._users: UserStream | None = None
        self._told = threading.Event()
        self._thread = threading.Thread(target=self._begin, name="region-story", daemon=True)

    @property
    def right(self) -> bool:
        """It runs, and the directory is known to say what the stream says."""
        return self._users is not None and not self._users.late

    def region(self, userid: str, at: int) -> str | None:
        """Where a user lived at epoch milliseconds `at`."""
        return self.directory.region(userid, at)

    def start(self) -> None:
        """Does not wait."""
        if self._open_log is None:
            self._told.set()
        else:
            self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether it has begun well, `seconds` at most from now."""
        return self._told.wait(seconds) and self._users is not None

    def stop(self) -> None:
        """Nobody moves any more."""
        if self._users is not None:
            self._users.stop()
            self._users.log.close()

    def _begin(self) -> None:
        try:
            assert self._open_log is not None
            self._create(self._open_log())
        except MillpondError as error:
            self._console.print(f"[yellow]![/yellow] Without users in Kinesis: {error.sentence}", highlight=False)
        finally:
            self._told.set()

    def _create(self, log: Log) -> None:
        with ServerClient(self._base_url) as server:
            server.rows(USERS)
            self._say(USERS)
            users = UserStream(log, self.directory)
            users.fill()
            for statement in STATEMENTS:
                server.rows(statement)
                self._say(statement)
            self._users = users
            users.start()

    def _say(self, statement: str) -> None:
        self._console.print("[green]✓[/green]", statement.split(" AS ")[0].split(" (")[0], highlight=False)
