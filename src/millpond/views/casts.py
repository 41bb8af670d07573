"""CAST in the view store: from which type to which, as SQLite text."""

from __future__ import annotations

from collections.abc import Callable

from millpond.errors import MillpondError
from millpond.plan.coercion import TIMESTAMPS, fraction_digits, is_decimal, is_integer, size_of
from millpond.plan.functions.forms import BITS, precision_scale
from millpond.types import BINARY, NESTED, DataType

MICROS_PER_DAY = 86_400_000_000


def cast(operand: str, source: DataType, target: DataType) -> str:
    """SQLite text of CAST(operand AS target) for an operand of type `source`; NULL where the value does not fit."""
    if source.name == "NULL":
        return "NULL"
    if is_integer(target):
        return _to_integer(operand, source, target)
    if is_decimal(target):
        name = "mp_float_to_decimal" if source.name == "FLOAT" else "mp_to_decimal"
        return f"{name}({operand}, {precision_scale(target)})"
    if target.name in NESTED or (source.name in BINARY and target.name in BINARY):
        return _unchanged(operand, source, target)
    return _BY_TARGET[target.name](operand, source, target)


def _unchanged(operand: str, source: DataType, target: DataType) -> str:
    if source.name in NESTED and source != target:
        raise MillpondError(
            "TYPE_MISMATCH",
            what=f"A value of {source} whose parts are not written out",
            given=f"cast to {target} here",
            instead="Write its parts, each of its type: ARRAY[...], MAP[...], NAMED_STRUCT(...).",
        )
    return operand


def _to_integer(operand: str, source: DataType, target: DataType) -> str:
    bits = BITS[target.name]
    if source.name == "BOOLEAN" or (is_integer(source) and BITS[source.name] <= bits):
        return operand
    return f"{'mp_dec_to_int' if is_decimal(source) else 'mp_to_int'}({operand}, {bits})"


def _to_double(operand: str, source: DataType, target: DataType) -> str:
    if source.name in ("FLOAT", "DOUBLE"):
        return operand
    return f"mp_to_double({operand})" if source.name in ("VARCHAR", "DECIMAL") else f"CAST({operand} AS REAL)"


def _to_float(operand: str, source: DataType, target: DataType) -> str:
    return operand if source.name == "FLOAT" else f"mp_to_float({_to_double(operand, source, target)})"


def _to_boolean(operand: str, source: DataType, target: DataType) -> str:
    if source.name == "VARCHAR":
        return f"mp_to_boolean({operand})"
    if is_decimal(source):
        operand = f"CAST({operand} AS REAL)"
    return operand if source.name == "BOOLEAN" else f"({operand} <> 0)"


def _to_date(operand: str, source: DataType, target: DataType) -> str:
    if source.name == "VARCHAR":
        return f"mp_text_to_date({operand})"
    return f"mp_to_date({operand})" if source.name in TIMESTAMPS else operand


def _to_time(operand: str, source: DataType, target: DataType) -> str:
    if source.name == "VARCHAR":
        return f"mp_text_to_time({operand})"
    return f"mp_to_time({operand}, 1)" if source.name in TIMESTAMPS else operand


def _to_timestamp(operand: str, source: DataType, target: DataType) -> str:
    if source.name == "DATE":
        return f"({operand} * {MICROS_PER_DAY})"
    text = f"mp_text_to_timestamp({operand})" if source.name == "VARCHAR" else operand
    digits = fraction_digits(target)
    if digits > 3 or (source.name in TIMESTAMPS and fraction_digits(source) <= digits):
        return text
    return f"mp_truncate({text}, {1_000 if digits else 1_000_000})"


def _to_text(operand: str, source: DataType, target: DataType) -> str:
    text = _TEXTS.get(source.name, "CAST({0} AS TEXT)").format(operand, fraction_digits(source))
    size = size_of(target)
    return text if size is None else f"mp_left({text}, {size})"


_TEXTS = {
    "VARCHAR": "{0}",
    "DECIMAL": "{0}",
    "BOOLEAN": "mp_bool_text({0})",
    "DOUBLE": "mp_double_text({0})",
    "FLOAT": "mp_float_text({0})",
    "DATE": "mp_date_text({0})",
    "TIME": "mp_time_text({0}, {1})",
    "TIMESTAMP": "mp_timestamp_text({0}, {1})",
    "TIMESTAMP_LTZ": "mp_timestamp_text({0}, {1})",
    "BYTES": "mp_bytes_text({0})",
    "VARBINARY": "mp_bytes_text({0})",
    **dict.fromkeys(NESTED, "{0}"),
}
_BY_TARGET: dict[str, Callable[[str, DataType, DataType], str]] = {
    "VARCHAR": _to_text,
    "BOOLEAN": _to_boolean,
    "FLOAT": _to_float,
    "DOUBLE": _to_double,
    "DATE": _to_date,
    "TIME": _to_time,
    "TIMESTAMP": _to_timestamp,
    "TIMESTAMP_LTZ": _to_timestamp,
    "BYTES": lambda operand, source, target: f"CAST({operand} AS BLOB)",
    "VARBINARY": lambda operand, source, target: f"CAST({operand} AS BLOB)",
}
