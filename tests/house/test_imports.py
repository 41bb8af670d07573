"""Imports go one way: along the flow of a row, or down to what everything stands on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house.source import Module, imported, modules

LAYERS = (
    ("types", "errors", "suggestion", "clock", "watchdog"),
    ("type_text", "avro_types", "config", "dialects", "jvm", "datadir"),
    ("protobuf_types", "protobuf_files"),
    ("catalog", "sql"),
    ("plan",),
    ("stores",),
    ("spark",),
    ("queries",),
    ("views",),
    ("serve",),
    ("embedded",),
    ("api",),
    ("app",),
    ("cli",),
)
"""A part may import those of the layers above it in this list, and itself."""

ALSO = {
    "jvm": "config datadir: the jars lie in a folder of the user's choice",
    "type_text": "types: the spelling of types",
}
"""Arrows within a layer -> why."""

NOT = {
    "sql": "catalog: the language knows nothing else",
    "plan": "stores: a plan has no engine and no store in it",
    "stores": "sql plan: the outside knows nothing of statements",
    "views": "sql spark queries: a view is made of changelog records alone",
    "api": "sql plan stores spark queries views: HTTP sees the engine's answers",
}
"""Arrows that the order would allow -> why not."""

HOMES = {
    "pyspark": ("spark",),
    "py4j": ("spark",),
    "starlette": ("api", "app"),
    "uvicorn": ("api", "app"),
    "sqlalchemy": ("catalog",),
    "alembic": ("catalog",),
    "cryptography": ("catalog",),
    "confluent_kafka": ("stores", "embedded", "cli"),
    "boto3": ("stores",),
    "botocore": ("stores",),
    "sqlglot": ("sql", "plan", "serve"),
    "typer": ("cli",),
    "prompt_toolkit": ("cli",),
    "pygments": ("cli",),
    "rich": ("cli", "embedded"),
    "pydantic_settings": ("config",),
    "prometheus_client": ("api",),
}
"""Libraries that only some parts may import."""


def part(name: str) -> str:
    """`millpond.serve.answers` -> `serve`; the package itself has no part."""
    return name.split(".")[1] if name.startswith("millpond.") else ""


def layer(name: str) -> int:
    return next(i for i, parts in enumerate(LAYERS) if name in parts)


def names(table: dict[str, str], key: str) -> list[str]:
    return table.get(key, "").split(":")[0].split()


def allowed(importer: str, target: str) -> bool:
    if importer == target or target in names(ALSO, importer):
        return True
    return layer(target) < layer(importer) and target not in names(NOT, importer)


def arrows(module: Module) -> list[tuple[str, int]]:
    """The parts that a module imports, with the lines."""
    known = {p for parts in LAYERS for p in parts}
    return [(part(n), line) for n, line in imported(module) if part(n) in known]


def test_every_part_has_its_layer() -> None:
    known = {p for parts in LAYERS for p in parts}
    assert {part(m.name) for m in modules() if part(m.name)} <= known


def test_imports_go_one_way() -> None:
    wrong = [
        f"{module.shown}:{line}: {part(module.name)} may not import {target}"
        for module in modules()
        if part(module.name)
        for target, line in arrows(module)
        if not allowed(part(module.name), target)
    ]
    assert not wrong, "\n".join(wrong)


def test_libraries_are_imported_in_their_homes_only() -> None:
    wrong = [
        f"{module.shown}:{line}: only {', '.join(homes)} may import {library}"
        for module in modules()
        for name, line in imported(module)
        for library, homes in HOMES.items()
        if name.split(".")[0] == library and part(module.name) not in homes
    ]
    assert not wrong, "\n".join(wrong)


LOAD = """
import importlib, sys
for name in {names}:
    importlib.import_module(name)
print(" ".join(sorted({{m.split(".")[0] for m in sys.modules}} & {{*{forbidden}}})))
"""


@pytest.mark.parametrize("light", ["sql", "plan", "serve"])
def test_the_light_parts_load_no_engine_and_no_server(light: str) -> None:
    here = [m.name for m in modules() if part(m.name) == light]
    script = LOAD.format(names=here, forbidden=["pyspark", "py4j", "starlette", "pandas"])
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == []
