"""The documentation has a place for everything that the code has."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from millpond.config import Settings
from millpond.errors import error_table
from millpond.plan.functions.table import all_aggregates, all_functions
from millpond.sql import statements
from millpond.sql.statements import Statement
from tests.house.raises import literals
from tests.house.source import ROOT

DOCS = ROOT / "docs"
METRIC = re.compile(r"millpond_[a-z0-9_]+")

STATEMENTS: dict[type[Statement], tuple[str, ...]] = {
    statements.Query: ("SELECT",),
    statements.CreateRelation: ("CREATE STREAM", "CREATE CHANGELOG"),
    statements.CreateRelationAs: (
        "CREATE STREAM AS SELECT",
        "CREATE CHANGELOG AS SELECT",
        "CREATE MATERIALIZED VIEW AS SELECT",
    ),
    statements.InsertSelect: ("INSERT INTO SELECT",),
    statements.InsertValues: ("INSERT INTO VALUES",),
    statements.InsertEntity: ("INSERT INTO ENTITY",),
    statements.CreateIndex: ("CREATE INDEX",),
    statements.CreateNamespace: ("CREATE DATABASE", "CREATE SCHEMA"),
    statements.Drop: ("DROP",),
    statements.Use: ("USE", "SET DEFAULT"),
    statements.Set: ("SET",),
    statements.List: ("LIST",),
    statements.Describe: ("DESCRIBE",),
    statements.Explain: ("EXPLAIN",),
    statements.Terminate: ("TERMINATE QUERY",),
    statements.Restart: ("RESTART QUERY",),
    statements.PrintEntity: ("PRINT ENTITY",),
    statements.CanI: ("CAN I",),
    statements.AlterRelation: ("ALTER RELATION",),
}
"""Each statement -> the headings of docs/sql-reference.md that it must have."""


def headings(page: str) -> set[str]:
    """The headings of a page, without their marks and backquotes."""
    text = (DOCS / page).read_text("utf-8")
    return {line.lstrip("#").strip().replace("`", "") for line in text.splitlines() if line.startswith("#")}


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = ("errors.md", "functions.md", "operations.md")


@pytest.mark.parametrize("page", PAGES)
def test_written_pages_are_up_to_date(page: str) -> None:
    path: Path = DOCS / page
    assert path.read_text("utf-8") == generator().pages()[path], "Run: python docs/generate.py"


def test_every_error_has_a_heading() -> None:
    assert error_table().keys() <= headings("errors.md")


def test_every_setting_has_a_heading() -> None:
    assert Settings.model_fields.keys() <= headings("operations.md")


def test_every_metric_is_described() -> None:
    text = (DOCS / "operations.md").read_text("utf-8")
    metrics = {name for name in literals() if METRIC.fullmatch(name)}
    assert {name for name in metrics if f"`{name}`" not in text} == set()


def test_every_function_is_described() -> None:
    text = (DOCS / "functions.md").read_text("utf-8")
    called = {f.describe() for f in all_functions() if f.spellings}
    called |= {a.describe() for a in all_aggregates()}
    assert {function for function in called if f"`{function}`" not in text} == set()


def test_every_statement_is_in_the_table_of_headings() -> None:
    known = {s for s in vars(statements).values() if isinstance(s, type) and issubclass(s, Statement)}
    assert STATEMENTS.keys() == known - {Statement}


@pytest.mark.parametrize("heading", [h for expected in STATEMENTS.values() for h in expected])
def test_every_statement_has_a_heading(heading: str) -> None:
    assert heading in headings("sql-reference.md")
