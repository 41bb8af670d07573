"""Connections to the view store's file: the writer's and the readers'."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from millpond.views.functions import register
from millpond.views.value_limits import LARGEST_STORED, LARGEST_TEXT

BUSY_SECONDS = 2.0
"""How long a statement waits for a lock: a checkpoint takes less, and a caller should hear of the rest."""
MMAP_BYTES = 1 << 30
CACHED_STATEMENTS = 512

WRITER = (
    "PRAGMA page_size = 4096",
    "PRAGMA journal_mode = WAL",
    # A power cut may lose the last commits, never the file; rows and offsets go together, and are read again.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA cache_size = -65536",
    "PRAGMA secure_delete = OFF",
    # Pages: a backstop behind `checkpoint`. With 65536 random updates took half as much CPU again, for reading from
    # a long log is slow; with few the same page is copied again and again.
    "PRAGMA wal_autocheckpoint = 4000",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA temp_store = FILE",
)
READER = ("PRAGMA query_only = ON", f"PRAGMA mmap_size = {MMAP_BYTES}", "PRAGMA cache_size = -16384")


def open_writer(path: Path) -> sqlite3.Connection:
    """The one connection that writes. Makes the file if it is missing. Raises sqlite3.Error."""
    connection = sqlite3.connect(
        path,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS,
    )
    return _prepared(connection, WRITER, LARGEST_STORED)


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that only reads. Raises sqlite3.OperationalError if there is no file."""
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=ro",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS,
    )
    return _prepared(connection, READER, LARGEST_TEXT)


def _prepared(connection: sqlite3.Connection, pragmas: tuple[str, ...], largest: int) -> sqlite3.Connection:
    try:
        register(connection, largest)
        for pragma in pragmas:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection
