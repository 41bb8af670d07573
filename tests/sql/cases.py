"""The cases of the data files in this folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """Text as written, and what stands after `=>`."""

    written: str
    expected: str


def canonical_statements() -> list[str]:
    """The lines of identity.sql."""
    lines = (HERE / "identity.sql").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("--")]


def cases(name: str) -> list[Case]:
    """The blocks of a file whose blocks end with a line `=> expected`."""
    blocks = re.split(r"\n\s*\n", (HERE / name).read_text("utf-8").strip())
    parts = [block.rpartition("\n=> ") for block in blocks if not block.startswith("--")]
    assert all(arrow for _, arrow, _ in parts), f"a block of {name} has no =>"
    return [Case(written, expected.strip()) for written, _, expected in parts]


def corpus() -> list[str]:
    """Every statement of all files, right and wrong."""
    written = [case.written for name in ("spellings.sql", "errors.sql") for case in cases(name)]
    return canonical_statements() + written
