"""What Millpond knows by name but does not do: refused with a next step instead of a syntax error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Refusal:
    """`feature` is what the user wrote, `instead` what to do; it begins with `length` words."""

    feature: str
    instead: str
    length: int = 1


class Reader(Protocol):
    """The part of a Cursor that is needed here."""

    def at(self, *keys: str) -> bool: ...


_NO_SECRETS = "Give the secret in the WITH list of the store that needs it; it is kept encrypted."
_LATER = "Nothing in its place yet."
_OPEN = "Every user of this server may do everything; CAN I tells."
_BUILT_IN = "Use the built-in functions; LIST FUNCTIONS shows them."
_ONE_BY_ONE = "Send the statements one by one, or as a batch separated by semicolons."
_VIEW = "Write CREATE MATERIALIZED VIEW ... AS SELECT."

STATEMENTS: dict[str, str] = {
    "COPY DESCRIPTOR_SOURCE": "Keep the file that the source was made of; LIST DESCRIPTOR_SOURCES names it.",
    "CREATE FUNCTION_SOURCE": _BUILT_IN,
    "DROP FUNCTION_SOURCE": _BUILT_IN,
    "COPY FUNCTION_SOURCE": _BUILT_IN,
    "CREATE FUNCTION": _BUILT_IN,
    "DROP FUNCTION": _BUILT_IN,
    "CREATE ROLE": _OPEN,
    "DROP ROLE": _OPEN,
    "DESCRIBE ROLE": _OPEN,
    "DESCRIBE USER": _OPEN,
    "DROP USER": _OPEN,
    "GRANT": _OPEN,
    "REVOKE": _OPEN,
    "INVITE USER": _OPEN,
    "ACCEPT INVITATION": _OPEN,
    "REJECT INVITATION": _OPEN,
    "CREATE API_TOKEN": _OPEN,
    "ALTER API_TOKEN": _OPEN,
    "DROP API_TOKEN": _OPEN,
    "CREATE SECRET": _NO_SECRETS,
    "UPDATE SECRET": _NO_SECRETS,
    "DROP SECRET": _NO_SECRETS,
    "CREATE ORGANIZATION": "A server has one organization.",
    "DROP ORGANIZATION": "A server has one organization.",
    "CREATE COMPUTE_POOL": "All queries run in the server's own Spark session.",
    "UPDATE COMPUTE_POOL": "All queries run in the server's own Spark session.",
    "DROP COMPUTE_POOL": "All queries run in the server's own Spark session.",
    "START COMPUTE_POOL": "All queries run in the server's own Spark session.",
    "STOP COMPUTE_POOL": "All queries run in the server's own Spark session.",
    "CREATE METRICS INTEGRATION": "Prometheus reads /metrics.",
    "DROP METRICS INTEGRATION": "Prometheus reads /metrics.",
    "CREATE SECURITY INTEGRATION": _OPEN,
    "ALTER SECURITY INTEGRATION": _OPEN,
    "DROP SECURITY INTEGRATION": _OPEN,
    "DESCRIBE SECURITY INTEGRATION": _OPEN,
    "BEGIN APPLICATION": _ONE_BY_ONE,
    "BEGIN": _ONE_BY_ONE,
    "END APPLICATION": _ONE_BY_ONE,
    "CREATE VIRTUAL": "Write CREATE STREAM or CREATE CHANGELOG.",
    "CREATE OR REPLACE": "DROP it first, then CREATE it.",
    "CREATE VIEW": _VIEW,
    "CREATE UNIQUE INDEX": "Write CREATE INDEX; a view's primary key is unique anyway.",
    "ALTER STREAM": "ALTER RELATION ... SET description = '...' is there; for the rest, DROP and CREATE.",
    "ALTER CHANGELOG": "ALTER RELATION ... SET description = '...' is there; for the rest, DROP and CREATE.",
    "ALTER TABLE": "ALTER RELATION ... SET description = '...' is there; for the rest, DROP and CREATE.",
    "ALTER QUERY": "TERMINATE the query and CREATE it again.",
    "TRUNCATE": "DROP the relation and CREATE it again.",
    "GENERATE": "DESCRIBE RELATION shows the columns; PRINT ENTITY shows records.",
    "START SANDBOX": _LATER,
    "STOP SANDBOX": _LATER,
    "DESCRIBE SANDBOX": _LATER,
    "RESUME": "RESTART QUERY goes on where the query stopped.",
    "DROP QUERY": "Write TERMINATE QUERY.",
    "DELETE": "INSERT a newer row, or DROP the relation.",
    "UPDATE": "INSERT a newer row with the same key.",
    "MERGE": "INSERT rows; the last row of a key counts.",
    "VALUES": "Write SELECT, or INSERT INTO ... VALUES.",
}

CLAUSES: dict[str, str] = {
    "MATCH_RECOGNIZE": "Patterns are not there yet.",
    "LATERAL": "Write CROSS JOIN UNNEST(array) AS t(v).",
    "PIVOT": "Use SUM(CASE WHEN ... THEN ... END) for each column.",
    "UNPIVOT": "Use one SELECT for each column, with UNION ALL.",
    "TABLESAMPLE": "Filter with WHERE.",
    "QUALIFY": "Filter with WHERE or HAVING in an outer SELECT.",
    "WINDOW": "Use TUMBLE, HOP or CUMULATE in FROM.",
    "OVER": "Use TUMBLE, HOP or CUMULATE in FROM and GROUP BY.",
    "FILTER": "Use CASE WHEN ... THEN ... END inside the aggregate.",
    "WITHIN GROUP": "LISTAGG takes the values in the order in which they come.",
    "CLUSTER BY": "Use ORDER BY.",
    "DISTRIBUTE BY": "Use ORDER BY.",
    "SORT BY": "Use ORDER BY.",
    "CONNECT BY": _LATER,
    "PARTITION BY": "A stream's key is set by 'key.columns' in WITH.",
    "FETCH": "Write LIMIT.",
    "FOR": "Millpond takes no locks and reads no earlier versions.",
    "GRACE PERIOD": "Write WITH ('source.allow.latency.millis' = ...) after the source.",
    "EMIT FINAL": "Only EMIT CHANGES is there.",
    "MINUS": "Write EXCEPT.",
    "NATURAL": "Write JOIN ... ON a.x = b.x.",
    "ASOF": "Write JOIN ... ON a.x = b.x.",
    "SEMI": "Use WHERE EXISTS (SELECT ...).",
    "ANTI": "Use WHERE NOT EXISTS (SELECT ...).",
    "LEFT SEMI": "Use WHERE EXISTS (SELECT ...).",
    "LEFT ANTI": "Use WHERE NOT EXISTS (SELECT ...).",
    "ROLLUP": "Write one query for each grouping.",
    "CUBE": "Write one query for each grouping.",
    "GROUPING SETS": "Write one query for each grouping.",
    "ILIKE": "Compare LOWER(x) with LIKE.",
    "RLIKE": "Use REGEXP_LIKE(x, pattern).",
    "SIMILAR TO": "Use REGEXP_LIKE(x, pattern).",
    "COLLATE": "Compare LOWER(x).",
    "AT TIME ZONE": "Times are kept in UTC.",
    "CASCADE": "DROP what depends on it first.",
    "OWNER TO": _OPEN,
}

_FEATURES = {
    "OVER": "A window function (OVER)",
    "WITHIN GROUP": "WITHIN GROUP (ORDER BY ...)",
    "FILTER": "FILTER (WHERE ...) after an aggregate",
    "FOR": "FOR after a query",
    "FETCH": "FETCH FIRST",
    "NATURAL": "NATURAL JOIN",
}
"""How a refusal is called where the words alone do not say enough."""


def refused_clause(reader: Reader) -> Refusal | None:
    """The clause of `CLAUSES` that begins here, if any; the longest one counts."""
    return _longest(CLAUSES, reader)


def refused_statement(reader: Reader) -> Refusal | None:
    """The statement of `STATEMENTS` that begins here, if any."""
    return _longest(STATEMENTS, reader)


def _longest(table: dict[str, str], reader: Reader) -> Refusal | None:
    found = [words for words in table if reader.at(*words.split())]
    if not found:
        return None
    words = max(found, key=len)
    return Refusal(_FEATURES.get(words, words), table[words], len(words.split()))
