"""Numbers. Nothing raises: what has no result, or one that is too large for its type, is NULL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millpond.plan.coercion import decimal, decimal_result, is_decimal, is_integer
from millpond.plan.expressions import Call, Expr
from millpond.plan.functions.forms import NUMBERS_ONLY, by_kind, constant, precision_scale, same_type
from millpond.plan.functions.table import Form, Function, function
from millpond.types import BIGINT, DOUBLE, INTEGER, VARCHAR, DataType

LEFT, RIGHT = NUMBERS_ONLY.format("{0}"), NUMBERS_ONLY.format("{1}")
SUFFIX = {"TINYINT": "Y", "SMALLINT": "S", "INTEGER": "", "BIGINT": "L"}
"""How Spark marks the type of an integer constant."""
SPARK_INTEGER = {"TINYINT": "TINYINT", "SMALLINT": "SMALLINT", "INTEGER": "INT", "BIGINT": "BIGINT"}


def _result(operator: str) -> Callable[[Sequence[Expr]], DataType]:
    def rule(args: Sequence[Expr]) -> DataType:
        left, right = args[0].type, args[1].type
        if is_decimal(left) and is_decimal(right):
            return decimal_result(operator, left, right)
        return left

    return rule


def _spark(operator: str, integer: str) -> Form:
    """`a operator b`; decimals are cut to the type that the table states, floats stay what they are."""
    return by_kind(integer, f"CAST(({{0}} {operator} {{1}}) AS DECIMAL({{ps}}))", f"({{0}} {operator} {{1}})")


def _sqlite(name: str, floating: str) -> Form:
    def form(call: Call, args: Sequence[str]) -> str:
        if call.type.name == "FLOAT":
            return f"mp_to_float({floating.format(*args)})"
        return by_kind(f"mp_int_{name}({{0}}, {{1}}, {{bits}})", f"mp_dec_{name}({{0}}, {{1}}, {{ps}})", floating)(
            call, args
        )

    return form


def _divide_spark(call: Call, args: Sequence[str]) -> str:
    if is_integer(call.type):
        return f"TRY_CAST(({args[0]} DIV {args[1]}) AS {SPARK_INTEGER[call.type.name]})"
    cast = f"DECIMAL({precision_scale(call.type)})" if is_decimal(call.type) else call.type.name
    return f"CAST(({args[0]} / {args[1]}) AS {cast})"


def _zero(type: DataType) -> str:
    return "0" + SUFFIX.get(type.name, "")


def _negate_spark(call: Call, args: Sequence[str]) -> str:
    return f"try_subtract({_zero(call.type)}, {args[0]})" if is_integer(call.type) else f"(- {args[0]})"


def _abs_spark(call: Call, args: Sequence[str]) -> str:
    if not is_integer(call.type):
        return f"abs({args[0]})"
    zero = _zero(call.type)
    return f"IF({args[0]} < {zero}, try_subtract({zero}, {args[0]}), {args[0]})"


def _whole_type(args: Sequence[Expr]) -> DataType:
    """CEIL and FLOOR keep the type; a decimal loses its fraction and may gain a digit."""
    type = args[0].type
    return decimal(type.precision - type.scale + 1, 0) if is_decimal(type) else type


def _whole_spark(name: str) -> Form:
    # Spark's ceil of a double is a BIGINT; above 2^53 a double is whole anyway.
    floating = f"IF(abs({{0}}) < 9007199254740992D, CAST({name}({{0}}) AS {{type}}), {{0}})"
    return by_kind("{0}", f"CAST({name}({{0}}) AS DECIMAL({{ps}}))", floating)


def _round_type(args: Sequence[Expr]) -> DataType:
    """ROUND(DECIMAL(p, s), n) has n fraction digits, if it had more before."""
    type = args[0].type
    if not is_decimal(type):
        return type
    places = getattr(args[1], "value", 0)
    scale = min(type.scale, max(0, places))
    return decimal(min(38, type.precision - type.scale + scale + 1), scale)


def _places(call: Call) -> int:
    return int(str(constant(call, 1)))


def _round_spark(call: Call, args: Sequence[str]) -> str:
    cast = f"DECIMAL({precision_scale(call.type)})" if is_decimal(call.type) else call.type.name
    return f"CAST(round({args[0]}, {_places(call)}) AS {cast})"


def _round_sqlite(call: Call, args: Sequence[str]) -> str:
    form = by_kind(
        "mp_int_round({0}, {places}, {bits})".replace("{places}", str(_places(call))),
        f"mp_dec_round({{0}}, {_places(call)}, {{ps}})",
        f"mp_round({{0}}, {_places(call)})",
    )
    return form(call, args)


def _any_null(best: str) -> Form:
    """GREATEST and LEAST are NULL if one argument is; Spark's own pass over it."""

    def form(call: Call, args: Sequence[str]) -> str:
        if len(args) == 1:
            return args[0]
        nulls = " OR ".join(f"{a} IS NULL" for a in args)
        return f"IF({nulls}, NULL, {best}({', '.join(args)}))"

    return form


def _extreme_sqlite(name: str) -> Form:
    def form(call: Call, args: Sequence[str]) -> str:
        if len(args) == 1:
            return args[0]
        first = f'{args[0]} COLLATE "DECIMAL"' if is_decimal(call.type) else args[0]
        return f"{name}({', '.join((first, *args[1:]))})"

    return form


def _math(name: str, *aliases: str, spark: str | None = None) -> Function:
    """A function from DOUBLE to DOUBLE that is NULL outside its domain."""
    text = spark or f"nanvl({name}({{0}}), NULL)"
    return function(name, "DOUBLE", DOUBLE, text, f"mp_math('{name}', {{0}})", aliases=aliases)


def _sign_type(args: Sequence[Expr]) -> DataType:
    """SIGN keeps the kind of number; -1, 0 and 1 are decimals of one digit."""
    return decimal(1, 0) if is_decimal(args[0].type) else args[0].type


def _sign_spark(call: Call, args: Sequence[str]) -> str:
    cast = (
        f"DECIMAL({precision_scale(call.type)})"
        if is_decimal(call.type)
        else SPARK_INTEGER.get(call.type.name, call.type.name)
    )
    return f"CAST(sign({args[0]}) AS {cast})"


def _sign_sqlite(call: Call, args: Sequence[str]) -> str:
    if is_decimal(call.type):
        return f"mp_dec_sign({args[0]}, {precision_scale(call.type)})"
    zero = "REAL" if call.type.name in ("FLOAT", "DOUBLE") else "INTEGER"
    return f"CAST(sign({args[0]}) AS {zero})"


FUNCTIONS: tuple[Function, ...] = (
    function(
        "+",
        "OPERAND, OPERAND",
        _result("+"),
        _spark("+", "try_add({0}, {1})"),
        _sqlite("add", f"({LEFT} + {RIGHT})"),
        operator=True,
    ),
    function(
        "-",
        "OPERAND, OPERAND",
        _result("-"),
        _spark("-", "try_subtract({0}, {1})"),
        _sqlite("sub", f"({LEFT} - {RIGHT})"),
        operator=True,
    ),
    function(
        "*",
        "OPERAND, OPERAND",
        _result("*"),
        _spark("*", "try_multiply({0}, {1})"),
        _sqlite("mul", f"({LEFT} * {RIGHT})"),
        operator=True,
    ),
    function(
        "/", "OPERAND, OPERAND", _result("/"), _divide_spark, _sqlite("div", f"({LEFT} / {RIGHT})"), operator=True
    ),
    function(
        "%",
        "OPERAND, OPERAND",
        _result("%"),
        _spark("%", "({0} % {1})"),
        _sqlite("mod", "mp_fmod({0}, {1})"),
        aliases=("!", "mod"),
    ),
    function(
        "negate",
        "NUMBER",
        same_type,
        _negate_spark,
        by_kind("mp_int_sub(0, {0}, {bits})", "mp_dec_negate({0}, {ps})", f"(- {LEFT})"),
        operator=True,
    ),
    function(
        "abs",
        "NUMBER",
        same_type,
        _abs_spark,
        by_kind("mp_int_abs({0}, {bits})", "mp_dec_abs({0}, {ps})", f"abs({LEFT})"),
    ),
    function(
        "ceil",
        "NUMBER",
        _whole_type,
        _whole_spark("ceil"),
        by_kind("{0}", "mp_dec_ceil({0}, {ps})", "mp_ceil({0})"),
        aliases=("ceiling",),
    ),
    function(
        "floor",
        "NUMBER",
        _whole_type,
        _whole_spark("floor"),
        by_kind("{0}", "mp_dec_floor({0}, {ps})", "mp_floor({0})"),
    ),
    function("round", "NUMBER, [LITERAL = 0]", _round_type, _round_spark, _round_sqlite),
    function("sign", "NUMBER", _sign_type, _sign_spark, _sign_sqlite, aliases=("signum",)),
    function("greatest", "S...", same_type, _any_null("greatest"), _extreme_sqlite("max")),
    function("least", "S...", same_type, _any_null("least"), _extreme_sqlite("min")),
    function(
        "power",
        "DOUBLE, DOUBLE",
        DOUBLE,
        "nanvl(power({0}, {1}), NULL)",
        "mp_power({0}, {1})",
        aliases=("pow",),
    ),
    function("atan2", "DOUBLE, DOUBLE", DOUBLE, "atan2({0}, {1})", "mp_atan2({0}, {1})"),
    function("log", "DOUBLE", DOUBLE, "ln({0})", "mp_math('ln', {0})", aliases=("ln",)),
    function(
        "log_base",
        "DOUBLE, DOUBLE",
        DOUBLE,
        "IF({0} = 1D, NULL, log({0}, {1}))",
        "mp_log({0}, {1})",
        aliases=("!", "log"),
    ),
    _math("sqrt"),
    _math("cbrt"),
    _math("exp"),
    _math("log10"),
    _math("log2"),
    _math("sin"),
    _math("cos"),
    _math("tan"),
    _math("cot"),
    _math("asin"),
    _math("acos"),
    _math("atan"),
    _math("sinh"),
    _math("cosh"),
    _math("tanh"),
    _math("degrees"),
    _math("radians"),
    function("pi", "", DOUBLE, "pi()", "mp_math('pi', 0)"),
    function("e", "", DOUBLE, "e()", "mp_math('e', 0)"),
    function("rand", "", DOUBLE, "rand()", "mp_rand()", aliases=("random",), deterministic=False),
    function(
        "rand_integer",
        "INTEGER",
        INTEGER,
        "CAST(floor(rand() * {0}) AS INT)",
        "CAST(mp_rand() * {0} AS INTEGER)",
        deterministic=False,
    ),
    function("bin", "BIGINT", VARCHAR, "bin({0})", "mp_bin({0})"),
    function("crc32", "VARCHAR", BIGINT, "crc32({0})", "mp_crc32({0})"),
)
