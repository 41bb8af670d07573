"""Transactions over the catalog's database, and the snapshot that follows them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import count

from sqlalchemy import Connection, Engine, update
from sqlalchemy.exc import DatabaseError

from millpond.catalog import tables
from millpond.catalog.current import CurrentReader
from millpond.catalog.load import load_all, load_tables
from millpond.catalog.snapshot import Snapshot
from millpond.errors import MillpondError


class _Transaction:
    """One that is under way: its thread reads `draft`, which already has its own writes."""

    def __init__(self, connection: Connection, draft: Snapshot) -> None:
        self.connection = connection
        self.draft = draft
        self.thread = threading.get_ident()

    def changed(self, table: str, version: int) -> None:
        """Take a write to `table` into the draft, which has this version from now on."""
        contents = load_tables(self.connection, (table,), self.draft.contents)
        self.draft = Snapshot(replace(contents, version=version))


class TransactionalReader(CurrentReader):
    """Reads the last commit; in a `transaction` its thread reads what it has written, other threads do
    not."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.RLock()
        self._open: _Transaction | None = None
        with engine.begin() as connection:
            self._committed = Snapshot(load_all(connection))
        self._versions = count(self._committed.version + 1)
        """Each is used once, by one draft: what was computed from a draft that was undone is never found
        again."""

    @property
    def snapshot(self) -> Snapshot:
        under_way = self._open
        if under_way is not None and under_way.thread == threading.get_ident():
            return under_way.draft
        return self._committed

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes inside are committed together at the end, or undone together if an exception leaves it.

        An inner transaction is undone alone if its exception is caught within the outer one. Other threads
        that
        write wait meanwhile, so nothing slow belongs in it, and no `await`. Raises CATALOG_NOT_WRITTEN.

        1. The writes, unseen by others. 2. The commit: on the disk. 3. The new snapshot, seen by all.
        A crash before 2 leaves the catalog as it was; after 2, the next start reads what was committed.
        """
        with self._lock, _write_errors(), self._level():
            yield

    def _level(self) -> AbstractContextManager[None]:
        return self._outermost() if self._open is None else self._inner(self._open)

    @contextmanager
    def _outermost(self) -> Iterator[None]:
        before = self._committed
        try:
            with self._engine.begin() as connection:
                self._open = under_way = _Transaction(connection, before)
                yield
                if under_way.draft is not before:
                    _store_version(connection, under_way.draft.version)
            self._committed = under_way.draft
        finally:
            self._open = None

    @contextmanager
    def _inner(self, under_way: _Transaction) -> Iterator[None]:
        before = under_way.draft
        try:
            with under_way.connection.begin_nested():
                yield
        except BaseException:
            under_way.draft = before
            raise

    @contextmanager
    def _writing(self, table: str) -> Iterator[Connection]:
        """A write to `table`: in the transaction that is under way, else in one of its own."""
        with self.transaction():
            under_way = self._open
            assert under_way is not None
            yield under_way.connection
            under_way.changed(table, next(self._versions))

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """A connection in a transaction, for tables that are not in the snapshot."""
        with self.transaction():
            assert self._open is not None
            yield self._open.connection

    def close(self) -> None:
        self._engine.dispose()


def _store_version(connection: Connection, version: int) -> None:
    connection.execute(update(tables.catalog_version).values(version=version))


@contextmanager
def _write_errors() -> Iterator[None]:
    try:
        yield
    except DatabaseError as error:
        raise MillpondError("CATALOG_NOT_WRITTEN", reason=error.orig) from error
