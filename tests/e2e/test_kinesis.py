"""Data moves between Kafka and Kinesis on the embedded server; kill -9 in the middle loses nothing, doubles nothing."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from millpond.stores.connect import open_log
from millpond.stores.kinesis import KinesisLog
from millpond.stores.protocol import Log, NewRecord
from tests.e2e.server_process import ServerProcess, SqlError
from tests.fault_proxy import fault_proxy
from tests.kinesis_emulators import merge, open_kinesis, split, wait_until_it_answers
from tests.log_records import records_in
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.kinesis, pytest.mark.timeout(900)]

COLUMNS = "viewtime BIGINT, userid VARCHAR, pageid VARCHAR"
JSON = "'value.format'='json', 'key.format'='primitive', 'key.type'='VARCHAR'"
Row = tuple[str, str]
"""(userid, pageid)."""


def views(seed: int, count: int) -> list[Row]:
    """Page views; a page's name is its number, so that each is there once and their order shows."""
    chance = random.Random(seed)
    return [(f"User_{chance.randrange(30)}", f"{seed}-{n:05d}") for n in range(count)]


def write(log: Log, topic: str, rows: list[Row]) -> None:
    records = [
        NewRecord(user.encode(), json.dumps({"viewtime": n, "userid": user, "pageid": page}).encode())
        for n, (user, page) in enumerate(rows)
    ]
    log.produce(topic, records)


def rows_in(log: Log, topic: str) -> list[Row]:
    """Everything in a topic up to its end as it is now, in the order of its partitions."""
    return [(row["userid"], row["pageid"]) for row in values_in(log, topic)]


def values_in(log: Log, topic: str) -> list[dict[str, Any]]:
    """The values of all records of a topic."""
    return [json.loads(record.value or b"{}") for record in records_in(log, topic)]


def more_than(count: int) -> Callable[[list[Row]], bool]:
    def longer(rows: list[Row]) -> bool:
        return len(rows) > count

    return longer


def once_and_in_order(found: list[Row], sent: list[Row]) -> bool:
    return by_user(found) == by_user(sent)


def by_user(rows: list[Row]) -> dict[str, list[str]]:
    pages: dict[str, list[str]] = defaultdict(list)
    for user, page in rows:
        pages[user].append(page)
    return pages


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    started = ServerProcess(tmp_path_factory.mktemp("kinesis") / "data").start()
    wait_until_it_answers(started.kinesis)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def kinesis(server: ServerProcess) -> Iterator[KinesisLog]:
    log = open_kinesis(server.kinesis, timeout=60)
    yield log
    log.close()


@pytest.fixture(scope="module")
def kafka(server: ServerProcess) -> Iterator[Log]:
    log = open_log("KAFKA", {"uris": server.kafka}, timeout=60)
    yield log
    log.close()


def test_streams_move_both_ways_and_a_view_reads_kinesis(
    server: ServerProcess, kinesis: KinesisLog, kafka: Log
) -> None:
    with pytest.raises(SqlError) as refused:
        server.sql(
            f"CREATE STREAM views_kinesis ({COLUMNS}) WITH ('store'='kinesis', 'topic.shards'=2, {JSON});"
            "CREATE STREAM refused WITH ('store'='kafka') AS SELECT * FROM views_kinesis"
        )
    assert refused.value.name == "MISSING_PROPERTY"
    server.sql(
        "CREATE STREAM views_kafka WITH ('store'='kafka', 'topic.partitions'=1, 'topic.replicas'=1) AS "
        "SELECT * FROM views_kinesis;"
        "CREATE STREAM views_again WITH ('store'='kinesis', 'topic.shards'=2) AS SELECT * FROM views_kafka;"
        "CREATE MATERIALIZED VIEW by_user AS SELECT userid, COUNT(*) AS n FROM views_kinesis GROUP BY userid"
    )
    assert kinesis.describe("views_again").partitions == 2
    sent: list[Row] = []
    for seed in range(3):
        write(kinesis, "views_kinesis", views(seed, 200))
        sent += views(seed, 200)
        if seed == 1:
            server.kill()
            server.start()
            wait_until_it_answers(server.kinesis)
    eventually(lambda: Counter(rows_in(kafka, "views_kafka")) == Counter(sent), True, 120)
    eventually(lambda: Counter(rows_in(kinesis, "views_again")) == Counter(sent), True, 120)
    assert once_and_in_order(rows_in(kafka, "views_kafka"), sent)
    assert once_and_in_order(rows_in(kinesis, "views_again"), sent)
    counts: list[list[str | None]] = [[user, str(n)] for user, n in sorted(Counter(user for user, _ in sent).items())]
    server.wait_for("SELECT userid, n FROM by_user ORDER BY userid", counts)


def test_killed_again_and_again_each_row_is_there_once(server: ServerProcess, kinesis: KinesisLog, kafka: Log) -> None:
    server.sql(
        f"CREATE STREAM a ({COLUMNS}) WITH ('store'='kafka', 'topic.partitions'=2, 'topic.replicas'=1, {JSON});"
        "CREATE STREAM b WITH ('store'='kinesis', 'topic.shards'=2) AS SELECT * FROM a;"
        "CREATE STREAM c WITH ('store'='kafka', 'topic.partitions'=1, 'topic.replicas'=1) AS SELECT * FROM b"
    )
    sent: list[Row] = []
    for seed in range(10, 13):
        write(kafka, "a", views(seed, 1500))
        sent += views(seed, 1500)
        some = random.Random(seed).randrange(len(sent) - 1500, len(sent))  # any moment will do
        eventually(partial(rows_in, kinesis, "b"), more_than(some), 120)
        server.kill()
        server.start()
        wait_until_it_answers(server.kinesis)
    eventually(lambda: len(rows_in(kinesis, "b")) >= len(sent), True, 180)
    eventually(lambda: len(rows_in(kafka, "c")) >= len(sent), True, 180)
    assert once_and_in_order(rows_in(kinesis, "b"), sent)
    assert once_and_in_order(rows_in(kafka, "c"), sent)


def test_a_changelog_over_kinesis_has_deletes(server: ServerProcess, kinesis: KinesisLog) -> None:
    server.sql(
        "CREATE CHANGELOG users (userid VARCHAR, name VARCHAR, PRIMARY KEY(userid)) "
        "WITH ('store'='kinesis', 'topic'='users', 'topic.shards'=1, 'value.format'='json');"
        "CREATE MATERIALIZED VIEW people AS SELECT userid, name FROM users"
    )
    told = [("u1", "Ann"), ("u2", "Bob"), ("u1", "Anna"), ("u2", "")]
    value = {name: json.dumps({"userid": user, "name": name}).encode() for user, name in told}
    kinesis.produce("users", [NewRecord(user.encode(), value[name] if name else None) for user, name in told])
    server.wait_for("SELECT userid, name FROM people", [["u1", "Anna"]], 120)


def test_print_and_the_doors_of_entities_know_kinesis(server: ServerProcess, kinesis: KinesisLog) -> None:
    kinesis.create("seen", 1)
    kinesis.produce("seen", [NewRecord(b"k", b'{"n":1}')])
    lines = server.follow("PRINT ENTITY seen IN STORE kinesis WITH ('from_beginning')")
    found = next(line for line in lines if "n" in json.dumps(line) and "k" in json.dumps(line))
    assert found
    lines.close()  # type: ignore[attr-defined]


def test_rows_of_kinesis_tell_their_shard_and_sequence_number(
    server: ServerProcess, kinesis: KinesisLog, kafka: Log
) -> None:
    """The same in a query of Spark and in a followed SELECT: what the store has said when they were written."""
    server.sql(
        f"CREATE STREAM placed ({COLUMNS}) WITH ('store'='kinesis', 'topic.shards'=2, {JSON});"
        "CREATE STREAM places WITH ('store'='kafka', 'topic.partitions'=1, 'topic.replicas'=1) AS "
        "SELECT pageid, rowkey() AS k, rowmeta() AS m FROM placed"
    )
    rows = views(40, 20)
    records = [NewRecord(user.encode(), json.dumps({"userid": user, "pageid": page}).encode()) for user, page in rows]
    written = kinesis.produce("placed", records)
    expected = {
        page: {
            "stream": "placed",
            "partition_key": user,
            "shard_id": f"shardId-{shard:012d}",
            "sequence_number": str(sequence),
        }
        for (user, page), (shard, sequence) in zip(rows, written, strict=True)
    }
    eventually(lambda: {row["pageid"]: row["m"] for row in values_in(kafka, "places")}, expected, 120)
    assert all(row["k"] == row["m"]["partition_key"] for row in values_in(kafka, "places"))
    lines = server.follow("SELECT pageid, rowmeta() AS m FROM placed WITH ('starting.position' = 'earliest') LIMIT 20")
    followed = [line["row"] for line in lines if "row" in line and line.get("op") == "insert"]
    assert {page: as_struct(m) for page, m in followed} == expected


def as_struct(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


FAULTS = {
    "GetRecords": {"throttle": 0.1, "expire": 0.1, "fail": 0.03, "cut": 0.05, "lose": 0.03, "slow": 0.03},
    "PutRecords": {"throttle": 0.1, "partial": 0.2, "lose": 0.05},
    "ListShards": {"limit": 0.2},
}


def test_shards_split_and_merge_under_running_queries_on_a_bad_day(
    server: ServerProcess, kafka: Log, kinesis_url: str
) -> None:
    """Out of a stream and into another one, through throttling, expired iterators and lost connections."""
    far = open_kinesis(kinesis_url)
    with fault_proxy(kinesis_url, FAULTS) as proxy:
        server.sql(
            f"CREATE STORE far WITH ('type'=KINESIS, 'access_region'='us-east-1', 'uris'='{proxy.url}', "
            "'kinesis.access_key_id'='test', 'kinesis.secret_access_key'='test');"
            f"CREATE STREAM far_in ({COLUMNS}) WITH ('store'='far', 'topic.shards'=2, {JSON});"
            "CREATE STREAM far_out WITH ('store'='far') AS SELECT * FROM far_in;"
            "CREATE STREAM near WITH ('store'='kafka', 'topic.partitions'=1, 'topic.replicas'=1) AS "
            "SELECT * FROM far_in"
        )
        assert far.describe("far_out").partitions == 2
        sent: list[Row] = []
        for seed, change in ((20, split), (21, merge), (22, split), (23, None)):
            write(far, "far_in", views(seed, 150))
            sent += views(seed, 150)
            if change:
                change(far, "far_in")
                change(far, "far_out")
        eventually(lambda: len(rows_in(kafka, "near")) >= len(sent), True, 180)
        eventually(lambda: len(rows_in(far, "far_out")) >= len(sent), True, 180)
        assert once_and_in_order(rows_in(kafka, "near"), sent)
        assert once_and_in_order(rows_in(far, "far_out"), sent)
        assert {"GetRecords", "PutRecords"} <= {action for action, _ in proxy.happened}
    far.close()
