"""Projection and condition over single rows."""

from __future__ import annotations

import threading
import time
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from millpond.plan.expressions import Call, ColumnRef, Expr, Literal
from millpond.serve.evaluate import compile_row, select
from millpond.types import BIGINT, BOOLEAN, TIMESTAMP, VARCHAR, Column, DecimalType

D = DecimalType(precision=10, scale=2)
COLUMNS = (Column("url", VARCHAR), Column("n", BIGINT), Column("price", D), Column("at", TIMESTAMP))
ROW = ("./home", 3, Decimal("1.50"), datetime(2024, 1, 2))
URL, N, PRICE, AT = (ColumnRef(c.type, c.name) for c in COLUMNS)


def call(name: str, type_: Any, *args: Expr) -> Call:
    return Call(type_, name, args)


def is_home(url: str = "./home") -> Expr:
    return call("=", BOOLEAN, URL, Literal(VARCHAR, url))


def test_columns_alone_are_picked() -> None:
    assert compile_row(COLUMNS, [AT, URL])(ROW) == (datetime(2024, 1, 2), "./home")


def test_expressions_are_computed_with_their_types() -> None:
    compiled = compile_row(COLUMNS, [call("+", BIGINT, N, Literal(BIGINT, 4)), PRICE, AT, URL])
    assert compiled(ROW) == (7, Decimal("1.50"), datetime(2024, 1, 2), "./home")


@pytest.mark.parametrize(("url", "expected"), [("./home", ("./home",)), ("./other", None)])
def test_a_condition_decides(url: str, expected: Any) -> None:
    assert compile_row(COLUMNS, [URL], is_home(url))(ROW) == expected


def test_a_condition_over_null_is_not_true() -> None:
    assert compile_row(COLUMNS, [URL], is_home())((None, None, None, None)) is None


def test_it_may_be_called_in_any_thread() -> None:
    compiled = compile_row(COLUMNS, [N], is_home())
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(compiled(ROW))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(3,)] * 4


def test_it_is_fast_enough() -> None:
    compiled = compile_row(COLUMNS, [URL, call("+", BIGINT, N, Literal(BIGINT, 1))], is_home())
    compiled(ROW)
    started = time.process_time()
    for _ in range(2_000):
        compiled(ROW)
    assert 2_000 / (time.process_time() - started) > 5_000


def test_selections_with_another_condition_differ() -> None:
    output = (Column("url", VARCHAR),)
    one, same, other = (select(COLUMNS, output, [URL], is_home(u)) for u in ("a", "a", "b"))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert one.only_uses(["url"])
    assert not one.only_uses(["n"])
    assert one.project(ROW) == ("./home",)
