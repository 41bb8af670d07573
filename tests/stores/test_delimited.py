"""Delimited text, without a JVM."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given, settings

from millpond.errors import MillpondError
from millpond.stores.formats.delimited import delimited_decoder, encode_delimited
from millpond.stores.formats.undecodable import UndecodableError
from millpond.types import VARCHAR
from tests import delimited_records as dr


@pytest.mark.parametrize(("columns", "delimiter", "record", "row"), dr.GOOD, ids=repr)
def test_a_line_becomes_a_row(columns: dr.Columns, delimiter: str, record: bytes, row: tuple[Any, ...]) -> None:
    assert delimited_decoder(columns, delimiter)(record) == row


@pytest.mark.parametrize(("columns", "delimiter", "record", "reason"), dr.BAD, ids=repr)
def test_what_is_no_row_says_why(columns: dr.Columns, delimiter: str, record: bytes, reason: str) -> None:
    with pytest.raises(UndecodableError) as caught:
        delimited_decoder(columns, delimiter)(record)
    assert reason in str(caught.value)


@pytest.mark.parametrize(("columns", "delimiter", "row", "record"), dr.WRITTEN, ids=repr)
def test_a_row_becomes_a_line(columns: dr.Columns, delimiter: str, row: tuple[Any, ...], record: bytes) -> None:
    assert encode_delimited(row, columns, delimiter) == record


@settings(deadline=None)
@given(table=dr.tables)
def test_rows_come_back_and_the_csv_module_sees_the_same_texts(table: Any) -> None:
    columns, delimiter, rows = table
    decode = delimited_decoder(columns, delimiter)
    for row in rows:
        data = encode_delimited(row, columns, delimiter)
        assert decode(data) == row
        assert decode(data + b"\r\n") == row
        text = io.StringIO(data.decode() + "\n", newline="")
        (fields,) = csv.reader(text, delimiter=delimiter, strict=True)
        independent = [f for f, c in zip(fields or [""], columns, strict=True) if c.type == VARCHAR]
        assert independent == [v or "" for v, c in zip(row, columns, strict=True) if c.type == VARCHAR]


@pytest.mark.parametrize("value", [1, "\ud800"])
def test_a_value_of_another_type_is_refused(value: Any) -> None:
    with pytest.raises(MillpondError) as caught:
        encode_delimited((value,), dr.columns_of(VARCHAR), ",")
    assert caught.value.name == "VALUE_NOT_ENCODABLE"
