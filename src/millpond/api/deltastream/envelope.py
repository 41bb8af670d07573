"""The body of a statement's answer, the same for a success, an SQL error and a statement that still runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

from millpond.api.deltastream.encoding import RowEncoder, TextRow
from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError
from millpond.serve.answers import Answer
from millpond.types import Column, DecimalType, Sized

PARTITION_ROWS: Final = 50_000
"""Rows that one answer carries; the rest is fetched by partitionID. Bounds the memory of one encoding."""

SUCCESS: Final = "00000"
NOT_COMPLETE: Final = "03000"


@dataclass(frozen=True, slots=True)
class Run:
    """One request's statements as clients know them: `ids` of all, the last one's is the answer's."""

    ids: tuple[str, ...]
    created_on: int
    """Epoch seconds."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What is always the same of answers with the same columns: their JSON and the encoder of their rows."""

    columns: bytes
    encoder: RowEncoder


@lru_cache(maxsize=1024)
def shape(columns: tuple[Column, ...]) -> Shape:
    return Shape(orjson.dumps([column_json(c) for c in columns]), RowEncoder(columns))


def column_json(column: Column) -> dict[str, Any]:
    return {"name": column.name, "type": str(column.type), "nullable": column.nullable}


def frame_column_json(column: Column) -> dict[str, Any]:
    """A column as the WebSocket's metadata frame has it: its numbers apart as well."""
    plain = column_json(column)
    match column.type:
        case DecimalType(precision=precision, scale=scale):
            return {**plain, "precision": precision, "scale": scale}
        case Sized(name="VARCHAR" | "VARBINARY", size=int(size)):
            return {**plain, "length": size}
        case Sized(size=int(size)):
            return {**plain, "precision": size}
    return plain


def context_json(context: SessionContext) -> dict[str, str]:
    """All of it, always: the Go client replaces its own context with this one."""
    return {
        "organizationID": context.organization,
        "roleName": context.role,
        "databaseName": context.database,
        "schemaName": context.schema,
        "storeName": context.store,
        "computePoolName": context.compute_pool,
    }


def success(run: Run, answer: Answer, partition: int = 0) -> bytes:
    """The answer's rows of one partition; `partitionInfo` counts the rows of all."""
    same = shape(answer.columns)
    total = len(answer.rows)
    if total <= PARTITION_ROWS:
        info, rows = [{"rowCount": total}], answer.rows
    else:
        starts = range(0, total, PARTITION_ROWS)
        info = [{"rowCount": min(PARTITION_ROWS, total - start)} for start in starts]
        rows = answer.rows[starts[partition] : starts[partition] + PARTITION_ROWS]
    return _envelope(run, SUCCESS, answer.message, info, same.columns, answer.context, same.encoder.rows(rows))


def partition_count(answer: Answer) -> int:
    return max(1, -(-len(answer.rows) // PARTITION_ROWS))


def streaming(run: Run, context: SessionContext, uri: str, token: str) -> bytes:
    """Where the rows of a push query are to be read. Lists are empty, not null: the Python client insists."""
    request = {"token": token, "uri": uri, "statementID": run.ids[-1], "requestType": "streaming"}
    return _envelope(run, SUCCESS, "", [], b"[]", context, [], dataplaneRequest=request)


def failure(run: Run, error: MillpondError, context: SessionContext) -> bytes:
    """An SQL error: its text with the token underlined and the next step."""
    return _envelope(run, error.sqlstate, str(error), [], b"[]", context, [])


def unfinished(run: Run) -> bytes:
    """The statement still runs: ask again by its id."""
    body = {
        "sqlState": NOT_COMPLETE,
        "statementID": run.ids[-1],
        "statementIDs": run.ids,
        "createdOn": run.created_on,
        "message": "The statement is still running.",
    }
    return orjson.dumps(body)


def _envelope(
    run: Run,
    state: str,
    message: str,
    partitions: Sequence[dict[str, int]],
    columns: bytes,
    context: SessionContext,
    data: list[TextRow],
    **more: object,
) -> bytes:
    metadata = {
        "encoding": "json",
        "partitionInfo": partitions,
        "columns": orjson.Fragment(columns),
        "context": context_json(context),
        **more,
    }
    return orjson.dumps(
        {
            "sqlState": state,
            "message": message,
            "statementID": run.ids[-1],
            "statementIDs": run.ids,
            "createdOn": run.created_on,
            "metadata": metadata,
            "data": data,
        }
    )
