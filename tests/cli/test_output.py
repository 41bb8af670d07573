"""Results as table, json and csv."""

from __future__ import annotations

import io

import pytest

from millpond.cli.connection import Change, Result, ResultColumn
from millpond.cli.output import OutputFormat, write_result

VISITS = (ResultColumn("url", "VARCHAR"), ResultColumn("visits", "BIGINT"))
DONE = tuple(ResultColumn(name, "VARCHAR") for name in ("Type", "Name", "Command", "Summary", "Path"))
TYPED = tuple(
    ResultColumn(type_.split("<")[0].lower(), type_)
    for type_ in ("DECIMAL(10, 2)", "DOUBLE", "FLOAT", "BOOLEAN", "ARRAY<INTEGER>", "DATE", "VARCHAR(3)")
)


def text(
    columns: tuple[ResultColumn, ...],
    *changes: Change,
    output: str = "table",
    live: bool = False,
    message: str = "",
) -> str:
    out = io.StringIO()
    write_result(Result(columns, "SELECT", live, message, iter(changes)), OutputFormat(output), out)
    return out.getvalue()


ROWS = (Change("insert", ("./home", "42")), Change("insert", (None, "7")))
LIVE = (
    Change("upsert", ("a", "1"), "t1"),
    Change("snapshot_end", (), "t2"),
    Change("delete", ("a", None), "t3"),
)


def test_a_table_is_aligned_numbers_to_the_right() -> None:
    assert text(VISITS, *ROWS) == (
        " url    | visits\n--------+--------\n ./home |     42\n NULL   |      7\n(2 rows)\n"
    )


def test_an_empty_table_has_its_head_and_says_why() -> None:
    expected = " url | visits\n-----+--------\n(0 rows)\nThe view reads its backlog.\n"
    assert text(VISITS, message="The view reads its backlog.") == expected


def test_wide_and_control_characters_keep_the_columns_straight() -> None:
    shown = text(VISITS, Change("insert", ("東京", "1")), Change("insert", ("a\nb", "2"))).splitlines()
    assert shown[2:4] == [" 東京 |      1", " a\\nb |      2"]


def test_what_was_done_is_a_sentence() -> None:
    row = ("Stream", "s", "CREATE", "Stream s was created.", "[]")
    assert text(DONE, Change("insert", row)) == "Stream s was created.\n"


def test_a_live_table_marks_each_change() -> None:
    *_, changed, removed = text(VISITS, *LIVE, live=True).splitlines()
    assert changed.split() == ["~", "a", "|", "1"]
    assert removed.split() == ["-", "a", "|", "NULL"]


def test_json_is_an_object_a_line_with_exact_numbers() -> None:
    row = Change("insert", ("12.30", "NaN", "1e+20", "true", "[1,null]", "2026-01-31", 'ü"'))
    assert text(TYPED, row, output="json") == (
        '{"decimal(10, 2)": 12.30, "double": "NaN", "float": 1e+20, "boolean": true, "array": [1,null], '
        '"date": "2026-01-31", "varchar(3)": "ü\\""}\n'
    )


def test_live_json_has_the_change_and_its_token() -> None:
    assert text(VISITS, *LIVE, output="json", live=True).splitlines() == [
        '{"op": "upsert", "row": {"url": "a", "visits": 1}, "token": "t1"}',
        '{"op": "delete", "row": {"url": "a", "visits": null}, "token": "t3"}',
    ]


@pytest.mark.parametrize(
    ("live", "changes", "expected"),
    [
        (False, ROWS, "url,visits\n./home,42\n,7\n"),
        (False, (Change("insert", ('a,"b"', "1")),), 'url,visits\n"a,""b""",1\n'),
        (True, LIVE, "op,url,visits\nupsert,a,1\ndelete,a,\n"),
    ],
)
def test_csv(live: bool, changes: tuple[Change, ...], expected: str) -> None:
    assert text(VISITS, *changes, output="csv", live=live) == expected
