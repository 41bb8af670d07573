"""The view store: one table per view and the changelog offsets it stands for, always in one transaction."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millpond.catalog.model import Relation
from millpond.clock import now_ms
from millpond.errors import MillpondError
from millpond.stores.protocol import Record
from millpond.views import schema
from millpond.views.checkpoint import Checkpointer
from millpond.views.connection import open_writer
from millpond.views.faults import named
from millpond.views.loading import Stage
from millpond.views.rows import RowReader, Rows
from millpond.views.schema import ViewIndex

CHECK_SECONDS = 1.0
"""How long a file may be looked over when it is opened: a start must not wait for a whole large store."""
BIND_ERRORS = (sqlite3.InterfaceError, sqlite3.ProgrammingError, OverflowError)


@dataclass(slots=True)
class View:
    """One view of the store. `offsets`: next offset per partition, as committed; empty until it is loaded."""

    relation: Relation
    reader: RowReader
    upsert: str
    delete: str
    offsets: dict[int, int] = field(default_factory=dict)
    topic_id: str = ""
    """Written beside the offsets: a topic that was made anew has another one. Set by who knows the topic."""
    undecodable: int = 0
    problem: str = ""

    def count(self, rows: Rows) -> None:
        """Note what of a committed batch could not be decoded."""
        if rows.undecodable:
            self.undecodable += rows.undecodable
            self.problem = rows.problem


class ViewStore:
    """The writer. One at a time per file, one thread. Every method may raise the VIEW_STORE_* errors.

    A view without offsets is *loading*: its records are staged beside the store, and shown all at once by
    `finish_load`, so that no reader sees a view half built or going through its past.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.views: dict[str, View] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = self._open()
        self._identity = self._file()
        self._stage = Stage(self._connection, path)
        self._checkpointer = Checkpointer(path)

    def close(self) -> None:
        """Let go of the file; what is committed stays."""
        self._checkpointer.close()
        self._connection.close()
        self._stage.remove_file()

    def moved(self) -> bool:
        """Whether the file was deleted or replaced behind our back."""
        return self._file() != self._identity

    def create_view(self, relation: Relation, indexes: Iterable[ViewIndex] = ()) -> View:
        """Make the view's table unless it is there with the same columns, and match its indexes.

        The view's `offsets` are empty if it has to be loaded; `topic_id` is that of the topic they belong to.
        """
        view = View(relation, RowReader(relation), schema.upsert(relation), schema.delete(relation))
        with self._transaction():
            if self._table_sql(relation.id) == schema.create_table(relation):
                self._read_offsets(view)
            else:
                self._drop(relation.id)
                self._connection.execute(schema.create_table(relation))
            self._match_indexes(relation, indexes)
        self.views[relation.id] = view
        return view

    def drop_view(self, relation_id: str) -> None:
        """Forget a view and its rows; nothing if it is not there."""
        self._stage.drop(relation_id)
        with self._transaction():
            self._drop(relation_id)
        self.views.pop(relation_id, None)

    def keep_only(self, relation_ids: Iterable[str]) -> None:
        """Drop the tables of all other views."""
        kept = {schema.table_name(i) for i in relation_ids}
        found = self._connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'v_*'")
        gone = [name for (name,) in found.fetchall() if name not in kept]
        with self._transaction():
            for name in gone:
                self._connection.execute(f"DROP TABLE {schema.quote(name)}")
            marks = ", ".join("?" * len(kept))
            self._connection.execute(
                f"DELETE FROM _offsets WHERE 'v_' || replace(relation, '-', '_') NOT IN ({marks})",
                tuple(kept),
            )

    def create_index(self, relation_id: str, index: ViewIndex) -> None:
        """Raises VIEW_INDEX_FAILED if there is no such view or column."""
        view = self.views.get(relation_id)
        # SQLite takes a quoted name that is no column for a text, and would build an index over that.
        missing = [c for c in index.columns if view is None or view.relation.column(c) is None]
        if missing:
            raise MillpondError("VIEW_INDEX_FAILED", name=index.name, reason=f"there is no column '{missing[0]}'")
        with self._transaction():
            self._connection.execute(schema.create_index(relation_id, index))

    def drop_index(self, relation_id: str, name: str) -> None:
        """Nothing if it is not there."""
        with self._transaction():
            self._connection.execute(schema.drop_index(relation_id, name))

    def reset(self, relation_id: str) -> None:
        """Make a view loading again: its rows go, and its offsets with them."""
        view = self.views[relation_id]
        self._stage.drop(relation_id)
        with self._transaction():
            self._connection.execute(f"DELETE FROM {schema.quote(schema.table_name(relation_id))}")
            self._connection.execute("DELETE FROM _offsets WHERE relation = ?", (relation_id,))
        view.offsets = {}

    def fold(self, relation_id: str, records: Sequence[Record], offsets: Mapping[int, int] | None = None) -> None:
        """Fold records of one view; see `fold_all`."""
        self.fold_all([(relation_id, records, offsets or {})])

    def fold_all(self, batches: Sequence[tuple[str, Sequence[Record], Mapping[int, int]]]) -> None:
        """Fold the records of one poll into their views, which are loaded.

        `offsets` (next per partition) are needed only where the records do not tell: past a gap at the end.
        Records before the view's own offsets are passed over, so a repeat does nothing.

        1. rows and offsets are written in one transaction; 2. it commits; 3. the offsets in memory follow.
        A crash before 2 leaves the store as it was, and the records are read again; after 2 they are passed
        over.
        """
        todo = [(self.views[rid], _unseen(self.views[rid], records), offsets) for rid, records, offsets in batches]
        try:
            reached = self._write(todo, strictly=False)
        except BIND_ERRORS:
            reached = self._write(todo, strictly=True)
        for (view, _, _), (offsets, rows) in zip(todo, reached, strict=True):
            view.offsets = offsets
            view.count(rows)

    def stage(self, relation_id: str, records: Sequence[Record]) -> None:
        """Keep records of a loading view until `finish_load`; all of them, or none after an error."""
        view = self.views[relation_id]
        with self._named():
            try:
                self._stage.add(view.relation, rows := view.reader.read(records, strictly=False))
            except BIND_ERRORS:
                self._stage.add(view.relation, rows := view.reader.read(records, strictly=True))
        view.count(rows)

    def finish_load(self, relation_id: str, offsets: Mapping[int, int]) -> None:
        """Show everything that was staged, which reaches to `offsets`, at once.

        1. in one transaction the secondary indexes go, the last row of each key is put in, in key order, the
        indexes come back, and the offsets are written; 2. it is committed; 3. the staged rows go.
        A crash before 2 leaves the view loading: it begins again.
        """
        view = self.views[relation_id]
        with self._transaction():
            indexes = self._indexes(relation_id)
            for name in indexes:
                self._connection.execute(f"DROP INDEX {schema.quote(name)}")
            self._stage.move(view.relation)
            for sql in indexes.values():
                self._connection.execute(sql)
            self._write_offsets(view, offsets)
        view.offsets = dict(offsets)
        self._stage.drop(relation_id)

    def purge(self, relation_id: str, now_millis: int | None = None) -> int:
        """Delete the rows that are older than the view's `retention.millis`; how many."""
        retention = schema.retention_millis(self.views[relation_id].relation)
        if retention is None:
            return 0
        # SQLite takes 64 bits: a retention beyond them, as older versions let in, keeps every row.
        before = max((now_ms() if now_millis is None else now_millis) - retention, -(2**63))
        table = schema.quote(schema.table_name(relation_id))
        with self._transaction():
            return self._connection.execute(f"DELETE FROM {table} WHERE _ingested < ?", (before,)).rowcount

    def _open(self) -> sqlite3.Connection:
        with self._named():
            connection = open_writer(self.path)
            try:
                _look_over(connection)
                connection.execute(schema.OFFSETS_TABLE)
            except BaseException:
                connection.close()
                raise
            return connection

    def _file(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _write(
        self, todo: Sequence[tuple[View, Sequence[Record], Mapping[int, int]]], *, strictly: bool
    ) -> list[tuple[dict[int, int], Rows]]:
        """Per view its offsets and rows, which count from now on: it is committed."""
        reached = []
        with self._transaction():
            for view, records, given in todo:
                rows = view.reader.read(records, strictly=strictly)
                if rows.upserts:
                    self._connection.executemany(view.upsert, rows.upserts)
                if rows.deletes:
                    self._connection.executemany(view.delete, [(key,) for key, _ in rows.deletes])
                offsets = {**view.offsets, **_next_offsets(records)}
                offsets |= {p: max(o, offsets.get(p, 0)) for p, o in given.items()}
                self._write_offsets(view, offsets)
                reached.append((offsets, rows))
        return reached

    def _write_offsets(self, view: View, offsets: Mapping[int, int]) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO _offsets VALUES (?, ?, ?, ?)",
            [(view.relation.id, p, o, view.topic_id) for p, o in offsets.items() if view.offsets.get(p) != o],
        )

    def _read_offsets(self, view: View) -> None:
        query = "SELECT partition, next_offset, topic_id FROM _offsets WHERE relation = ?"
        for partition, offset, topic_id in self._connection.execute(query, (view.relation.id,)).fetchall():
            view.offsets[partition] = offset
            view.topic_id = topic_id

    def _table_sql(self, relation_id: str) -> str | None:
        name = schema.table_name(relation_id)
        row = self._connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def _indexes(self, relation_id: str) -> dict[str, str]:
        name = schema.table_name(relation_id)
        query = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"
        return dict(self._connection.execute(query, (name,)).fetchall())

    def _match_indexes(self, relation: Relation, indexes: Iterable[ViewIndex]) -> None:
        wanted = schema.wanted_indexes(relation, indexes)
        there = self._indexes(relation.id)
        for name in there.keys() - wanted.keys():
            self._connection.execute(f"DROP INDEX {schema.quote(name)}")
        for name in wanted.keys() - there.keys():
            self._connection.execute(schema.create_index(relation.id, wanted[name]))

    def _drop(self, relation_id: str) -> None:
        self._connection.execute(f"DROP TABLE IF EXISTS {schema.quote(schema.table_name(relation_id))}")
        self._connection.execute("DELETE FROM _offsets WHERE relation = ?", (relation_id,))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._named():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except BIND_ERRORS:
            raise
        except sqlite3.Error as error:
            raise named(error, self.path) from error
        except OSError as error:
            raise MillpondError("VIEW_STORE_FAILED", path=self.path, reason=str(error)) from error


def _unseen(view: View, records: Sequence[Record]) -> Sequence[Record]:
    """The records that the view does not have yet."""
    seen = view.offsets
    if all(r.offset >= seen.get(r.partition, 0) for r in records):
        return records
    return [r for r in records if r.offset >= seen.get(r.partition, 0)]


def _next_offsets(records: Sequence[Record]) -> dict[int, int]:
    """Next offset per partition; records are in order within each."""
    return {r.partition: r.offset + 1 for r in records}


def _look_over(connection: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError if the file is seen to be damaged within CHECK_SECONDS."""
    deadline = time.monotonic() + CHECK_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    try:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_INTERRUPT":
            raise
        found = "ok"
    finally:
        connection.set_progress_handler(None, 0)
    if found != "ok":
        damaged = sqlite3.DatabaseError(found)
        damaged.sqlite_errorname = "SQLITE_CORRUPT"
        raise damaged
