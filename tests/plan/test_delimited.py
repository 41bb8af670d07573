"""Relations in delimited text: what they hold, what is between their fields, and what a query inherits."""

from __future__ import annotations

import pytest

from millpond.errors import MillpondError
from millpond.plan.sources import row_key_type
from millpond.types import BIGINT, VARCHAR
from tests.plan.planning import Session

ORDERS = (
    "CREATE STREAM orders (id BIGINT, item VARCHAR, tags ARRAY<VARCHAR>) WITH ('value.format' = 'json', "
    "'topic.partitions' = 1)"
)
LINES = (
    "CREATE STREAM lines (id BIGINT, item VARCHAR) WITH ('value.format' = 'delimited', 'value.delimiter' = 'tab', "
    "'key.format' = 'delimited', 'key.type' = 'STRUCT<a BIGINT>', 'key.delimiter' = '|', 'topic.partitions' = 1)"
)


@pytest.mark.parametrize(
    ("written", "character", "shown"),
    [("TAB", "\t", "TAB"), ("space", " ", "SPACE"), (" ", " ", "SPACE"), (";", ";", ";"), ("\t", "\t", "TAB")],
)
def test_a_delimiter_is_a_character_or_its_name(written: str, character: str, shown: str) -> None:
    sql = f"CREATE STREAM s (a BIGINT) WITH ('value.format' = 'DELIMITED', 'value.delimiter' = '{written}')"
    relation = Session().relation(sql)
    assert relation.delimiter("value") == character
    assert relation.properties["value.delimiter"] == shown
    assert relation.delimiter("key") == ","


WITH = "WITH ('value.format' = 'delimited'"
KEY = "'key.format' = 'delimited',"
REFUSED = [
    (f"CREATE STREAM s (a ARRAY<BIGINT>) {WITH})", "NO_DELIMITED_FORM"),
    (f"CREATE STREAM s (a BIGINT) {WITH}, {KEY} 'key.type' = 'STRUCT<a STRUCT<b BIGINT>>')", "NO_DELIMITED_FORM"),
    (f"CREATE STREAM s (a BIGINT) {WITH}, 'value.delimiter' = 'ab')", "BAD_PROPERTY"),
    (f"CREATE STREAM s (a BIGINT) {WITH}, 'value.delimiter' = '\"')", "BAD_PROPERTY"),
    (f"CREATE STREAM s (a BIGINT) {WITH}, 'key.delimiter' = '|')", "BAD_PROPERTY"),
    ("CREATE STREAM s (a BIGINT) WITH ('value.format' = 'json', 'value.delimiter' = '|')", "BAD_PROPERTY"),
    (f"CREATE STREAM s {WITH}) AS SELECT * FROM orders", "NO_DELIMITED_FORM"),
    ("CREATE STREAM s AS SELECT id, SPLIT(item, 'x') AS parts FROM lines", "NO_DELIMITED_FORM"),
    ("CREATE STREAM s WITH ('key.delimiter' = ';') AS SELECT id FROM lines", "BAD_KEY"),
    ("CREATE MATERIALIZED VIEW v WITH ('value.delimiter' = ';') AS SELECT id FROM lines", "UNKNOWN_PROPERTY"),
]


@pytest.mark.parametrize(("sql", "error"), REFUSED, ids=[sql for sql, _ in REFUSED])
def test_what_has_no_form_in_delimited_text_is_refused(sql: str, error: str) -> None:
    session = Session()
    session.run(f"{ORDERS}; {LINES}")
    with pytest.raises(MillpondError) as caught:
        session.run(sql)
    assert caught.value.name == error


def test_a_query_inherits_format_and_delimiters() -> None:
    session = Session()
    session.run(f"{ORDERS}; {LINES}")
    copy = session.relation("CREATE STREAM copy AS SELECT item, id FROM lines")
    assert (copy.value_format, copy.delimiter("value")) == ("delimited", "\t")
    assert (copy.key_format, copy.delimiter("key")) == ("delimited", "|")
    other = session.relation("CREATE STREAM other WITH ('value.delimiter' = ';') AS SELECT item, id FROM lines")
    assert other.delimiter("value") == ";"
    own = session.relation(f"CREATE STREAM own {WITH}, 'key.columns' = 'id') AS SELECT item, id FROM lines")
    assert (own.delimiter("value"), own.key_format) == (",", "primitive")
    counts = session.relation("CREATE CHANGELOG counts AS SELECT item, count(*) AS n FROM lines GROUP BY item")
    assert (counts.value_format, counts.delimiter("value")) == ("delimited", "\t")
    view = session.relation("CREATE MATERIALIZED VIEW v AS SELECT item, count(*) AS n FROM lines GROUP BY item")
    assert view.value_format == "json"


def test_rowkey_of_a_line_is_its_text() -> None:
    line = Session().relation(f"CREATE STREAM s (a BIGINT) {WITH}, {KEY} 'key.type' = 'BIGINT')")
    number = Session().relation(f"CREATE STREAM s (a BIGINT) {WITH}, 'key.type' = 'BIGINT')")
    none = Session().relation(f"CREATE STREAM s (a BIGINT) {WITH}, 'key.format' = 'delimited')")
    assert [row_key_type(relation) for relation in (line, number, none)] == [VARCHAR, BIGINT, None]
