"""Text and bytes. Positions count characters from 1, except SPLIT_INDEX, which counts from 0 as in Flink."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.plan.expressions import Call
from millpond.plan.functions.table import Function, function
from millpond.types import BOOLEAN, BYTES, INTEGER, VARCHAR, ArrayType


def _split_index(call: Call, args: Sequence[str]) -> str:
    """Spark's split takes a regular expression; the separator is quoted in it. NULL outside, or if it is empty."""
    parts = f"split({args[0]}, concat('\\\\Q', {args[1]}, '\\\\E'), -1)"
    return f"IF({args[1]} = '' OR {args[2]} < 0, NULL, get({parts}, {args[2]}))"


def _trim(side: str) -> str:
    return f"trim({side} {{1}} FROM {{0}})"


TEXTS = ArrayType(element=VARCHAR)

FUNCTIONS: tuple[Function, ...] = (
    function("||", "PRINTABLE...", VARCHAR, "concat({args})", "mp_concat({args})", operator=True),
    function("concat", "PRINTABLE...", VARCHAR, "concat({args})", "mp_concat({args})"),
    function("concat_ws", "PRINTABLE, PRINTABLE...", VARCHAR, "concat_ws({args})", "mp_concat_ws({args})"),
    function("lower", "VARCHAR", VARCHAR, "lower({0})", "mp_lower({0})", aliases=("lcase",)),
    function("upper", "VARCHAR", VARCHAR, "upper({0})", "mp_upper({0})", aliases=("ucase",)),
    function("initcap", "VARCHAR", VARCHAR, "initcap({0})", "mp_initcap({0})"),
    function(
        "length",
        "VARCHAR",
        INTEGER,
        "char_length({0})",
        "mp_length({0})",
        aliases=("char_length", "character_length", "len"),
    ),
    function(
        "byte_length",
        "BYTES",
        INTEGER,
        "octet_length({0})",
        "length({0})",
        aliases=("!", "length", "octet_length"),
    ),
    function("octet_length", "VARCHAR", INTEGER, "octet_length({0})", "length(CAST({0} AS BLOB))"),
    function(
        "substring",
        "VARCHAR, INTEGER, [INTEGER = 2147483647]",
        VARCHAR,
        "substring({0}, {1}, {2})",
        "mp_substring({0}, {1}, {2})",
        aliases=("substr", "mid"),
    ),
    function("left", "VARCHAR, INTEGER", VARCHAR, "left({0}, {1})", "mp_left({0}, {1})"),
    function("right", "VARCHAR, INTEGER", VARCHAR, "right({0}, {1})", "mp_right({0}, {1})"),
    function("instr", "VARCHAR, VARCHAR", INTEGER, "instr({0}, {1})", "instr({0}, {1})"),
    function(
        "locate",
        "VARCHAR, VARCHAR, [INTEGER = 1]",
        INTEGER,
        "locate({0}, {1}, {2})",
        "mp_locate({0}, {1}, {2})",
        aliases=("position",),
    ),
    function("replace", "VARCHAR, VARCHAR, [VARCHAR = '']", VARCHAR, "replace({args})", "replace({args})"),
    function("translate", "VARCHAR, VARCHAR, VARCHAR", VARCHAR, "translate({args})", "mp_translate({args})"),
    function(
        "overlay",
        "VARCHAR, VARCHAR, INTEGER, [INTEGER = -1]",
        VARCHAR,
        "overlay({0}, {1}, {2}, {3})",
        "mp_overlay({args})",
    ),
    function("trim", "VARCHAR, [VARCHAR = ' ']", VARCHAR, _trim("BOTH"), "trim({0}, {1})", aliases=("btrim",)),
    function("ltrim", "VARCHAR, [VARCHAR = ' ']", VARCHAR, _trim("LEADING"), "ltrim({0}, {1})"),
    function("rtrim", "VARCHAR, [VARCHAR = ' ']", VARCHAR, _trim("TRAILING"), "rtrim({0}, {1})"),
    function("lpad", "VARCHAR, INTEGER, [VARCHAR = ' ']", VARCHAR, "lpad({args})", "mp_lpad({args})"),
    function("rpad", "VARCHAR, INTEGER, [VARCHAR = ' ']", VARCHAR, "rpad({args})", "mp_rpad({args})"),
    function("repeat", "VARCHAR, INTEGER", VARCHAR, "repeat({args})", "mp_repeat({args})"),
    function("space", "INTEGER", VARCHAR, "space({0})", "mp_repeat(' ', {0})"),
    function("reverse", "VARCHAR", VARCHAR, "reverse({0})", "mp_reverse({0})"),
    function("ascii", "VARCHAR", INTEGER, "ascii({0})", "mp_ascii({0})"),
    function("chr", "INTEGER", VARCHAR, "chr({0})", "mp_chr({0})", aliases=("char",)),
    function("split_index", "VARCHAR, VARCHAR, INTEGER", VARCHAR, _split_index, "mp_split_index({args})"),
    function(
        "split",
        "VARCHAR, VARCHAR",
        TEXTS,
        "split({0}, IF({1} = '', '', concat('\\\\Q', {1}, '\\\\E')), -1)",
        "mp_split({args})",
    ),
    function(
        "split_part",
        "VARCHAR, VARCHAR, INTEGER",
        VARCHAR,
        "IF({2} = 0, NULL, split_part({0}, {1}, {2}))",
        "mp_split_part({args})",
    ),
    function(
        "starts_with",
        "VARCHAR, VARCHAR",
        BOOLEAN,
        "startswith({args})",
        "mp_starts({args})",
        aliases=("startswith",),
    ),
    function("ends_with", "VARCHAR, VARCHAR", BOOLEAN, "endswith({args})", "mp_ends({args})", aliases=("endswith",)),
    function("contains", "VARCHAR, VARCHAR", BOOLEAN, "contains({args})", "(instr({0}, {1}) > 0)"),
    function("levenshtein", "VARCHAR, VARCHAR", INTEGER, "levenshtein({args})", "mp_levenshtein({args})"),
    function("md5", "VARCHAR", VARCHAR, "md5({0})", "mp_hash('md5', {0})"),
    function("sha1", "VARCHAR", VARCHAR, "sha1({0})", "mp_hash('sha1', {0})", aliases=("sha",)),
    function("sha224", "VARCHAR", VARCHAR, "sha2({0}, 224)", "mp_hash('sha224', {0})"),
    function("sha256", "VARCHAR", VARCHAR, "sha2({0}, 256)", "mp_hash('sha256', {0})"),
    function("sha384", "VARCHAR", VARCHAR, "sha2({0}, 384)", "mp_hash('sha384', {0})"),
    function("sha512", "VARCHAR", VARCHAR, "sha2({0}, 512)", "mp_hash('sha512', {0})"),
    function("sha2", "VARCHAR, INTEGER", VARCHAR, "sha2({args})", "mp_sha2({args})"),
    function(
        "to_base64",
        "VARCHAR",
        VARCHAR,
        "replace(base64({0}), '\\r\\n', '')",
        "mp_to_base64({0})",
        aliases=("base64",),
    ),
    function(
        "bytes_to_base64",
        "BYTES",
        VARCHAR,
        "replace(base64({0}), '\\r\\n', '')",
        "mp_to_base64({0})",
        aliases=("!", "to_base64", "base64"),
    ),
    function(
        "from_base64",
        "VARCHAR",
        VARCHAR,
        "CAST(try_to_binary({0}, 'base64') AS STRING)",
        "mp_from_base64({0})",
        aliases=("unbase64",),
    ),
    function("hex", "VARCHAR", VARCHAR, "hex({0})", "hex({0})"),
    function("integer_hex", "BIGINT", VARCHAR, "hex({0})", "mp_hex({0})", aliases=("!", "hex")),
    function("bytes_hex", "BYTES", VARCHAR, "hex({0})", "hex({0})", aliases=("!", "hex")),
    function("unhex", "VARCHAR", BYTES, "unhex({0})", "mp_unhex({0})"),
    function("url_encode", "VARCHAR", VARCHAR, "url_encode({0})", "mp_url_encode({0})"),
    function("url_decode", "VARCHAR", VARCHAR, "try_url_decode({0})", "mp_url_decode({0})"),
    function(
        "parse_url",
        "VARCHAR, VARCHAR, [VARCHAR]",
        VARCHAR,
        "try_parse_url({args})",
        "mp_parse_url({args})",
    ),
    function("uuid", "", VARCHAR, "uuid()", "mp_uuid()", deterministic=False),
)
