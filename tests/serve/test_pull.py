"""Queries over views, from their text to Python values, on a real view store: the cases of pull.sql."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError
from millpond.serve.answers import Answer
from millpond.serve.facts import NoFacts
from millpond.serve.pulling import Pulling
from millpond.sql.parser import parse
from millpond.sql.statements import Query
from tests.serve.shop import open_shop

VALUES = {"Decimal": Decimal, "date": date, "datetime": datetime, "time": time, "UTC": UTC}


@dataclass(frozen=True)
class Case:
    sql: str
    head: str
    rows: tuple[str, ...]

    @property
    def error(self) -> re.Match[str] | None:
        return re.fullmatch(r"([A-Z_]+)(?: (\d+):(\d+) (.+))?", self.head)


def cases() -> list[Case]:
    blocks = re.split(r"\n\s*\n", (Path(__file__).parent / "pull.sql").read_text("utf-8").strip())
    parts = [block.partition("\n=> ") for block in blocks if not block.startswith("--")]
    return [Case(sql, *_split(expected)) for sql, _, expected in parts]


def _split(expected: str) -> tuple[str, tuple[str, ...]]:
    head, *rows = expected.splitlines()
    return head, tuple(rows)


class NoQueries:
    """Nothing runs: every view is as it is."""

    def filling(self, relation_id: str) -> None:
        return None

    def unread(self, relation_id: str) -> int:
        return 0


@pytest.fixture(scope="module")
def pulling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pulling]:
    with open_shop(tmp_path_factory.mktemp("shop")) as shop:
        yield Pulling(shop.catalog, NoQueries(), shop.reader, NoFacts())


def ask(pulling: Pulling, sql: str) -> Answer:
    (query,) = parse(sql)
    assert isinstance(query, Query)
    return pulling.answer(query.text, query, SessionContext())


@pytest.mark.parametrize("case", [c for c in cases() if not c.error], ids=lambda c: c.sql[:70])
def test_a_query_over_views_answers(case: Case, pulling: Pulling) -> None:
    answer = ask(pulling, case.sql)
    assert ", ".join(f"{c.name} {c.type}" for c in answer.columns) == case.head
    assert [tuple(row) for row in answer.rows] == [value(row) for row in case.rows]
    again = ask(pulling, case.sql)
    assert [tuple(row) for row in again.rows] == [tuple(row) for row in answer.rows]


def value(text: str) -> tuple[Any, ...]:
    return tuple(eval(f"({text},)", VALUES))


@pytest.mark.parametrize("case", [c for c in cases() if c.error], ids=lambda c: c.sql[:70])
def test_a_wrong_query_over_views_is_refused(case: Case, pulling: Pulling) -> None:
    assert case.error is not None
    name, line, column, token = case.error.groups()
    with pytest.raises(MillpondError) as caught:
        ask(pulling, case.sql)
    assert caught.value.name == name, str(caught.value)
    found = caught.value.position
    if line is None:
        return
    assert found is not None, str(caught.value)
    start = found.column - 1
    assert (found.line, found.column) == (int(line), int(column)), str(caught.value)
    assert case.sql.splitlines()[found.line - 1][start : start + found.length] == token


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {', '.join(['1'] * 3_000)}",
        f"SELECT {' || '.join(['url'] * 500)} FROM visits",
        f"SELECT 1 FROM visits v0 {' '.join(f'JOIN visits v{n} ON v0.url = v{n}.url' for n in range(1, 101))}",
    ],
    ids=lambda sql: sql[:20],
)
def test_a_query_beyond_the_limits_of_the_view_store_is_called_too_large(pulling: Pulling, sql: str) -> None:
    with pytest.raises(MillpondError) as caught:
        ask(pulling, sql)
    assert caught.value.name == "QUERY_TOO_LARGE"


def test_a_long_chain_of_unions_answers(pulling: Pulling) -> None:
    sql = " UNION ALL ".join(f"SELECT {n} AS n" for n in range(200))
    assert sorted(n for (n,) in ask(pulling, sql).rows) == list(range(200))


def test_a_number_of_rows_that_is_too_large_is_called_that(pulling: Pulling) -> None:
    with pytest.raises(MillpondError) as caught:
        ask(pulling, "SELECT url FROM visits LIMIT 99999999999999999999999")
    assert "LIMIT that is too large" in caught.value.sentence
    assert "up to 9223372036854775807" in caught.value.hint
