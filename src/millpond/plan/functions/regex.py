"""Regular expressions, in Java's spelling. They must be constants, so that a wrong one is refused at once."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.errors import MillpondError
from millpond.plan.expressions import Call
from millpond.plan.functions.forms import constant
from millpond.plan.functions.java_regex import compile_regex, replacement_groups
from millpond.plan.functions.table import Form, Function, function
from millpond.types import BOOLEAN, INTEGER, VARCHAR, ArrayType


def _extract(form: str) -> Form:
    """`form` once the group is known to be in the expression: Spark would stop the query over it."""

    def checked(call: Call, args: Sequence[str]) -> str:
        _check_group(call, int(str(constant(call, 2))))
        return form.format(*args)

    return checked


def _replace(form: str) -> Form:
    def checked(call: Call, args: Sequence[str]) -> str:
        for part in replacement_groups(str(constant(call, 2))):
            if isinstance(part, int):
                _check_group(call, part)
        return form.format(*args)

    return checked


def _check_group(call: Call, group: int) -> None:
    pattern = str(constant(call, 1))
    if not 0 <= group <= compile_regex(pattern).groups:
        reason = f"it has no group {group}"
        raise MillpondError("INVALID_CONSTANT", kind="regular expression", text=pattern, reason=reason)


FUNCTIONS: tuple[Function, ...] = (
    function(
        "regexp_extract",
        "VARCHAR, REGEX, [LITERAL = 0]",
        VARCHAR,
        _extract("IF({0} RLIKE {1}, regexp_extract({0}, {1}, {2}), NULL)"),
        _extract("mp_regexp_extract({0}, {1}, {2})"),
    ),
    function(
        "regexp_extract_all",
        "VARCHAR, REGEX, [LITERAL = 0]",
        ArrayType(element=VARCHAR),
        _extract("regexp_extract_all({0}, {1}, {2})"),
        _extract("mp_regexp_extract_all({0}, {1}, {2})"),
    ),
    function(
        "regexp_replace",
        "VARCHAR, REGEX, REPLACEMENT",
        VARCHAR,
        _replace("regexp_replace({0}, {1}, {2})"),
        _replace("mp_regexp_replace({0}, {1}, {2})"),
    ),
    function(
        "regexp_like",
        "VARCHAR, REGEX",
        BOOLEAN,
        "({0} RLIKE {1})",
        "mp_regexp_like({0}, {1})",
        aliases=("rlike", "regexp"),
    ),
    function("regexp_count", "VARCHAR, REGEX", INTEGER, "regexp_count({0}, {1})", "mp_regexp_count({0}, {1})"),
    function("regexp_instr", "VARCHAR, REGEX", INTEGER, "regexp_instr({0}, {1})", "mp_regexp_instr({0}, {1})"),
    function("regexp_substr", "VARCHAR, REGEX", VARCHAR, "regexp_substr({0}, {1})", "mp_regexp_substr({0}, {1})"),
    function(
        "regexp_split",
        "VARCHAR, REGEX",
        ArrayType(element=VARCHAR),
        "split({0}, {1}, -1)",
        "mp_regexp_split({0}, {1})",
    ),
)
