"""The writer's work: follow the changelogs of all views and fold what comes, at once."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from millpond.catalog.model import Relation
from millpond.clock import now_ms
from millpond.errors import MillpondError
from millpond.stores.protocol import Log, Record
from millpond.views.followed import Followed, Found, Source, StoreAddress, look_up, turns
from millpond.views.progress import Fault, ViewProgress
from millpond.views.rows import ingested
from millpond.views.schema import ViewIndex
from millpond.views.sizes import Sizes
from millpond.views.store import ViewStore

log = logging.getLogger(__name__)

POLL_RECORDS = 10_000
"""Most records of one transaction: more saves little, and a long one delays what comes after it."""
LOOK_SECONDS = 0.5
"""How often the file, topics that could not be reached, and topics that were made anew are looked after."""
PURGE_SECONDS = 10.0
RETRY_SECONDS = 0.2
"""Pause before a batch that could not be written is tried again."""
PATIENCE_SECONDS = 0.5
"""How long `add` waits for the topic: longer, and a store that is away would hold up the folding."""


STALE_SECONDS = 20 * 3600.0
"""A store that was not written for longer may have missed deletes: a compacted topic keeps them for a day (Kafka's
`delete.retention.ms`). A view that is behind in it is loaded anew; with less, more often than there is need."""


class Folder:
    """Folds changelogs into the view store at `path`. One thread; `step` again and again.

    A batch that cannot be written is kept and tried again; a damaged or vanished file is built anew.
    """

    def __init__(self, path: Path, connect: Callable[[StoreAddress], Log]) -> None:
        self.path = path
        self.fault: Fault | None = None
        """What is wrong with the store as a whole."""
        self._connect = connect
        self._store: ViewStore | None = None
        self._age = 0.0
        self._sources: dict[StoreAddress, Source] = {}
        self._views: dict[str, Followed] = {}
        self._pending: list[Record] = []
        self._pending_of: Source | None = None
        self._looked = self._purged = 0.0
        self._sizes = Sizes(path)

    def add(self, relation: Relation, address: StoreAddress, indexes: Iterable[ViewIndex] = ()) -> None:
        """Follow a view from now on; one that is followed already is followed there from now on.

        Raises VIEW_STORE_* if its table cannot be made yet: it is tried again until `drop`, as its topic is.
        What `connect` raises leaves everything as it was.
        """
        source = self._source(address)
        left = self._leave(relation.id)
        if left is not None and left is not source and not left.topics:
            del self._sources[left.address]
            left.retire()
        followed = Followed(relation, source, {i.name: i for i in indexes})
        self._views[relation.id] = source.topics[relation.topic] = followed
        self._try_following(followed, PATIENCE_SECONDS)

    def drop(self, relation_id: str) -> None:
        """Forget a view, rows and all."""
        self._leave(relation_id)
        self._opened().drop_view(relation_id)

    def keep_only(self, relation_ids: Iterable[str]) -> None:
        """Drop what the store has of other views."""
        self._opened().keep_only(relation_ids)

    def create_index(self, relation_id: str, index: ViewIndex) -> None:
        """Raises VIEW_INDEX_FAILED and VIEW_STORE_*."""
        self._opened().create_index(relation_id, index)
        self._views[relation_id].indexes[index.name] = index

    def drop_index(self, relation_id: str, name: str) -> None:
        """Nothing if it is not there."""
        self._opened().drop_index(relation_id, name)
        self._views[relation_id].indexes.pop(name, None)

    def step(self, timeout: float) -> int:
        """Wait at most `timeout` seconds for records, fold what is there; how many records that was."""
        try:
            self._look_after()
            if not self._pending:
                self._take(timeout)
            folded = len(self._pending)
            if folded:
                self._fold_pending()
        except MillpondError as error:
            self._troubled(error)
            time.sleep(min(timeout, RETRY_SECONDS))
            return 0
        if folded:
            self.fault = None
        return folded

    def progress(self) -> list[ViewProgress]:
        """How far each view is."""
        now = now_ms()
        return [self._progress(followed, now) for followed in self._views.values()]

    def close(self) -> None:
        """Let go of everything; what is committed stays."""
        self._sizes.close()
        for source in self._sources.values():
            source.close()
        if self._store is not None:
            self._store.close()

    # --- taking and folding ---

    def _take(self, timeout: float) -> None:
        """Records of one source."""
        waiting = [s for s in self._sources.values() if any(f.following for f in s.topics.values())]
        if not waiting:
            time.sleep(timeout)
            return
        for source, seconds in turns(waiting, timeout):
            records = source.reader.poll(POLL_RECORDS, seconds)
            if records:
                self._pending, self._pending_of, source.served = records, source, time.monotonic()
                return
            self._finish_loads(source)

    def _fold_pending(self) -> None:
        source = self._pending_of
        assert source is not None
        batches = []
        for topic, records in _by_topic(self._pending).items():
            followed = source.topics.get(topic)
            if followed is None or not followed.following:
                continue
            if self._made_anew(followed, records):
                self._reload(followed)
            elif followed.targets is not None:
                self._opened().stage(followed.relation.id, records)
                followed.read += len(records)
            else:
                batches.append((followed, records))
        if batches:
            self._fold(batches)
        self._pending = []
        self._finish_loads(source)

    def _fold(self, batches: Sequence[tuple[Followed, Sequence[Record]]]) -> None:
        self._opened().fold_all(
            [(f.relation.id, records, f.source.reader.positions(f.relation.topic)) for f, records in batches]
        )
        now = now_ms()
        for followed, records in batches:
            followed.read += len(records)
            followed.folded_at = now
            followed.freshness = max(0, now - ingested(records[-1]))
            self._sizes.changed(followed.relation.id)

    def _finish_loads(self, source: Source) -> None:
        for topic, followed in source.topics.items():
            if followed.following and followed.targets is not None:
                reached = source.reader.positions(topic)
                if all(reached.get(p, 0) >= target for p, target in followed.targets.items()):
                    self._opened().finish_load(followed.relation.id, reached)
                    followed.targets = None
                    followed.folded_at = now_ms()
                    self._sizes.changed(followed.relation.id)

    # --- following topics ---

    def _source(self, address: StoreAddress) -> Source:
        if address not in self._sources:
            log = self._connect(address)
            self._sources[address] = Source(address, log, log.reader(), ThreadPoolExecutor(1, "topics"))
        return self._sources[address]

    def _leave(self, relation_id: str) -> Source | None:
        """Follow a view no longer; the store that it was followed in."""
        followed = self._views.pop(relation_id, None)
        if followed is None:
            return None
        source, topic = followed.source, followed.relation.topic
        if source.topics.get(topic) is followed:
            del source.topics[topic]
            self._unfollow(followed)
            if self._pending_of is source:  # they will be read again from what is committed
                self._pending = [r for r in self._pending if r.topic != topic]
        return source

    def _try_following(self, followed: Followed, patience: float = 0.0) -> None:
        """Have the topic looked up, and follow it when it has been."""
        store, relation = self._opened(), followed.relation
        if relation.id not in store.views:
            found_there = store.create_view(relation, followed.indexes.values())
            if found_there.offsets:  # rows of an earlier process, to which perhaps nothing comes any more
                self._sizes.changed(relation.id)
        if followed.search is None:
            followed.search = followed.source.questions.submit(look_up, followed.source.log, relation.topic)
        if not wait([followed.search], patience).done:
            return
        search, followed.search = followed.search, None
        try:
            found = search.result()
        except MillpondError as error:
            followed.fault = _fault(error)
        else:
            followed.fault = None
            self._follow(followed, found)

    def _follow(self, followed: Followed, found: Found) -> None:
        """Begin to read at the store's offsets, or load the view if they belong to no topic that is there."""
        store, relation = self._opened(), followed.relation
        view = store.views[relation.id]
        beyond = any(offset > found.ends.get(p, 0) for p, offset in view.offsets.items())
        behind = any(view.offsets.get(p, 0) < end for p, end in found.ends.items())
        stale = bool(view.offsets) and behind and self._age > STALE_SECONDS
        if beyond or stale or (view.topic_id and view.topic_id != found.id):
            store.reset(relation.id)
        view.topic_id = found.id
        followed.targets = None if view.offsets else found.ends
        followed.ends = dict(found.ends)
        start = {p: max(first, view.offsets.get(p, 0)) for p, first in found.firsts.items()}
        followed.source.reader.add(relation.topic, start)
        followed.following = True

    def _unfollow(self, followed: Followed) -> None:
        if followed.following:
            followed.source.reader.remove(followed.relation.topic)
            followed.following = False

    def _reload(self, followed: Followed) -> None:
        """Build a view again from the beginning of its changelog."""
        log.warning("view %s is built again: its changelog was made anew", followed.relation.fqn)
        self._unfollow(followed)
        self._opened().reset(followed.relation.id)
        self._try_following(followed)

    def _made_anew(self, followed: Followed, records: Sequence[Record]) -> bool:
        """Whether the topic went back behind what is already folded: it is another topic of the same name."""
        if followed.targets is not None:
            return False
        known = self._opened().views[followed.relation.id].offsets
        return any(r.offset < known.get(r.partition, 0) for r in records)

    # --- looking after things ---

    def _look_after(self) -> None:
        self._opened()
        now = time.monotonic()
        answered = any(f.search is not None and f.search.done() for f in self._views.values())
        if now - self._looked < LOOK_SECONDS and not answered:
            return
        self._looked = now
        if self._opened().moved():
            raise MillpondError("VIEW_STORE_CORRUPT", path=self.path, reason="its file is gone")
        for followed in self._views.values():
            if not followed.following:
                self._try_following(followed)
            elif self._fell_behind(followed):
                self._reload(followed)
        if now - self._purged > PURGE_SECONDS:
            self._purged = now
            for relation_id in self._views:
                self._opened().purge(relation_id)

    def _fell_behind(self, followed: Followed) -> bool:
        """Whether the topic ends before what is already folded."""
        followed.ends |= (ends := followed.source.reader.ends(followed.relation.topic))
        if self._pending or followed.targets is not None:
            return False
        return any(ends.get(p, o) < o for p, o in self._opened().views[followed.relation.id].offsets.items())

    def _opened(self) -> ViewStore:
        if self._store is None:
            self._store = self._open()
        return self._store

    def _open(self) -> ViewStore:
        self._age = _seconds_since_written(self.path)
        try:
            return ViewStore(self.path)
        except MillpondError as error:
            if error.name != "VIEW_STORE_CORRUPT":
                raise
            log.warning("%s It is built again.", error.sentence)
            delete_store(self.path)
            return ViewStore(self.path)

    def _troubled(self, error: MillpondError) -> None:
        """A full disk and a lock pass; after anything else the store is opened again, or made again."""
        self.fault = _fault(error)
        if error.name in ("VIEW_STORE_FULL", "VIEW_STORE_LOCKED"):
            return
        log.warning("%s", error.sentence)
        self._pending = []
        for followed in self._views.values():
            self._unfollow(followed)
        store, self._store = self._store, None
        if store is not None:
            with contextlib.suppress(Exception):
                store.close()
        if error.name == "VIEW_STORE_CORRUPT":
            delete_store(self.path)

    def _progress(self, followed: Followed, now: int) -> ViewProgress:
        view = self._store.views.get(followed.relation.id) if self._store else None
        reached = followed.source.reader.positions(followed.relation.topic) if followed.following else {}
        rows, size = self._sizes.of(followed.relation.id)
        ends = followed.ends | followed.source.reader.ends(followed.relation.topic)
        return ViewProgress(
            relation=followed.relation.id,
            loading=view is None or not view.offsets,
            offsets=reached if not self._pending and reached else dict(view.offsets) if view else {},
            ends={p: max(end, reached.get(p, 0)) for p, end in ends.items()},
            rows=rows,
            bytes=size,
            freshness_ms=followed.freshness,
            folded_at=followed.folded_at,
            offsets_read=followed.read,
            undecodable=view.undecodable if view else 0,
            problem=view.problem if view else "",
            fault=self.fault or followed.fault,
            reported_at=now,
        )


def _seconds_since_written(path: Path) -> float:
    """Age of the last change of a store, as it lies on the disk; 0 if there is none."""
    files = [f for f in (path, path.with_name(path.name + "-wal")) if f.exists()]
    return time.time() - max(f.stat().st_mtime for f in files) if files else 0.0


def delete_store(path: Path) -> None:
    """Delete the store's file and what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm", "-load", "-load-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _by_topic(records: Sequence[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.topic, []).append(record)
    return found


def _fault(error: MillpondError) -> Fault:
    return Fault(error.name, error.sentence)
