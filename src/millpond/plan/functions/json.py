"""JSON in text. Paths are constants of members and indexes; what is not there, or is no JSON, is NULL."""

from __future__ import annotations

from millpond.plan.functions.table import Function, function
from millpond.types import BOOLEAN, INTEGER, VARCHAR, ArrayType

TEXTS = ArrayType(element=VARCHAR)

# get_json_object gives '{}' for an object and for the text '{}' alike; only a variant knows which of them it is.
_GET = "get_json_object({0}, {1})"
_IS_TEXT = "startswith(to_json(try_variant_get(try_parse_json({0}), {1}, 'variant')), '\"')"
_LOOKS_NESTED = f"{_GET} RLIKE '^[{{{{\\\\[]'"
_SCALAR = f"IF({_LOOKS_NESTED} AND NOT {_IS_TEXT}, NULL, {_GET})"
_NESTED = f"IF({_LOOKS_NESTED} AND NOT {_IS_TEXT}, {_GET}, NULL)"

FUNCTIONS: tuple[Function, ...] = (
    function("json_value", "VARCHAR, JSONPATH", VARCHAR, _SCALAR, "mp_json_value({0}, {1})"),
    function("json_query", "VARCHAR, JSONPATH", VARCHAR, _NESTED, "mp_json_query({0}, {1})"),
    function(
        "json_query_array",
        "VARCHAR, JSONPATH",
        TEXTS,
        f"from_json({_NESTED}, 'ARRAY<STRING>')",
        "mp_json_texts({0}, {1})",
        operator=True,
    ),
    function(
        "get_json_object",
        "VARCHAR, JSONPATH",
        VARCHAR,
        _GET,
        "mp_json_get({0}, {1})",
        aliases=("extractjsonfield",),
    ),
    function(
        "json_exists",
        "VARCHAR, JSONPATH",
        BOOLEAN,
        f"({_GET} IS NOT NULL)",
        "(mp_json_get({0}, {1}) IS NOT NULL)",
    ),
    function("json_array_length", "VARCHAR", INTEGER, "json_array_length({0})", "mp_json_array_length({0})"),
    function(
        "json_object_keys",
        "VARCHAR",
        TEXTS,
        "json_object_keys({0})",
        "mp_json_keys({0})",
        aliases=("json_keys",),
    ),
    function(
        "is_json",
        "VARCHAR",
        BOOLEAN,
        "(try_parse_json({0}) IS NOT NULL)",
        "mp_is_json({0})",
        aliases=("is_json_string",),
    ),
)
