"""A catalog on the disk: restarts, crashes, older and newer ones, and its secrets."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from millpond.catalog import tables
from millpond.catalog.catalog import Catalog
from millpond.catalog.model import QueryState
from millpond.errors import MillpondError
from tests.catalog.examples import furnish

DATA = Path(__file__).parent / "data"


def reopen(catalog: Catalog, folder: Path) -> Catalog:
    catalog.close()
    return Catalog.open(folder)


def test_a_reopened_catalog_is_as_it_was(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path / "data")
    furnish(catalog)
    catalog.set_session_setting("s", "k", "v")
    before = catalog.snapshot.contents
    catalog = reopen(catalog, tmp_path / "data")
    assert catalog.snapshot.contents == before
    assert catalog.store_secrets("kafka") == {"kafka.sasl.password": "hush"}
    catalog.close()


def test_the_database_default_stays_dropped(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    catalog.drop_database("default")
    catalog = reopen(catalog, tmp_path)
    assert not catalog.databases()
    catalog.close()


def test_the_migrations_make_the_tables_that_the_code_uses(catalog: Catalog) -> None:
    with catalog._engine.begin() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, tables.metadata) == []


@pytest.mark.parametrize("saved", sorted(DATA.glob("catalog_*.sql")), ids=lambda path: path.stem)
def test_a_catalog_of_an_earlier_version_is_upgraded(tmp_path: Path, saved: Path) -> None:
    with sqlite3.connect(tmp_path / "catalog.db") as database:
        database.executescript(saved.read_text("utf-8"))
    database.close()
    catalog = Catalog.open(tmp_path)
    assert [d.name for d in catalog.databases()] == ["default"]
    assert [s.name for s in catalog.stores()] == ["kafka"]
    clicks, visits = catalog.relations()
    assert [str(c.type) for c in visits.columns] == ["VARCHAR", 'ARRAY<STRUCT<"Phone" VARCHAR>>']
    (query,) = catalog.queries()
    assert (query.sources, query.sink, query.state) == ((clicks.id,), visits.id, QueryState.RUNNING)
    assert [i.columns for i in catalog.indexes(visits.id)] == [("tags",)]
    assert catalog.session_settings("s") == {"k": "v"} and catalog.defaults() == {"schema": "public"}
    catalog.create_database("still_writable")
    catalog.close()


def test_a_catalog_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    with catalog._engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    catalog.close()
    with pytest.raises(MillpondError) as refusal:
        Catalog.open(tmp_path)
    assert refusal.value.name == "CATALOG_TOO_NEW" and "'9999'" in str(refusal.value)


def test_a_file_that_is_no_catalog_is_refused(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(MillpondError) as refusal:
        Catalog.open(tmp_path)
    assert refusal.value.name == "CATALOG_UNREADABLE"


def test_secrets_are_sealed_with_a_key_that_only_the_owner_may_read(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    furnish(catalog)
    catalog.close()
    assert (tmp_path / "secret.key").stat().st_mode & 0o777 == 0o600
    for file in tmp_path.iterdir():
        assert b"hush" not in file.read_bytes()


def test_another_key_does_not_open_the_secrets(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    furnish(catalog)
    (tmp_path / "secret.key").unlink()
    catalog = reopen(catalog, tmp_path)
    with pytest.raises(MillpondError) as refusal:
        catalog.store_secrets("kafka")
    assert refusal.value.name == "SECRETS_UNREADABLE"
    catalog.close()


def test_a_damaged_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.key").write_bytes(b"")
    with pytest.raises(MillpondError) as refusal:
        Catalog.open(tmp_path)
    assert refusal.value.name == "SECRET_KEY_UNREADABLE"


ENDLESS_WRITER = """
import sys
from pathlib import Path
from millpond.catalog.catalog import Catalog
catalog = Catalog.open(Path(sys.argv[1]))
for n in range(1_000_000):
    with catalog.transaction():
        catalog.create_database(f"d{n}")
        catalog.create_schema(f"d{n}", "second")
    print(n, flush=True)
"""


def test_a_killed_writer_leaves_whole_transactions_and_every_one_that_it_answered(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ENDLESS_WRITER, str(tmp_path)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    answered = [int(writer.stdout.readline()) for _ in range(20)]
    os.kill(writer.pid, signal.SIGKILL)
    answered += [int(line) for line in writer.stdout if line.endswith("\n")]
    writer.wait()
    writer.stdout.close()
    catalog = Catalog.open(tmp_path)
    made = {d.name for d in catalog.databases()} - {"default"}
    assert {f"d{n}" for n in answered} <= made
    for name in made:
        assert [s.name for s in catalog.schemas(name)] == ["public", "second"]
    catalog.close()
