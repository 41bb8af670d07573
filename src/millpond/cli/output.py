"""Results as text: table, json (an object a line) or csv."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from typing import Final, TextIO, TypeAlias

from millpond.cli.connection import Change, Columns, Result, Row

Write: TypeAlias = Callable[[str], object]

_NUMBERS: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE")
_AS_JSON: Final = (*_NUMBERS, "BOOLEAN", "ARRAY", "MAP", "STRUCT")
"""Types whose text is JSON as it is; NaN and the infinities are not."""

_DONE: Final = ("Type", "Name", "Command", "Summary", "Path")
"""The columns of what a CREATE or DROP answers: for people its summary says it all."""

_LIVE_WIDTH: Final = 24
"""A push query's column: its later rows are not known yet."""

_ALIGN_ROWS: Final = 5_000
"""Rows whose widths are looked at before a table is printed: more cost memory and waiting."""


class OutputFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def write_result(result: Result, output: OutputFormat, to: TextIO) -> int:
    """Write a result as it comes in, a live one row by row; how many rows it had."""
    match output:
        case OutputFormat.JSON:
            return _write_json(result, to)
        case OutputFormat.CSV:
            return _write_csv(result, to)
    return _write_live_table(result, to) if result.live else _write_table(result, to)


def rows_of(result: Result) -> Iterator[Change]:
    """The changes that are rows, without markers."""
    return (change for change in result.changes if change.op != "snapshot_end")


def _write_json(result: Result, to: TextIO) -> int:
    count = 0
    for change in rows_of(result):
        count += 1
        row = json_object(result.columns, change.row)
        if result.live:
            row = f'{{"op": {json.dumps(change.op)}, "row": {row}, "token": {json.dumps(change.token)}}}'
        to.write(row + "\n")
        _flush_live(result, to)
    return count


def json_object(columns: Columns, row: Row) -> str:
    """A row as a JSON object; numbers keep their exact digits."""
    pairs = zip(columns, row, strict=True)
    members = (f"{json.dumps(c.name, ensure_ascii=False)}: {_json_value(c.type, v)}" for c, v in pairs)
    return "{" + ", ".join(members) + "}"


def _json_value(type_: str, value: str | None) -> str:
    if value is None:
        return "null"
    raw = _base_type(type_) in _AS_JSON and value not in ("NaN", "Infinity", "-Infinity")
    return value if raw else json.dumps(value, ensure_ascii=False)


def _base_type(type_: str) -> str:
    return re.split(r"[<(]", type_, maxsplit=1)[0]


def _write_csv(result: Result, to: TextIO) -> int:
    count, writer = 0, csv.writer(to, lineterminator="\n")
    live = ["op"] if result.live else []
    writer.writerow([*live, *(c.name for c in result.columns)])
    for change in rows_of(result):
        count += 1
        writer.writerow([*([change.op] if live else []), *("" if v is None else v for v in change.row)])
        _flush_live(result, to)
    return count


def _flush_live(result: Result, to: TextIO) -> None:
    if result.live:
        to.flush()


def _write_table(result: Result, to: TextIO) -> int:
    rows = (change.row for change in rows_of(result))
    first = list(islice(rows, _ALIGN_ROWS))
    if tuple(c.name for c in result.columns) == _DONE and len(first) == 1 and first[0][3]:
        to.write(f"{first[0][3]}\n")
        return 1
    if not result.columns:
        to.write(f"{result.message or 'Done.'}\n")
        return 0
    widths = _widths(result.columns, first)
    _write_head(result.columns, widths, to.write)
    count = _write_rows(result.columns, widths, first, to.write)
    count += _write_rows(result.columns, widths, rows, to.write)
    to.write(f"({count} {'row' if count == 1 else 'rows'})\n")
    if result.message:
        to.write(f"{result.message}\n")
    return count


def _write_live_table(result: Result, to: TextIO) -> int:
    widths = [max(_LIVE_WIDTH if not _right(c.type) else 12, text_width(c.name)) for c in result.columns]
    _write_head(result.columns, widths, to.write, mark=True)
    to.flush()
    count = 0
    for change in rows_of(result):
        count += 1
        to.write(_MARKS.get(change.op, " ") + _line(result.columns, widths, change.row) + "\n")
        to.flush()
    return count


_MARKS: Final = {"insert": "+", "upsert": "~", "delete": "-"}
"""In front of a live row: added, put in the place of its key's row, removed."""


def _write_head(columns: Columns, widths: Sequence[int], write: Write, *, mark: bool = False) -> None:
    names = " | ".join(_pad(c.name, width, right=False) for c, width in zip(columns, widths, strict=True))
    indent = " " if mark else ""
    write(f"{indent} {names}".rstrip() + "\n")
    write(indent + "+".join("-" * (width + 2) for width in widths) + "\n")


def _write_rows(columns: Columns, widths: Sequence[int], rows: Iterable[Row], write: Write) -> int:
    count = 0
    for row in rows:
        count += 1
        write(_line(columns, widths, row) + "\n")
    return count


def _line(columns: Columns, widths: Sequence[int], row: Row) -> str:
    cells = zip(columns, widths, row, strict=True)
    return (" " + " | ".join(_pad(shown(v), width, right=_right(c.type)) for c, width, v in cells)).rstrip()


def shown(value: str | None) -> str:
    """A value in a table: NULL by name, control characters as escapes so that a row stays a line."""
    if value is None:
        return "NULL"
    return value if value.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in value)


def _right(type_: str) -> bool:
    return _base_type(type_) in _NUMBERS


def _widths(columns: Columns, rows: Sequence[Row]) -> list[int]:
    widths = [text_width(c.name) for c in columns]
    for row in rows:
        for i, value in enumerate(row):
            widths[i] = max(widths[i], text_width(shown(value)))
    return widths


def text_width(text: str) -> int:
    """How many cells of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _pad(text: str, width: int, *, right: bool) -> str:
    fill = " " * max(0, width - text_width(text))
    return fill + text if right else text + fill
