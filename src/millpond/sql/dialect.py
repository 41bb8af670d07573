"""The dialect's tokens and flags, and its registration with sqlglot under the name `millpond`.

Only operators are keywords here: which words mean something depends on where they stand, so the
parser decides that, and almost any word can name a column.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from millpond.sql.generator import MillpondGenerator


class Millpond(Spark):
    """Spark's dialect with DeltaStream's tokens. Its parser reads queries, `millpond.sql` everything."""

    IDENTIFIERS_CAN_START_WITH_DIGIT = False
    NUMBERS_CAN_BE_UNDERSCORE_SEPARATED = False
    UNESCAPED_SEQUENCES = {}  # noqa: RUF012

    class Tokenizer(Spark.Tokenizer):
        QUOTES = ["'"]  # noqa: RUF012
        IDENTIFIERS = ['"', "`"]  # noqa: RUF012
        STRING_ESCAPES = ["'"]  # noqa: RUF012
        HEX_STRINGS = [("X'", "'"), ("x'", "'")]  # noqa: RUF012
        RAW_STRINGS = []  # noqa: RUF012
        COMMENTS = ["--", ("/*", "*/")]  # noqa: RUF012
        NUMERIC_LITERALS = {}  # noqa: RUF012
        NUMERIC_ESCAPES = {}  # noqa: RUF012
        NESTED_COMMENTS = False
        COMMANDS = set()  # noqa: RUF012
        SINGLE_TOKENS = {**Spark.Tokenizer.SINGLE_TOKENS}  # noqa: RUF012
        VAR_SINGLE_TOKENS = {"$"}  # noqa: RUF012
        KEYWORDS = {  # noqa: RUF012
            "->": TokenType.ARROW,
            "||": TokenType.DPIPE,
            "<=": TokenType.LTE,
            ">=": TokenType.GTE,
            "<>": TokenType.NEQ,
            "!=": TokenType.NEQ,
        }

    class Parser(SparkParser):
        def parse(self, raw_tokens: list[Token], sql: str) -> list[exp.Expr | None]:
            """The trees of a batch of queries, for sqlglot's own helpers."""
            from millpond.errors import MillpondError
            from millpond.sql.parser import parse
            from millpond.sql.statements import Query

            try:
                statements = parse(sql)
            except MillpondError as error:
                raise ParseError(str(error)) from error
            trees = [s.tree for s in statements if isinstance(s, Query)]
            if len(trees) != len(statements):
                raise ParseError("Only queries have a tree.")
            return list(trees)

    # Spark's generator rewrites a tree for Spark; this one prints it as it is.
    Generator = MillpondGenerator  # type: ignore[assignment]
