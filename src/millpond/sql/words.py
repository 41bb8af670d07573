"""Words that mean something wherever they stand unquoted."""

from __future__ import annotations

RESERVED = frozenset(
    [
        "ALL",
        "AND",
        "AS",
        "BETWEEN",
        "BY",
        "CASE",
        "CROSS",
        "DISTINCT",
        "ELSE",
        "END",
        "EXCEPT",
        "FALSE",
        "FROM",
        "FULL",
        "GROUP",
        "HAVING",
        "IN",
        "INNER",
        "INTERSECT",
        "IS",
        "JOIN",
        "LEFT",
        "LIKE",
        "NATURAL",
        "NOT",
        "NULL",
        "ON",
        "OR",
        "ORDER",
        "OUTER",
        "RIGHT",
        "SELECT",
        "THEN",
        "TRUE",
        "UNION",
        "USING",
        "WHEN",
        "WHERE",
        "WITH",
    ]
)
"""Never a name unless quoted."""

NOT_AN_ALIAS = RESERVED | frozenset(
    [
        "ANTI",
        "AT",
        "ASOF",
        "CLUSTER",
        "COLLATE",
        "CONNECT",
        "DISTRIBUTE",
        "EMIT",
        "FETCH",
        "FOR",
        "GRACE",
        "ILIKE",
        "LATERAL",
        "LIMIT",
        "MATCH_RECOGNIZE",
        "MINUS",
        "OFFSET",
        "OVER",
        "PARTITION",
        "PIVOT",
        "QUALIFY",
        "QUERY",
        "RLIKE",
        "SEMI",
        "SET",
        "SIMILAR",
        "SORT",
        "TABLESAMPLE",
        "UNPIVOT",
        "VALUES",
        "WINDOW",
        "WITHIN",
    ]
)
"""Never an alias that is written without AS: what follows could not be understood otherwise."""

INTERVAL_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")
"""Units of INTERVAL, also written with S at the end."""
