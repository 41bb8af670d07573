"""SQLite aggregates of ours. The last argument is 1 for DISTINCT: SQLite itself takes that with one argument only."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, ClassVar, Protocol

import orjson

from millpond.views.faults import noted
from millpond.views.nested_functions import to_json_value
from millpond.views.number_functions import WIDE, decimal_text
from millpond.views.value_limits import LARGEST_TEXT, MOST_ITEMS, too_large


class Aggregate(Protocol):
    """What sqlite3 wants of an aggregate."""

    def step(self, *args: Any) -> None: ...

    def finalize(self) -> Any: ...


class DecimalSum:
    """mp_dec_sum(x, precision, scale, distinct)."""

    def __init__(self) -> None:
        self.total = Decimal(0)
        self.count = 0
        self.seen: set[str] = set()
        self.type = (38, 0)

    def step(self, value: str | None, precision: int, scale: int, distinct: int) -> None:
        if value is None or (distinct and value in self.seen):
            return
        if distinct:
            self.seen.add(value)
        self.type = (precision, scale)
        self.total = WIDE.add(self.total, Decimal(value))
        self.count += 1

    def finalize(self) -> str | None:
        return decimal_text(self.total, *self.type) if self.count else None


class DecimalAverage(DecimalSum):
    """mp_dec_avg(x, precision, scale, distinct)."""

    def finalize(self) -> str | None:
        return decimal_text(WIDE.divide(self.total, Decimal(self.count)), *self.type) if self.count else None


class Spread:
    """Variance by Welford's method: exact enough for values far from zero."""

    sample: ClassVar[bool] = True
    root: ClassVar[bool] = False

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self.squares = 0.0
        self.seen: set[float] = set()

    def step(self, value: float | str | None, distinct: int) -> None:
        if value is None or (distinct and value in self.seen):
            return
        if isinstance(value, str):  # NaN
            self.squares = math.nan
            return
        if distinct:
            self.seen.add(value)
        self.count += 1
        delta = value - self.mean
        self.mean += delta / self.count
        self.squares += delta * (value - self.mean)

    def finalize(self) -> float | None:
        degrees = self.count - self.sample
        if degrees < 1:
            return None
        variance = self.squares / degrees
        return math.sqrt(variance) if self.root else variance


class SampleDeviation(Spread):
    root = True


class PopulationVariance(Spread):
    sample = False


class PopulationDeviation(Spread):
    sample = False
    root = True


class ListAggregate:
    """mp_listagg(x, separator, distinct): in the order in which rows come."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.seen: set[str] = set()
        self.separator = ","
        self.length = 0

    def step(self, value: str | None, separator: str | None, distinct: int) -> None:
        self.separator = separator or ""
        if value is None or (distinct and value in self.seen):
            return
        if distinct:
            self.seen.add(value)
        self.length += len(value) + len(self.separator)
        if self.length > LARGEST_TEXT:
            raise noted(too_large())
        self.parts.append(value)

    def finalize(self) -> str | None:
        return self.separator.join(self.parts) if self.parts else None


class Collect:
    """mp_collect(x, type, distinct): the values that are not NULL as an ARRAY; a set is sorted."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.type = "VARCHAR"
        self.distinct = False
        self.length = 0

    def step(self, value: Any, type_text: str, distinct: int) -> None:
        self.type, self.distinct = type_text, bool(distinct)
        if value is None:
            return
        self.length += len(value) if isinstance(value, str | bytes) else 1
        if self.length > LARGEST_TEXT or len(self.values) >= MOST_ITEMS:
            raise noted(too_large())
        self.values.append(value)

    def finalize(self) -> str:
        values = sorted(set(self.values), key=self._order) if self.distinct else self.values
        return orjson.dumps([to_json_value(v, self.type) for v in values]).decode()

    def _order(self, value: Any) -> Any:
        return Decimal(value) if self.type.startswith("DECIMAL") else value


AGGREGATES: dict[str, tuple[int, type[Aggregate]]] = {
    "mp_dec_sum": (4, DecimalSum),
    "mp_dec_avg": (4, DecimalAverage),
    "mp_stddev_samp": (2, SampleDeviation),
    "mp_stddev_pop": (2, PopulationDeviation),
    "mp_var_samp": (2, Spread),
    "mp_var_pop": (2, PopulationVariance),
    "mp_listagg": (3, ListAggregate),
    "mp_collect": (3, Collect),
}
"""Name -> number of arguments and class."""
