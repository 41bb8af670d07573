"""The view store: folding, loading, indexes, and what happens to a bad disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millpond.catalog.model import Relation
from millpond.errors import MillpondError
from millpond.stores.protocol import NewRecord, Record
from millpond.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    TIME,
    TIMESTAMP,
    TIMESTAMP_LTZ,
    ArrayType,
    Column,
    DecimalType,
)
from millpond.views.loading import STATEMENT_ROWS
from millpond.views.reader import ViewReader
from millpond.views.schema import ViewIndex, table_name
from millpond.views.store import ViewStore
from tests.views.relations import VISITS, another, at, upsert
from tests.waiting import eventually


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "views" / "views.db"


@pytest.fixture
def store(path: Path) -> Iterator[ViewStore]:
    made = ViewStore(path)
    yield made
    made.close()


@pytest.fixture
def reader(path: Path) -> Iterator[ViewReader]:
    made = ViewReader(path)
    yield made
    made.close()


def loaded(store: ViewStore, relation: Relation = VISITS) -> None:
    store.create_view(relation)
    store.finish_load(relation.id, {0: 0})


def rows(reader: ViewReader, relation: Relation = VISITS) -> list[tuple[Any, ...]]:
    names = ", ".join(f'"{c.name}"' for c in relation.columns)
    return sorted(reader.query(f"SELECT {names} FROM {table_name(relation.id)}"))


def test_records_become_rows_and_offsets(store: ViewStore, reader: ViewReader) -> None:
    loaded(store)
    store.fold(VISITS.id, [at(0, upsert("a", 1)), at(1, upsert("b", 1)), at(2, upsert("a", 2))])
    assert rows(reader) == [("a", "d", 2), ("b", "d", 1)]
    assert reader.offsets(VISITS.id) == {0: 3}
    store.fold(VISITS.id, [at(3, upsert("b", None))])
    assert rows(reader) == [("a", "d", 2)]
    assert reader.offsets(VISITS.id) == {0: 4}


def test_a_repeat_does_nothing(store: ViewStore, reader: ViewReader) -> None:
    loaded(store)
    batch = [at(0, upsert("a", 1)), at(1, upsert("a", 2)), at(2, upsert("b", 5))]
    store.fold(VISITS.id, batch)
    store.fold(VISITS.id, batch[:1])
    store.fold(VISITS.id, batch)
    assert rows(reader) == [("a", "d", 2), ("b", "d", 5)]
    assert reader.offsets(VISITS.id) == {0: 3}


def test_offsets_may_go_past_a_gap_but_never_back(store: ViewStore, reader: ViewReader) -> None:
    loaded(store)
    store.fold(VISITS.id, [at(0, upsert("a", 1))], {0: 9})
    assert reader.offsets(VISITS.id) == {0: 9}
    store.fold(VISITS.id, [], {0: 4})
    assert reader.offsets(VISITS.id) == {0: 9}


def test_a_new_store_object_goes_on_where_the_file_is(store: ViewStore, path: Path) -> None:
    loaded(store)
    store.fold(VISITS.id, [at(0, upsert("a", 1), partition=2)])
    store.close()
    again = ViewStore(path)
    assert again.create_view(VISITS).offsets == {0: 0, 2: 1}
    again.close()


def test_the_age_of_a_row_is_that_of_its_source_event(store: ViewStore, reader: ViewReader) -> None:
    loaded(store)
    store.fold(VISITS.id, [at(0, upsert("a", 1, ts=123)), at(1, replace(upsert("b", 1), headers=()))])
    query = f"SELECT url, _ingested FROM {table_name(VISITS.id)} ORDER BY url"
    assert reader.query(query) == [("a", 123), ("b", 1)]


def test_loading_shows_nothing_until_it_is_finished(store: ViewStore, reader: ViewReader) -> None:
    assert store.create_view(VISITS).offsets == {}
    store.stage(VISITS.id, [at(0, upsert("a", 1)), at(1, upsert("b", 1))])
    store.stage(VISITS.id, [at(2, upsert("a", 2)), at(3, upsert("b", None)), at(4, upsert("c", 1))])
    store.stage(VISITS.id, [at(5, upsert("d", None)), at(6, upsert("d", 4))])
    assert rows(reader) == []
    assert reader.offsets(VISITS.id) == {}
    store.finish_load(VISITS.id, {0: 7})
    assert rows(reader) == [("a", "d", 2), ("c", "d", 1), ("d", "d", 4)]
    assert reader.offsets(VISITS.id) == {0: 7}
    assert not store.path.with_name("views.db-load").exists()


def test_a_load_has_every_row_of_batches_of_any_size(store: ViewStore, reader: ViewReader) -> None:
    store.create_view(VISITS)
    sizes = (1, STATEMENT_ROWS - 1, STATEMENT_ROWS, STATEMENT_ROWS + 1, 3 * STATEMENT_ROWS + 7)
    end = 0
    for size in sizes:
        store.stage(VISITS.id, [at(i, upsert(f"{i:04d}", i)) for i in range(end, end + size)])
        end += size
    store.finish_load(VISITS.id, {0: end})
    assert rows(reader) == [(f"{i:04d}", "d", i) for i in range(end)]


def test_a_load_takes_the_widest_view(store: ViewStore, reader: ViewReader) -> None:
    names = [f"c{i}" for i in range(1_900)]
    wide = another("wide", columns=(VISITS.columns[0], *(Column(n, BIGINT) for n in names)), primary_key=("url",))
    store.create_view(wide)
    values = [b'{"url": "%d", "c1899": %d}' % (i, i) for i in range(STATEMENT_ROWS)]
    store.stage(wide.id, [at(i, NewRecord(b"%d" % i, v)) for i, v in enumerate(values)])
    store.finish_load(wide.id, {0: STATEMENT_ROWS})
    assert reader.query(f"SELECT count(*), sum(c1899) FROM {table_name(wide.id)}") == [(100, sum(range(100)))]


def test_a_load_keeps_the_indexes(store: ViewStore, reader: ViewReader) -> None:
    store.create_view(VISITS, [ViewIndex("by_visits", ("visits",))])
    store.stage(VISITS.id, [at(0, upsert("a", 1))])
    store.finish_load(VISITS.id, {0: 1})
    plan = reader.query(f"EXPLAIN QUERY PLAN SELECT * FROM {table_name(VISITS.id)} WHERE visits = 1")
    assert "by_visits" in plan[0][3]


def test_a_reset_view_is_loaded_again(store: ViewStore, reader: ViewReader) -> None:
    loaded(store)
    store.fold(VISITS.id, [at(0, upsert("a", 1))])
    store.reset(VISITS.id)
    assert rows(reader) == []
    assert reader.offsets(VISITS.id) == {}
    store.stage(VISITS.id, [at(0, upsert("z", 1))])
    store.finish_load(VISITS.id, {0: 1})
    assert rows(reader) == [("z", "d", 1)]


def test_a_table_with_other_columns_is_made_again(store: ViewStore, reader: ViewReader) -> None:
    loaded(store)
    store.fold(VISITS.id, [at(0, upsert("a", 1))])
    assert store.create_view(replace(VISITS, columns=VISITS.columns[:2])).offsets == {}
    assert reader.count(VISITS.id) == 0


def test_views_that_are_not_wanted_go(store: ViewStore, reader: ViewReader) -> None:
    other = another("other")
    loaded(store)
    loaded(store, other)
    store.keep_only([other.id])
    assert reader.offsets(VISITS.id) == {}
    assert reader.count(other.id) == 0
    with pytest.raises(MillpondError) as caught:
        rows(reader)
    assert caught.value.name == "VIEW_STORE_FAILED"
    store.drop_view(other.id)
    assert reader.query("SELECT * FROM _offsets") == []


def test_views_are_folded_in_one_transaction(store: ViewStore, reader: ViewReader) -> None:
    other = another("other")
    loaded(store)
    loaded(store, other)
    store.fold_all([(VISITS.id, [at(0, upsert("a", 1))], {}), (other.id, [at(0, upsert("b", 2))], {})])
    assert rows(reader) == [("a", "d", 1)]
    assert rows(reader, other) == [("b", "d", 2)]


def test_the_primary_key_and_asked_for_columns_have_indexes(store: ViewStore, reader: ViewReader) -> None:
    loaded(store)
    store.create_index(VISITS.id, ViewIndex("by visits", ("visits", "url")))
    query = f"EXPLAIN QUERY PLAN SELECT * FROM {table_name(VISITS.id)} WHERE "
    assert "_primary_key" in reader.query(query + "url = 'a' AND device = 'b'")[0][3]
    assert "by visits" in reader.query(query + "visits = 1")[0][3]
    store.drop_index(VISITS.id, "by visits")
    assert reader.query("SELECT * FROM sqlite_schema WHERE name LIKE '%by visits'") == []


def test_create_view_matches_the_indexes(store: ViewStore, reader: ViewReader) -> None:
    store.create_view(VISITS, [ViewIndex("one", ("visits",))])
    store.create_view(VISITS, [ViewIndex("two", ("visits",))])
    found = reader.query("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1")
    assert [name.split(".")[1] for (name,) in found] == ["_primary_key", "two"]


def test_an_index_that_cannot_be_built_is_named(store: ViewStore) -> None:
    loaded(store)
    with pytest.raises(MillpondError) as caught:
        store.create_index("no-such", ViewIndex("broken", ("visits",)))
    assert caught.value.name == "VIEW_INDEX_FAILED"


def test_rows_are_forgotten_when_they_are_old_enough(store: ViewStore, reader: ViewReader) -> None:
    short = replace(VISITS, properties={"retention.millis": "1000"})
    loaded(store, short)
    store.fold(VISITS.id, [at(0, upsert("a", 1, ts=5_000)), at(1, upsert("b", 1, ts=6_000))])
    assert store.purge(VISITS.id, now_millis=6_500) == 1
    assert rows(reader) == [("b", "d", 1)]
    loaded(store, another("long"))
    assert store.purge(another("long").id, now_millis=10**15) == 0


def test_a_retention_that_is_longer_than_sqlite_can_count_keeps_every_row(store: ViewStore) -> None:
    loaded(store, replace(VISITS, properties={"retention.millis": "9" * 20}))
    store.fold(VISITS.id, [at(0, upsert("a", 1, ts=5_000))])
    assert store.purge(VISITS.id) == 0


EVERY = replace(
    VISITS,
    columns=(
        *VISITS.columns,
        Column("dbl", DOUBLE),
        Column("dec", DecimalType(precision=20, scale=3)),
        Column("flag", BOOLEAN),
        Column("bin", BYTES),
        Column("day", DATE),
        Column("at", TIME),
        Column("ts", TIMESTAMP),
        Column("ltz", TIMESTAMP_LTZ),
        Column("list", ArrayType(element=DecimalType(precision=9, scale=2))),
    ),
)
EVERY_JSON = (
    b'{"url":"a","device":"d","visits":3,"dbl":"Infinity","dec":12345678901234567.890,"flag":true,"bin":"AQI=",'
    b'"day":"1970-01-02","at":"00:00:01","ts":"1970-01-01 00:00:00.001","ltz":"1970-01-01 00:00:01Z",'
    b'"list":[1.50]}'
)
EVERY_ROW = (
    "a",
    "d",
    3,
    float("inf"),
    "12345678901234567.890",
    1,
    b"\1\2",
    1,
    1_000_000,
    1_000,
    1_000_000,
    "[1.50]",
)


@pytest.mark.parametrize("undecodable", [False, True], ids=["quick", "one by one"])
def test_every_type_is_kept_in_its_encoding(store: ViewStore, reader: ViewReader, undecodable: bool) -> None:
    """The quick way and the careful way (taken when a batch has a bad record) agree."""
    loaded(store, EVERY)
    bad = [Record("visits", 0, 1, 1, b"k", b"[]")] if undecodable else []
    store.fold(VISITS.id, [Record("visits", 0, 0, 1, b"key", EVERY_JSON), *bad])
    assert rows(reader, EVERY) == [EVERY_ROW]


@pytest.mark.parametrize("value", [b"", b"null", b"{}}", b'{"visits":"x"}', b'{"visits":{}}', b'{"visits":1e30}'])
def test_a_bad_record_is_counted_and_the_others_are_folded(store: ViewStore, reader: ViewReader, value: bytes) -> None:
    loaded(store)
    bad = Record("visits", 0, 1, 1, b"bad", value)
    store.fold(VISITS.id, [at(0, upsert("a", 1)), bad, at(2, upsert("b", 2))])
    assert [url for url, _, _ in rows(reader)] == ["a", "b"]
    assert reader.offsets(VISITS.id) == {0: 3}
    view = store.views[VISITS.id]
    assert view.undecodable == 1
    assert view.problem.startswith("visits[0]@1: ")


def test_a_bad_record_is_counted_once_however_often_its_batch_is_written(
    store: ViewStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded(store)
    batch = [at(0, upsert("a", 1)), Record("visits", 0, 1, 1, b"bad", b"null")]
    with monkeypatch.context() as patch:
        full = sqlite3.OperationalError("database or disk is full")
        patch.setattr(store, "_write_offsets", lambda view, offsets: (_ for _ in ()).throw(full))
        for _ in range(3):
            with pytest.raises(MillpondError):
                store.fold(VISITS.id, batch)
    assert store.views[VISITS.id].undecodable == 0
    store.fold(VISITS.id, batch)
    assert store.views[VISITS.id].undecodable == 1


def test_a_record_without_a_key_is_counted(store: ViewStore) -> None:
    loaded(store)
    store.fold(VISITS.id, [Record("visits", 0, 0, 1, None, b"{}")])
    assert "no key" in store.views[VISITS.id].problem


def test_columns_that_only_the_key_carries_are_filled_in(store: ViewStore, reader: ViewReader) -> None:
    apart = replace(VISITS, properties={"value.columns.exclude": "url,device"})
    loaded(store, apart)
    store.fold(VISITS.id, [Record("visits", 0, 0, 1, b'{"url":"a","device":"d"}', b'{"visits":1}')])
    assert rows(reader) == [("a", "d", 1)]


def test_a_damaged_file_is_named(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 1000)
    with pytest.raises(MillpondError) as caught:
        ViewStore(path)
    assert caught.value.name == "VIEW_STORE_CORRUPT"


def test_a_hole_in_the_file_is_found_when_it_is_opened(store: ViewStore, path: Path) -> None:
    loaded(store)
    store.fold(VISITS.id, [at(n, upsert(f"u{n}" * 20, n)) for n in range(2_000)])
    store.close()
    data = bytearray(path.read_bytes())
    data[20_000:60_000] = bytes(40_000)
    path.write_bytes(data)
    with pytest.raises(MillpondError) as caught:
        ViewStore(path)
    assert caught.value.name == "VIEW_STORE_CORRUPT"


def test_a_full_disk_is_named_and_passes(store: ViewStore, reader: ViewReader) -> None:
    loaded(store)
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    many = [at(n, upsert(f"u{n}" * 50, n)) for n in range(2_000)]
    with pytest.raises(MillpondError) as caught:
        store.fold(VISITS.id, many)
    assert caught.value.name == "VIEW_STORE_FULL"
    assert reader.offsets(VISITS.id) == {0: 0}
    store._connection.execute("PRAGMA max_page_count = 100000")
    store.fold(VISITS.id, many)
    assert reader.count(VISITS.id) == 2_000


def test_a_locked_file_is_named_and_passes(store: ViewStore, reader: ViewReader, path: Path) -> None:
    loaded(store)
    store._connection.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(MillpondError) as caught:
        store.fold(VISITS.id, [at(0, upsert("a", 1))])
    assert caught.value.name == "VIEW_STORE_LOCKED"
    other.execute("ROLLBACK")
    other.close()
    store.fold(VISITS.id, [at(0, upsert("a", 1))])
    assert reader.count(VISITS.id) == 1


def test_a_file_that_was_deleted_is_noticed(store: ViewStore, path: Path) -> None:
    assert not store.moved()
    path.unlink()
    assert store.moved()


def test_a_reader_follows_to_a_file_made_anew(store: ViewStore, reader: ViewReader, path: Path) -> None:
    loaded(store)
    store.fold(VISITS.id, [at(0, upsert("a", 1))])
    assert reader.count(VISITS.id) == 1
    store.close()
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    eventually(lambda: count_or_error(reader), "VIEW_STORE_FAILED")
    again = ViewStore(path)
    loaded(again)
    eventually(lambda: count_or_error(reader), 0)
    again.close()


def count_or_error(reader: ViewReader) -> int | str:
    try:
        return reader.count(VISITS.id)
    except MillpondError as error:
        return error.name


def test_a_snapshot_stays_at_its_moment(store: ViewStore, reader: ViewReader) -> None:
    loaded(store)
    store.fold(VISITS.id, [at(0, upsert("a", 1))])
    with reader.snapshot(VISITS.id) as (connection, offsets):
        store.fold(VISITS.id, [at(1, upsert("a", 2))])
        assert offsets == {0: 1}
        assert connection.execute(f"SELECT visits FROM {table_name(VISITS.id)}").fetchall() == [(1,)]
    assert rows(reader) == [("a", "d", 2)]
