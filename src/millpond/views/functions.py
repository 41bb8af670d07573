"""Makes a SQLite connection speak the function table: its functions, aggregates, collation and LIKE."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from millpond.errors import MillpondError
from millpond.stores.formats.undecodable import UndecodableError
from millpond.views import (
    json_functions,
    nested_functions,
    number_functions,
    regex_functions,
    text_functions,
    time_functions,
)
from millpond.views.aggregate_functions import AGGREGATES
from millpond.views.faults import noted
from millpond.views.value_limits import LARGEST_TEXT

DECIMAL = "DECIMAL"
"""The collation that orders decimals, which are kept as text."""
FAMILIES = (number_functions, text_functions, regex_functions, time_functions, json_functions, nested_functions)
NO_RESULT = (ValueError, ArithmeticError, LookupError, TypeError, UndecodableError)
"""What a function raises over values that have no result: the result is NULL then. TypeError: NaN, a text."""


def register(connection: sqlite3.Connection, largest: int = LARGEST_TEXT) -> None:
    """Register everything that `millpond.views.expressions` writes. Once for each connection.

    `largest`: bytes of one value, beyond which a statement ends with SQLITE_TOOBIG.
    """
    for family in FAMILIES:
        for name, function in family.FUNCTIONS.items():
            connection.create_function(name, -1, _strict(function), deterministic=True)
        for name, function in getattr(family, "NULL_AWARE", {}).items():
            connection.create_function(name, -1, _safe(function), deterministic=True)
        for name, function in getattr(family, "VOLATILE", {}).items():
            connection.create_function(name, 0, function)
    for name, (count, aggregate) in AGGREGATES.items():
        connection.create_aggregate(name, count, aggregate)
    connection.create_collation(DECIMAL, compare_decimals)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, largest)
    connection.execute("PRAGMA case_sensitive_like = ON")


def compare_decimals(left: str, right: str) -> int:
    """The order of two numbers written as text."""
    a, b = Decimal(left), Decimal(right)
    return (a > b) - (a < b)


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """NULL if an argument is NULL or there is no result."""

    def strict(*args: Any) -> Any:
        if None in args:
            return None
        try:
            return function(*args)
        except NO_RESULT:
            return None
        except (MillpondError, TimeoutError) as error:
            raise noted(error) from None

    return strict


def _safe(function: Callable[..., Any]) -> Callable[..., Any]:
    """NULL if there is no result."""

    def safe(*args: Any) -> Any:
        try:
            return function(*args)
        except NO_RESULT:
            return None
        except (MillpondError, TimeoutError) as error:
            raise noted(error) from None

    return safe
