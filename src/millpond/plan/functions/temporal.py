"""Dates and times, all of them in UTC. What has no date, or one outside the years 1 to 9999, is NULL."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.errors import MillpondError
from millpond.plan.expressions import Call, Expr, Literal
from millpond.plan.functions.datetime_pattern import parse_pattern
from millpond.plan.functions.forms import constant, quoted, quoted_spark
from millpond.plan.functions.table import Form, Function, function
from millpond.types import BIGINT, DATE, INTEGER, TIMESTAMP, TIMESTAMP_LTZ, VARCHAR, DataType, Sized

DAY_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")
MICROS = {"SECOND": 1_000_000, "MILLISECOND": 1_000, "MICROSECOND": 1}
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
"""0001-01-01 00:00:00 and 9999-12-31 23:59:59: Spark stops a query over a much larger one, Python cannot show it."""

YEARS = 10_000
LIMITS = {
    "YEAR": YEARS,
    "QUARTER": YEARS * 4,
    "MONTH": YEARS * 12,
    "WEEK": YEARS * 53,
    "DAY": YEARS * 366,
    "HOUR": YEARS * 366 * 24,
    "MINUTE": YEARS * 366 * 1_440,
    "SECOND": YEARS * 366 * 86_400,
    "MILLISECOND": YEARS * 366 * 86_400_000,
    "MICROSECOND": YEARS * 366 * 86_400_000_000,
}
"""How far TIMESTAMPADD moves at most: further leaves the calendar, and Spark would stop the query."""

# Spark's own CURRENT_TIMESTAMP stands still for a whole batch, which in real-time mode lasts minutes.
NOW = "timestamp_millis(CAST(java_method('java.lang.System', 'currentTimeMillis') AS BIGINT))"
TIMESTAMP_0 = Sized("TIMESTAMP_LTZ", 0)


def _part(name: str, spark: str, *aliases: str) -> Function:
    """One field of a time, BIGINT as in Flink."""
    return function(
        name,
        "INSTANT",
        BIGINT,
        f"CAST({spark.format('{0}')} AS BIGINT)",
        f"mp_date_part('{name}', {{0}})",
        aliases=aliases,
    )


def _epoch(unit: str, value: str = "{0}") -> str:
    """Spark's timestamp from a count of `unit` since 1970; NULL outside the calendar."""
    per_second = 1_000_000 // MICROS[unit]
    low, high = FIRST_SECOND * per_second, (LAST_SECOND + 1) * per_second - 1
    name = {
        "SECOND": "timestamp_seconds",
        "MILLISECOND": "timestamp_millis",
        "MICROSECOND": "timestamp_micros",
    }
    return f"IF({value} BETWEEN {low}L AND {high}L, {name[unit]}({value}), NULL)"


def _moved_type(args: Sequence[Expr]) -> DataType:
    """A DATE moved by whole days stays a DATE."""
    moment, unit = args[2].type, args[0]
    if moment.name == "DATE":
        return DATE if isinstance(unit, Literal) and unit.value in DAY_UNITS else TIMESTAMP
    if isinstance(unit, Literal) and unit.value == "MICROSECOND":
        return Sized(moment.name, 6)
    return moment


def _add_spark(call: Call, args: Sequence[str]) -> str:
    unit, amount = str(constant(call, 0)), call.args[1]
    moved = f"timestampadd({unit}, {args[1]}, {args[2]})"
    if call.type.name == "DATE":
        moved = f"CAST({moved} AS DATE)"
    if isinstance(amount, Literal) and isinstance(amount.value, int):
        return moved if abs(amount.value) <= LIMITS[unit] else f"IF(TRUE, NULL, {args[2]})"
    return f"IF({args[1]} BETWEEN -{LIMITS[unit]}L AND {LIMITS[unit]}L, {moved}, NULL)"


def _add_sqlite(call: Call, args: Sequence[str]) -> str:
    unit = str(constant(call, 0))
    if call.type.name == "DATE":
        return f"mp_date_add({quoted(unit)}, {args[1]}, {args[2]})"
    start = f"{args[2]} * 86400000000" if call.args[2].type.name == "DATE" else args[2]
    return f"mp_timestamp_add({quoted(unit)}, {args[1]}, {start})"


def _diff_spark(call: Call, args: Sequence[str]) -> str:
    return f"timestampdiff({constant(call, 0)}, {args[1]}, {args[2]})"


def _diff_sqlite(call: Call, args: Sequence[str]) -> str:
    return f"mp_timestamp_diff({quoted(constant(call, 0))}, {args[1]}, {args[2]})"


def _truncate_spark(call: Call, args: Sequence[str]) -> str:
    return f"date_trunc({quoted_spark(constant(call, 0))}, {args[1]})"


def _truncate_sqlite(call: Call, args: Sequence[str]) -> str:
    return f"mp_date_trunc({quoted(constant(call, 0))}, {args[1]})"


def _second(args: Sequence[Expr]) -> DataType:
    return args[1].type


def _lenient(pattern: str) -> str:
    """`pattern`, with a fraction allowed after a final second: UNIX_TIMESTAMP(CAST(ts AS VARCHAR), '... HH:mm:ss')."""
    return pattern + "[.SSSSSSSSS]" if parse_pattern(pattern)[-1].letter == "s" else pattern


def _unix_spark(call: Call, args: Sequence[str]) -> str:
    pattern = _lenient(str(constant(call, 1)))
    return f"unix_seconds(try_to_timestamp({args[0]}, {quoted_spark(pattern)}))"


def _unix_sqlite(call: Call, args: Sequence[str]) -> str:
    pattern = _lenient(str(constant(call, 1)))
    return f"mp_unix_seconds(mp_parse_timestamp({args[0]}, {quoted(pattern)}))"


def _from_epoch(spark: bool) -> Form:
    """TO_TIMESTAMP_LTZ(n, precision): 0 for seconds, 3 for milliseconds."""

    def form(call: Call, args: Sequence[str]) -> str:
        precision = constant(call, 1)
        if precision not in (0, 3):
            raise MillpondError(
                "INVALID_CONSTANT",
                kind="precision",
                text=precision,
                reason="it is 0 (seconds) or 3 (milliseconds)",
            )
        unit = "MILLISECOND" if precision == 3 else "SECOND"
        return _epoch(unit, args[0]) if spark else f"mp_from_epoch({args[0]}, {MICROS[unit]})"

    return form


MILLIS = "date_trunc('MILLISECOND', {})"
READ_SPARK = MILLIS.format("try_cast({0} AS TIMESTAMP)")
PARSE_SPARK = MILLIS.format("try_to_timestamp({0}, {1})")
READ_SQLITE = "mp_truncate(mp_text_to_timestamp({0}), 1000)"
PARSE_SQLITE = "mp_truncate(mp_parse_timestamp({0}, {1}), 1000)"

FUNCTIONS: tuple[Function, ...] = (
    function(
        "current_timestamp",
        "",
        TIMESTAMP_LTZ,
        NOW,
        "mp_now()",
        aliases=("now", "localtimestamp", "current_row_timestamp"),
        deterministic=False,
    ),
    function(
        "current_date",
        "",
        DATE,
        f"CAST({NOW} AS DATE)",
        "mp_to_date(mp_now())",
        aliases=("curdate",),
        deterministic=False,
    ),
    function(
        "current_time",
        "",
        Sized("TIME", 3),
        f"CAST({NOW} AS TIME(3))",
        "mp_to_time(mp_now(), 1000)",
        aliases=("localtime",),
        deterministic=False,
    ),
    _part("year", "year({})"),
    _part("quarter", "quarter({})"),
    _part("month", "month({})"),
    _part("week", "weekofyear({})", "weekofyear"),
    _part("day", "day({})", "dayofmonth"),
    _part("dayofyear", "dayofyear({})"),
    _part("dayofweek", "dayofweek({})"),
    _part("isodow", "(weekday({}) + 1)"),
    _part("hour", "hour({})"),
    _part("minute", "minute({})"),
    _part("second", "second({})"),
    _part("epoch", "unix_seconds({})"),
    function("unix_seconds", "INSTANT", BIGINT, "unix_seconds({0})", "mp_unix_seconds({0})"),
    function("unix_millis", "INSTANT", BIGINT, "unix_millis({0})", "mp_unix_millis({0})"),
    function("unix_micros", "INSTANT", BIGINT, "unix_micros({0})", "{0}"),
    function(
        "unix_now",
        "",
        BIGINT,
        f"unix_seconds({NOW})",
        "mp_unix_seconds(mp_now())",
        aliases=("!", "unix_timestamp"),
        deterministic=False,
    ),
    function(
        "unix_timestamp",
        "INSTANT",
        BIGINT,
        "unix_seconds({0})",
        "mp_unix_seconds({0})",
        aliases=("to_unix_timestamp",),
    ),
    function(
        "unix_text",
        "VARCHAR",
        BIGINT,
        "unix_seconds(try_cast({0} AS TIMESTAMP))",
        "mp_unix_seconds(mp_text_to_timestamp({0}))",
        aliases=("!", "unix_timestamp", "to_unix_timestamp"),
    ),
    function(
        "unix_pattern",
        "VARCHAR, PATTERN",
        BIGINT,
        _unix_spark,
        _unix_sqlite,
        aliases=("!", "unix_timestamp", "to_unix_timestamp"),
    ),
    function(
        "from_unixtime",
        "BIGINT, [FORMAT = 'yyyy-MM-dd HH:mm:ss']",
        VARCHAR,
        f"date_format({_epoch('SECOND')}, {{1}})",
        "mp_date_format(mp_from_epoch({0}, 1000000), {1})",
    ),
    function("timestamp_seconds", "BIGINT", TIMESTAMP_0, _epoch("SECOND"), "mp_from_epoch({0}, 1000000)"),
    function("timestamp_millis", "BIGINT", TIMESTAMP_LTZ, _epoch("MILLISECOND"), "mp_from_epoch({0}, 1000)"),
    function(
        "timestamp_micros",
        "BIGINT",
        Sized("TIMESTAMP_LTZ", 6),
        _epoch("MICROSECOND"),
        "mp_from_epoch({0}, 1)",
    ),
    function("to_timestamp_ltz", "BIGINT, [LITERAL = 3]", TIMESTAMP_LTZ, _from_epoch(True), _from_epoch(False)),
    function(
        "to_timestamp_ltz_text",
        "VARCHAR",
        TIMESTAMP_LTZ,
        READ_SPARK,
        READ_SQLITE,
        aliases=("!", "to_timestamp_ltz"),
    ),
    function(
        "to_timestamp_ltz_pattern",
        "VARCHAR, PATTERN",
        TIMESTAMP_LTZ,
        PARSE_SPARK,
        PARSE_SQLITE,
        aliases=("!", "to_timestamp_ltz"),
    ),
    function("to_timestamp", "VARCHAR", TIMESTAMP, READ_SPARK, READ_SQLITE),
    function(
        "to_timestamp_pattern",
        "VARCHAR, PATTERN",
        TIMESTAMP,
        PARSE_SPARK,
        PARSE_SQLITE,
        aliases=("!", "to_timestamp"),
    ),
    function("to_date", "VARCHAR", DATE, "try_cast({0} AS DATE)", "mp_text_to_date({0})", aliases=("date",)),
    function(
        "to_date_pattern",
        "VARCHAR, PATTERN",
        DATE,
        "CAST(try_to_timestamp({0}, {1}) AS DATE)",
        "mp_to_date(mp_parse_timestamp({0}, {1}))",
        aliases=("!", "to_date"),
    ),
    function(
        "to_date_instant",
        "INSTANT",
        DATE,
        "CAST({0} AS DATE)",
        "mp_to_date({0})",
        aliases=("!", "to_date", "date"),
    ),
    function("date_format", "INSTANT, FORMAT", VARCHAR, "date_format({0}, {1})", "mp_date_format({0}, {1})"),
    function(
        "date_format_text",
        "VARCHAR, FORMAT",
        VARCHAR,
        "date_format(try_cast({0} AS TIMESTAMP), {1})",
        "mp_date_format(mp_text_to_timestamp({0}), {1})",
        aliases=("!", "date_format"),
    ),
    function("date_trunc", "UNIT, INSTANT", _second, _truncate_spark, _truncate_sqlite),
    function(
        "timestampadd",
        "UNIT, BIGINT, DATETIME",
        _moved_type,
        _add_spark,
        _add_sqlite,
        aliases=("dateadd", "date_add"),
    ),
    function(
        "timestampdiff",
        "UNIT, INSTANT, INSTANT",
        BIGINT,
        _diff_spark,
        _diff_sqlite,
        aliases=("datediff", "date_diff"),
    ),
    function(
        "datediff",
        "INSTANT, INSTANT",
        INTEGER,
        "datediff({0}, {1})",
        "(mp_to_date({0}) - mp_to_date({1}))",
        aliases=("date_diff",),
    ),
    function("date_add", "DATE, INTEGER", DATE, "date_add({0}, {1})", "({0} + {1})"),
    function("date_sub", "DATE, INTEGER", DATE, "date_sub({0}, {1})", "({0} - {1})"),
    function("add_months", "DATE, INTEGER", DATE, "add_months({0}, {1})", "mp_date_add('MONTH', {1}, {0})"),
    function("last_day", "DATE", DATE, "last_day({0})", "mp_last_day({0})"),
    function("make_date", "INTEGER, INTEGER, INTEGER", DATE, "make_date({args})", "mp_make_date({args})"),
)
