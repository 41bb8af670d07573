"""Cases of what expressions mean, as data: `expression => value` lines over one row of sample values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from millpond.plan.binder import bind
from millpond.plan.expressions import Expr
from millpond.plan.scope import Scope
from millpond.sql.parser import parse
from millpond.sql.statements import Query
from millpond.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGER,
    TIMESTAMP,
    VARCHAR,
    ArrayType,
    Column,
    DataType,
    DecimalType,
    Field,
    MapType,
    Sized,
    StructType,
)

SCALAR_FILES = (
    "arithmetic",
    "comparison",
    "conditional",
    "casts",
    "text",
    "regex",
    "temporal",
    "json",
    "nested",
)
MONEY = DecimalType(precision=10, scale=2)
ADDRESS = StructType(fields=(Field("city", VARCHAR), Field("zip", INTEGER)))
PERSON = StructType(fields=(Field("name", VARCHAR), Field("address", ADDRESS)))
MOMENT = datetime(2024, 2, 29, 13, 5, 6, 789_000)

SAMPLE: tuple[tuple[str, DataType, Any], ...] = (
    ("i", INTEGER, 7),
    ("l", BIGINT, 2_000_000_000),
    ("x", DOUBLE, 2.5),
    ("d", MONEY, Decimal("12.34")),
    ("s", VARCHAR, "Hello"),
    ("nul", VARCHAR, None),
    ("ts", TIMESTAMP, MOMENT),
    ("ltz", Sized("TIMESTAMP_LTZ", 6), datetime(2024, 2, 29, 23, 59, 59, 123_456, UTC)),
    ("dt", DATE, date(2024, 2, 29)),
    ("tm", Sized("TIME", 3), time(13, 5, 6, 500_000)),
    ("arr", ArrayType(element=VARCHAR), ["a", "b", None]),
    ("nums", ArrayType(element=MONEY), [Decimal("10.10"), Decimal("20.50")]),
    ("times", ArrayType(element=TIMESTAMP), [MOMENT]),
    ("m", MapType(key=VARCHAR, value=INTEGER), {"k": 1, "l": None}),
    ("st", PERSON, {"name": "Ann", "address": {"city": "Ulm", "zip": 89_073}}),
)
"""One row: name, type, value of each column that the scalar cases may use."""

GROUP: tuple[tuple[str, DataType], ...] = (("v", INTEGER), ("p", MONEY), ("f", DOUBLE), ("t", VARCHAR))
GROUP_ROWS: tuple[tuple[Any, ...], ...] = (
    (1, Decimal("1.50"), 1.5, "a"),
    (2, Decimal("1.50"), 2.0, "b"),
    (2, Decimal("1.50"), None, "b"),
    (None, None, 4.0, None),
    (5, Decimal("3.00"), None, "c"),
)
"""The rows that the cases of aggregates are over."""


@dataclass(frozen=True, slots=True)
class CaseLine:
    """One case. `expected` is as `show` writes it; `close`: to twelve digits."""

    sql: str
    expected: str
    close: bool

    def accepts(self, value: Any) -> bool:
        if not self.close or not isinstance(value, float):
            return show(value) == self.expected
        return math.isclose(value, float(self.expected), rel_tol=1e-12)


def read_cases(*names: str) -> list[CaseLine]:
    """The cases of some files."""
    return [case for name in names for case in _read(Path(__file__).with_name(f"{name}.txt"))]


def _read(path: Path) -> Iterator[CaseLine]:
    """A case ends with the line that has its value; blank lines and `--` lines before it are comments."""
    pending: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        if not pending and (not line.strip() or line.startswith("--")):
            continue
        pending.append(line)
        if " => " in line:
            sql, _, expected = "\n".join(pending).rpartition(" => ")
            pending = []
            yield CaseLine(sql, expected.removeprefix("~"), expected.startswith("~"))


def sample_scope() -> Scope:
    return Scope.of_columns([Column(name, type_) for name, type_, _ in SAMPLE], "the sample")


def group_scope() -> Scope:
    return Scope.of_columns([Column(name, type_) for name, type_ in GROUP], "the group")


def bound(sql: str, scope: Scope) -> Expr:
    """An expression's text, parsed and bound."""
    (query,) = parse(f"SELECT {sql}")
    assert isinstance(query, Query)
    return bind(query.tree.expressions[0], scope)


def show(value: Any) -> str:
    """A Python value as the case files write it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case float():
            return (
                repr(value) if math.isfinite(value) else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
            )
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes() | bytearray():
            return f"X'{value.hex()}'"
        case datetime():
            return value.replace(tzinfo=None).isoformat(sep=" ")
        case date() | time():
            return value.isoformat()
        case list():
            return f"[{', '.join(map(show, value))}]"
        case dict():
            return "{" + ", ".join(f"{show(k)}: {show(v)}" for k, v in value.items()) + "}"
    return str(value)
