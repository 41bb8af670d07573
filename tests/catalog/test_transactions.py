"""All or nothing, and who sees what when."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from millpond.catalog.catalog import Catalog
from millpond.errors import MillpondError
from tests.catalog.examples import CLICKS, furnish


def names(catalog: Catalog) -> list[str]:
    return [d.name for d in catalog.databases()]


def test_each_committed_change_makes_the_version_grow(catalog: Catalog) -> None:
    versions = [catalog.version]
    for name in ("a", "b"):
        catalog.create_database(name)
        versions.append(catalog.version)
    assert versions == sorted(set(versions))


def test_a_snapshot_never_changes(catalog: Catalog) -> None:
    before = catalog.snapshot
    catalog.create_database("a")
    assert [d.name for d in before.databases()] == ["default"]


def test_what_an_exception_leaves_is_undone(catalog: Catalog) -> None:
    before = catalog.snapshot
    with pytest.raises(ZeroDivisionError), catalog.transaction():
        furnish(catalog)
        assert catalog.relation("default", "public", "clicks") is not None
        raise ZeroDivisionError
    assert catalog.snapshot is before
    furnish(catalog)


def test_a_refused_write_within_a_transaction_can_be_caught(catalog: Catalog) -> None:
    with catalog.transaction():
        catalog.create_database("a")
        with pytest.raises(MillpondError):
            catalog.create_relation(CLICKS)
        with pytest.raises(ZeroDivisionError), catalog.transaction():
            catalog.create_database("b")
            raise ZeroDivisionError
        catalog.create_database("c")
    assert names(catalog) == ["a", "c", "default"]


def test_a_transaction_that_writes_nothing_leaves_the_version(catalog: Catalog) -> None:
    before = catalog.version
    with catalog.transaction():
        catalog.databases()
    assert catalog.version == before


def test_no_two_states_ever_have_one_version(catalog: Catalog) -> None:
    with pytest.raises(ZeroDivisionError), catalog.transaction():
        catalog.create_database("a")
        undone = catalog.version
        raise ZeroDivisionError
    catalog.create_database("b")
    assert catalog.version > undone


def test_other_threads_see_a_transaction_only_when_it_is_committed(catalog: Catalog) -> None:
    with ThreadPoolExecutor(1) as other:
        with catalog.transaction():
            catalog.create_database("a")
            assert names(catalog) == ["a", "default"]
            assert other.submit(names, catalog).result() == ["default"]
        assert other.submit(names, catalog).result() == ["a", "default"]


def test_writers_in_many_threads_do_not_lose_one_another_s_writes(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    start = threading.Barrier(6)

    def write(thread: int) -> None:
        start.wait()
        for n in range(5):
            catalog.create_database(f"d{thread}_{n}")

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(write, range(6)))
    assert len(names(catalog)) == 1 + 6 * 5
    catalog.close()


def test_a_disk_that_cannot_be_written_is_a_named_error_and_changes_nothing(catalog: Catalog) -> None:
    with catalog._engine.begin() as connection:
        connection.execute(text("CREATE TRIGGER full BEFORE INSERT ON databases BEGIN SELECT RAISE(FAIL, 'full'); END"))
    with pytest.raises(MillpondError) as refusal:
        catalog.create_database("a")
    assert refusal.value.name == "CATALOG_NOT_WRITTEN"
    assert names(catalog) == ["default"]
