"""Bound expressions as Spark SQL text. Only text: no pyspark here."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time

from millpond.errors import MillpondError
from millpond.plan.coercion import TIMESTAMPS, fraction_digits, is_decimal, size_of
from millpond.plan.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    ColumnRef,
    Element,
    Expr,
    FieldAccess,
    Literal,
)
from millpond.plan.functions.forms import quoted_spark
from millpond.plan.functions.table import get_function, written
from millpond.spark.type_names import quote, type_name
from millpond.types import NESTED, DataType

SUFFIXES = {"TINYINT": "Y", "SMALLINT": "S", "INTEGER": "", "BIGINT": "L"}


def to_spark(expr: Expr) -> str:
    """`expr` as Spark SQL over a DataFrame whose columns are named as the input's. UTC and ANSI off are assumed."""
    match expr:
        case ColumnRef():
            return quote(expr.name)
        case Literal():
            return literal_to_spark(expr)
        case Call():
            return written(get_function(expr.function).spark, expr, [to_spark(a) for a in expr.args])
        case Cast():
            return _cast(expr)
        case Case():
            return _case(expr)
        case FieldAccess():
            return f"{to_spark(expr.operand)}.{quote(expr.field)}"
        case Element():
            return _element(expr)
        case AggregateCall():
            raise MillpondError(
                "AGGREGATE_NOT_ALLOWED", clause="this place", instead="Aggregate in a SELECT with GROUP BY."
            )
    raise TypeError(f"{type(expr).__name__} is no expression")


def literal_to_spark(literal: Literal) -> str:
    """A constant of exactly its type."""
    value, target = literal.value, literal.type
    if value is None:
        return "NULL" if target.name == "NULL" else f"CAST(NULL AS {type_name(target)})"
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int() if target.name in SUFFIXES:
            return f"{value}{SUFFIXES[target.name]}"
        case float():
            return _float(value, target)
        case str():
            return quoted_spark(value)
        case bytes():
            return f"X'{value.hex()}'"
        case datetime() | date() | time():
            return _moment(value, target)
    return f"CAST('{value}' AS {type_name(target)})"


def _float(value: float, target: DataType) -> str:
    if math.isfinite(value):
        return f"{value!r}{'F' if target.name == 'FLOAT' else 'D'}"
    return f"CAST('{value}' AS {target.name})"


def _moment(value: datetime | date | time, target: DataType) -> str:
    if isinstance(value, datetime):
        utc = value.astimezone(UTC) if value.tzinfo else value
        text = utc.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        zoned = target.name == "TIMESTAMP_LTZ"
        return f"TIMESTAMP_LTZ'{text}Z'" if zoned else f"TIMESTAMP_NTZ'{text}'"
    if isinstance(value, time):
        return f"TIME'{value.isoformat(timespec='microseconds')}'"
    return f"DATE'{value.isoformat()}'"


def _case(expr: Case) -> str:
    branches = " ".join(f"WHEN {to_spark(when)} THEN {to_spark(then)}" for when, then in expr.branches)
    otherwise = f" ELSE {to_spark(expr.otherwise)}" if expr.otherwise is not None else ""
    return f"CASE {branches}{otherwise} END"


def _element(expr: Element) -> str:
    """`get` counts from 0 and is NULL outside; try_element_at of a map is NULL where the key is not."""
    operand, index = to_spark(expr.operand), to_spark(expr.index)
    if expr.operand.type.name == "ARRAY":
        return f"get({operand}, {index} - 1)"
    return f"try_element_at({operand}, {index})"


def _cast(expr: Cast) -> str:
    operand, source, target = to_spark(expr.operand), expr.operand.type, expr.type
    if target.name == "VARCHAR":
        return _to_text(operand, source, target)
    if target.name in TIMESTAMPS and source.name in (*TIMESTAMPS, "VARCHAR"):
        if source.name == "VARCHAR" and target.name == "TIMESTAMP":
            # Straight to TIMESTAMP_NTZ Spark would drop a zone in the text; here it is turned into UTC.
            operand = f"TRY_CAST({operand} AS TIMESTAMP)"
        return _truncated(f"TRY_CAST({operand} AS {type_name(target)})", source, target)
    if source.name == "FLOAT" and is_decimal(target):
        # A FLOAT's shortest digits count, not those of the double that it would be widened to.
        operand = f"CAST({operand} AS STRING)"
    return f"TRY_CAST({operand} AS {type_name(target)})"


def _truncated(text: str, source: DataType, target: DataType) -> str:
    """A time without the digits that its type does not have (whole seconds or milliseconds)."""
    digits = fraction_digits(target)
    if digits > 3 or (source.name in TIMESTAMPS and fraction_digits(source) <= digits):
        return text
    unit = "SECOND" if digits == 0 else "MILLISECOND"
    return f"CAST(date_trunc('{unit}', {text}) AS {type_name(target)})"


def _to_text(operand: str, source: DataType, target: DataType) -> str:
    """Times with all the digits of their type, nested values as JSON, VARCHAR(n) cut to n characters."""
    if source.name in TIMESTAMPS:
        digits = fraction_digits(source)
        text = f"date_format({operand}, 'yyyy-MM-dd HH:mm:ss{'.' + 'S' * digits if digits else ''}')"
    elif source.name == "TIME":
        # A date makes a timestamp of it, which can be formatted.
        digits = fraction_digits(source)
        whole = f"TRY_CAST(concat('1970-01-01 ', CAST({operand} AS STRING)) AS TIMESTAMP)"
        text = f"date_format({whole}, 'HH:mm:ss{'.' + 'S' * digits if digits else ''}')"
    elif source.name in NESTED:
        text = f"to_json({operand}, map('ignoreNullFields', 'false'))"
    else:
        text = f"TRY_CAST({operand} AS STRING)"
    size = size_of(target)
    return text if size is None else f"left({text}, {size})"
