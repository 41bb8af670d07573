"""DeltaStream's own Python client, unmodified, on the real server: creates, queries, streams."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest

from tests.e2e.clicks import COLUMNS, make_clicks, send, visits
from tests.e2e.server_process import ServerProcess

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from deltastream.api.conn import APIConnection
    from deltastream.api.error import SQLError, SqlState

pytestmark = [
    pytest.mark.spark,
    pytest.mark.broker,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


def connect(server: ServerProcess) -> APIConnection:
    async def token() -> str:
        return "any"

    organization = "11111111-1111-1111-1111-111111111111"
    return APIConnection(f"{server.url}/v2", token, None, "UTC", organization, None, None, None, None)


async def all_rows(connection: APIConnection, sql: str) -> list[Any]:
    return [list(row) async for row in await connection.query(sql)]


async def test_the_connector_creates_queries_and_streams(server: ServerProcess, database: str) -> None:
    connection = connect(server)
    await connection.exec(f"USE DATABASE {database};")
    await connection.exec(
        f"CREATE STREAM clicks ({COLUMNS}) WITH ('topic'='{database}_clicks', 'value.format'='json', "
        "'timestamp'='event_time');"
    )
    await connection.exec("CREATE MATERIALIZED VIEW v AS SELECT url, COUNT(*) AS n FROM clicks GROUP BY url;")
    sent = make_clicks(30)
    stream = await connection.query("SELECT userid, url FROM clicks;")
    first = asyncio.ensure_future(anext(aiter(stream)))
    await asyncio.to_thread(send, server.kafka, f"{database}_clicks", sent)
    assert list(await asyncio.wait_for(first, 60)) == [sent[0].userid, sent[0].url]
    await asyncio.to_thread(server.wait_for, f"SELECT SUM(n) FROM {database}.public.v", [["30"]])
    found = await all_rows(connection, "SELECT url, n FROM v ORDER BY url;")
    assert found == [[url, int(str(n))] for url, n in visits(sent, "url")]
    with pytest.raises(SQLError) as caught:
        await connection.query("SELECT * FROM not_there;")
    assert caught.value.code == SqlState.SQL_STATE_INVALID_RELATION
