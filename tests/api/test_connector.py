"""DeltaStream's own Python client, unmodified, against a real server."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from millpond.catalog.model import SessionContext
from millpond.errors import MillpondError, Position
from millpond.serve.answers import Change
from millpond.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    TIMESTAMP,
    TIMESTAMP_LTZ,
    VARCHAR,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    StructType,
)
from tests.api.conftest import RunningServer
from tests.api.fake_engine import FakeEngine, FakeSubscription, columns, created, rows
from tests.waiting import eventually

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from deltastream.api.blob import Blob
    from deltastream.api.conn import APIConnection
    from deltastream.api.error import InterfaceError, SQLError, SqlState

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

VISITS = columns(url=VARCHAR, visits=BIGINT)


@pytest.fixture
def connection(server: RunningServer) -> Iterator[APIConnection]:
    async def token() -> str:
        return "any"

    yield APIConnection(
        f"{server.url}/v2", token, "s1", "UTC", "11111111-1111-1111-1111-111111111111", None, None, None, None
    )


async def read(rows: Any, count: int) -> list[Any]:
    async with asyncio.timeout(10):
        return [await anext(rows) for _ in range(count)]


async def test_it_creates_and_follows_the_context(connection: APIConnection, engine: FakeEngine) -> None:
    engine.answer("USE DATABASE d;", created("d", context=SessionContext(database="d")))
    engine.scripts["CREATE STREAM s;"] = lambda call: [created("s", context=call.context)]
    await connection.exec("USE DATABASE d;")
    await connection.exec("CREATE STREAM s;", [Blob.from_bytes(b"jar", "f.jar")])
    assert engine.calls[-1].context.database == "d"
    assert engine.calls[-1].attachments == {"f.jar": b"jar"}
    assert await connection.version() == {"major": 0, "minor": 1, "patch": 0}


async def test_it_reads_rows_of_every_type(connection: APIConnection, engine: FakeEngine) -> None:
    shape = columns(
        i=INTEGER,
        b=BIGINT,
        t=VARCHAR,
        f=FLOAT,
        d=DOUBLE,
        m=DecimalType(precision=10, scale=2),
        yes=BOOLEAN,
        day=DATE,
        ts=TIMESTAMP,
        ltz=TIMESTAMP_LTZ,
        bin=BYTES,
        a=ArrayType(element=VARCHAR),
        map=MapType(),
        s=StructType(fields=(Field("x", INTEGER),)),
    )
    at = datetime(2026, 1, 31, 12, 0, 0, 5000)
    day = date(2026, 1, 31)
    values = (1, 2**60, "ü", 0.5, 0.25, Decimal("1.10"), True, day, at, at.replace(tzinfo=UTC),
              b"\x00", ["a"], {"k": "v"}, {"x": 1})  # fmt: skip
    engine.answer("SELECT;", rows(shape, values))
    (row,) = [r async for r in await connection.query("SELECT;")]
    assert row == [1, Decimal(2**60), "ü", 0.5, 0.25, 1.1, True, datetime(2026, 1, 31), at, row[9],
                   "AA==", '["a"]', '{"k":"v"}', '{"x":1}']  # fmt: skip
    assert row[9] == at.replace(tzinfo=UTC)


async def test_it_reads_nulls(connection: APIConnection, engine: FakeEngine) -> None:
    engine.answer("SELECT;", rows(VISITS, ("x", None), (None, 1)))
    result = await connection.submit_statement("SELECT;")
    assert [[v and v.actual_instance for v in row] for row in result.data] == [["x", None], [None, "1"]]


async def test_it_reads_partitions(
    connection: APIConnection, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millpond.api.deltastream.envelope.PARTITION_ROWS", 2)
    engine.answer("SELECT;", rows(VISITS, *[("x", n) for n in range(5)]))
    assert [r[1] async for r in await connection.query("SELECT;")] == [0, 1, 2, 3, 4]


async def test_it_waits_for_a_slow_statement(
    connection: APIConnection, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, server: RunningServer
) -> None:
    monkeypatch.setattr("millpond.api.deltastream.statements.PATIENCE_SECONDS", 0.01)
    engine.slow["SELECT;"] = asyncio.Event()
    engine.answer("SELECT;", rows(VISITS, ("x", 1)))
    task = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(_query(connection, "SELECT;"))))
    await asyncio.to_thread(eventually, lambda: len(engine.calls), 1)
    server.call_soon(engine.slow["SELECT;"].set)
    assert await task == [["x", 1]]


async def _query(connection: APIConnection, sql: str) -> list[Any]:
    return [row async for row in await connection.query(sql)]


async def test_it_streams_rows_and_hangs_up(connection: APIConnection, engine: FakeEngine) -> None:
    following = FakeSubscription(VISITS, [Change("insert", ("x", n), str(n)) for n in range(3)])
    engine.answer("SELECT;", following)
    stream = await connection.query("SELECT;")
    assert [c.name for c in stream.columns()] == ["url", "visits"]
    assert await read(stream, 3) == [["x", 0], ["x", 1], ["x", 2]]
    await stream.close()
    await asyncio.to_thread(eventually, lambda: following.closed, True)


async def test_an_error_is_an_sql_error_with_its_code(connection: APIConnection, engine: FakeEngine) -> None:
    error = MillpondError("RELATION_NOT_FOUND", name="v", suggestion="").located("SELECT v", Position(1, 8))
    engine.fail("SELECT v", error)
    with pytest.raises(SQLError) as raised:
        await connection.query("SELECT v")
    assert raised.value.code is SqlState.SQL_STATE_INVALID_RELATION
    assert str(raised.value) == str(error)


async def test_an_error_of_a_stream_is_an_sql_error_with_its_code(
    connection: APIConnection, engine: FakeEngine
) -> None:
    error = MillpondError("RELATION_NOT_FOUND", name="v", suggestion="")
    engine.answer("SELECT;", FakeSubscription(VISITS, [], error=error))
    stream = await connection.query("SELECT;")
    async with asyncio.timeout(10):
        while stream.error is None:
            await asyncio.sleep(0)
    with pytest.raises(SQLError) as raised:
        await anext(stream)
    assert raised.value.code is SqlState.SQL_STATE_INVALID_RELATION


async def test_a_malformed_request_is_an_interface_error(connection: APIConnection) -> None:
    with pytest.raises(InterfaceError, match="MALFORMED_REQUEST"):
        await connection.exec("   ")
