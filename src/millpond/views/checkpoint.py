"""Emptying the store's write-ahead log beside the folding, so that no commit has to wait for the disk."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path

EVERY_SECONDS = 1.0
SMALLEST_BYTES = 1 << 20
"""A log smaller than this is left alone: pages that change often are copied less often."""


class Checkpointer:
    """Copies the log of the store at `path` into its file, every second if there is enough of it.

    Passively: neither the writer nor a reader ever waits for it. A writer that never pauses outruns it; then SQLite's
    own checkpoint, which the writer waits for, bounds the log (`wal_autocheckpoint`).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = path.with_name(path.name + "-wal")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it, after a copy that is under way."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            while not self._stop.wait(EVERY_SECONDS):
                # Whatever is wrong with the file, the writer meets it too, and reports it.
                with contextlib.suppress(sqlite3.Error, OSError):
                    if self._log.stat().st_size >= SMALLEST_BYTES:
                        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        finally:
            connection.close()
