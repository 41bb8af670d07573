"""The documentation has a place for everything that the code has."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from millpond.api.app import create_app
from millpond.catalog.store_kinds import ENTITY_ALIASES, REGISTRY_KINDS, STORE_KINDS
from millpond.config import Settings
from millpond.errors import MillpondError, error_table
from millpond.plan import properties
from millpond.plan.functions.table import all_aggregates, all_functions
from millpond.sql import statements
from millpond.sql.parser import parse
from millpond.sql.statements import Statement
from tests.api.fake_engine import FakeEngine
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
    statements.CreateStore: ("CREATE STORE",),
    statements.UpdateStore: ("UPDATE STORE",),
    statements.CreateEntity: ("CREATE ENTITY",),
    statements.UpdateEntity: ("UPDATE ENTITY",),
    statements.CreateSchemaRegistry: ("CREATE SCHEMA_REGISTRY",),
    statements.UpdateSchemaRegistry: ("UPDATE SCHEMA_REGISTRY",),
    statements.CreateDescriptorSource: ("CREATE DESCRIPTOR_SOURCE",),
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


PAGES = ("errors.md", "functions.md", "operations.md", "compatibility.md")
TEXTS = (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
FENCE = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")


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


def known_properties() -> set[str]:
    tables = (properties.VIEW, properties.RELATION, properties.SOURCE, properties.QUERY, properties.SETTINGS)
    stores = (kind for kinds in (STORE_KINDS, REGISTRY_KINDS) for kind in kinds.values())
    given = {key for kind in stores for key in (*kind.properties, *kind.aliases)} | set(ENTITY_ALIASES)
    return {key for table in tables for key in table} | set(properties.ALIASES) | given


def test_every_property_is_described() -> None:
    text = (DOCS / "sql-reference.md").read_text("utf-8")
    assert {key for key in known_properties() if f"`{key}`" not in text} == set()


def test_every_route_has_a_place() -> None:
    text = (DOCS / "api.md").read_text("utf-8")
    app = create_app(FakeEngine(), Settings(), lambda: ())
    paths = {str(getattr(route, "path", "")) for route in app.routes}
    assert {path for path in paths if f"{path}`" not in text and f"{path}/`" not in text} == set()


def sql_blocks() -> list[tuple[str, str]]:
    return [(path.name, block) for path in TEXTS for block in FENCE.findall(path.read_text("utf-8"))]


@pytest.mark.parametrize(("page", "block"), sql_blocks())
def test_every_statement_that_is_shown_is_one(page: str, block: str) -> None:
    assert parse(block)


@pytest.mark.parametrize(
    "words",
    ["CREATE SECRET s WITH ('type' = x)", "CREATE TABLE t (a INTEGER)", "SELECT a FROM s MATCH_RECOGNIZE (x)"],
)
def test_what_is_said_to_be_refused_is_refused_by_name(words: str) -> None:
    with pytest.raises(MillpondError) as error:
        parse(words)
    assert error.value.name == "UNSUPPORTED"


def anchor(heading: str) -> str:
    """A heading's anchor as web sites make it."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    lines = path.read_text("utf-8").splitlines()
    return {anchor(line.lstrip("#").strip()) for line in lines if line.startswith("#")}


@pytest.mark.parametrize("page", TEXTS, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target, place in LINK.findall(page.read_text("utf-8")):
        if "://" in target or target.endswith(".png"):
            continue
        path = page.parent / target if target else page
        if not path.exists() or (place and place not in anchors(path)):
            broken.append(f"{target}#{place}")
    assert broken == []
