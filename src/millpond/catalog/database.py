"""The catalog's database: opening it, and bringing its tables to the present version."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import StaticPool

from millpond.errors import MillpondError

MEMORY = "sqlite://"
"""A catalog that ends with its engine."""
PRAGMAS = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "busy_timeout = 5000")
"""FULL: a commit that was answered survives a loss of power, not only the end of the process."""


def open_engine(url: str) -> Engine:
    """An engine for `url` whose tables are at the present version. Raises CATALOG_UNREADABLE,
    CATALOG_TOO_NEW."""
    engine = _engine(url)
    shown = engine.url.database or url
    try:
        with engine.begin() as connection:
            migrate(connection, shown)
    except DatabaseError as error:
        engine.dispose()
        raise MillpondError("CATALOG_UNREADABLE", path=shown, reason=error.orig) from None
    except MillpondError:
        engine.dispose()
        raise
    return engine


def migrate(connection: Connection, shown: str) -> None:
    """Run the migrations that this database has not seen, all in the connection's transaction.

    A crash on the way leaves the tables as they were. `shown` names the database in CATALOG_TOO_NEW.
    """
    config = Config()
    config.set_main_option("script_location", str(files("millpond.catalog").joinpath("migrations")))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    head = ScriptDirectory.from_config(config).get_current_head()
    found = stored_revision(connection)
    if found == head:
        return
    try:
        command.upgrade(config, "head")
    except CommandError:
        raise MillpondError("CATALOG_TOO_NEW", path=shown, found=found) from None


def stored_revision(connection: Connection) -> str | None:
    """The number of the last migration that ran; None for a database without tables."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def sqlite_url(path: Path) -> str:
    return f"sqlite:///{path}"


def _engine(url: str) -> Engine:
    if url == MEMORY:
        engine = create_engine(url, poolclass=StaticPool, connect_args={"check_same_thread": False})
    else:
        engine = create_engine(url)
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine)
    return engine


def _prepare_sqlite(engine: Engine) -> None:
    """Let SQLAlchemy begin the transactions: the driver would not put CREATE TABLE into one.

    A write transaction locks at its begin, so two of them never run into each other half-way.
    """

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
