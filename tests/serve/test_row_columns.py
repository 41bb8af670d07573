"""rowtime(), rowkey() and rowmeta() of a followed SELECT: what each record gives."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.catalog.model import Store
from millpond.errors import MillpondError
from millpond.plan.push import plan_push
from millpond.serve.evaluate import select
from millpond.serve.row_columns import RowColumns
from millpond.sql.parser import parse
from millpond.sql.statements import Query
from millpond.stores.formats.records import value_decoder
from millpond.stores.protocol import Record
from tests.plan.planning import Session

SOURCES = """
CREATE STREAM own_time (at BIGINT, n INTEGER) WITH
  ('value.format' = 'json', 'timestamp' = 'at', 'key.format' = 'primitive', 'key.type' = 'BIGINT');
CREATE STREAM plain (n INTEGER) WITH ('value.format' = 'json');
CREATE STREAM shards (n INTEGER) WITH ('store' = 'kinesis', 'value.format' = 'json', 'topic.shards' = 2,
  'key.format' = 'primitive', 'key.type' = 'VARCHAR');
CREATE MATERIALIZED VIEW counted AS SELECT n, COUNT(*) AS c FROM plain GROUP BY n
"""
FIVE = (5).to_bytes(8, "big")
KAFKA = Record("own_time", 3, 42, 2_000, FIVE, b'{"at": 1234, "n": 1}')
SHARD = Record("shards", 12, 49_512_345_678_901_234_567_890, 3_000, b"caf\xc3\xa9", b'{"n": 7}')
CASES = {
    "SELECT rowtime(), rowkey() FROM own_time": (KAFKA, (1_234, "5")),
    'SELECT rowmeta()->topic, rowmeta(o)->"offset" + n FROM own_time AS o': (KAFKA, ("own_time", 43)),
    "SELECT rowtime(), rowkey() FROM plain": (KAFKA._replace(topic="plain"), (2_000, None)),
    "SELECT rowtime() FROM own_time": (KAFKA._replace(value=b'{"n": 1}'), (None,)),
    "SELECT n FROM own_time WHERE rowmeta()->partition = 3": (KAFKA, (1,)),
    "SELECT n FROM own_time WHERE rowmeta()->partition = 4": (KAFKA, None),
    "SELECT rowtime(), rowkey(), n FROM shards": (SHARD, (3_000, "café", 7)),
    "SELECT rowmeta()->stream, rowmeta()->partition_key, rowmeta()->shard_id, rowmeta()->sequence_number FROM shards": (
        SHARD,
        ("shards", "café", "shardId-000000000012", "49512345678901234567890"),
    ),
}


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    session.catalog.create_store(Store("kinesis", "KINESIS", {"access_region": "us-east-1"}, "sysadmin", 0, 0))
    session.run(SOURCES)
    return session


def evaluated(session: Session, sql: str, record: Record) -> Any:
    (query,) = parse(sql)
    assert isinstance(query, Query)
    plan = plan_push(query, session.catalog, session.context)
    columns = RowColumns(plan.relation, plan.hidden, plan.timestamp_column)
    row = value_decoder(plan.relation)(record.key, record.value or b"")
    chosen = select((*plan.relation.columns, *plan.hidden), plan.columns, plan.exprs, plan.condition)
    return chosen.apply(columns.behind(row, record))


@pytest.mark.parametrize(("sql", "given", "expected"), [(sql, *case) for sql, case in CASES.items()])
def test_a_followed_row_has_the_time_key_and_place_of_its_record(
    session: Session, sql: str, given: Record, expected: Any
) -> None:
    assert evaluated(session, sql, given) == expected


def test_a_whole_place_is_a_struct(session: Session) -> None:
    (found,) = evaluated(session, "SELECT rowmeta() AS place FROM shards", SHARD)
    assert list(found.values()) == ["shards", "café", "shardId-000000000012", "49512345678901234567890"]


def test_a_delete_has_the_time_of_its_record(session: Session) -> None:
    (query,) = parse("SELECT rowtime() AS t FROM own_time")
    assert isinstance(query, Query)
    plan = plan_push(query, session.catalog, session.context)
    columns = RowColumns(plan.relation, plan.hidden, plan.timestamp_column)
    (_, _, time) = columns.behind((None, None), KAFKA, is_delete=True)
    assert int(time.timestamp() * 1000) == 2_000


def test_a_view_s_rows_have_no_record(session: Session) -> None:
    (query,) = parse("SELECT rowtime() FROM counted EMIT CHANGES")
    assert isinstance(query, Query)
    with pytest.raises(MillpondError) as refused:
        plan_push(query, session.catalog, session.context)
    assert refused.value.name == "ROW_FUNCTION_NOT_ALLOWED"
