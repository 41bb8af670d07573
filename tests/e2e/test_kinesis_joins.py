"""Kafka and Kinesis in one query: each click meets its user as of its time, once, whatever dies."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest

from millpond.stores.connect import open_log
from millpond.stores.protocol import Log, NewRecord
from tests.e2e.clicks import COLUMNS, START, Click, make_clicks
from tests.e2e.server_process import ServerProcess
from tests.kinesis_emulators import open_kinesis, wait_until_it_answers
from tests.log_records import records_in
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.kinesis, pytest.mark.timeout(900)]

REGIONS = ("Region_1", "Region_2", "Region_3")
MOVES = 2
"""Each user is in another region from each of so many moments on; the first is before all clicks."""
USERS = "at BIGINT, userid VARCHAR, name VARCHAR, regionid VARCHAR, PRIMARY KEY (userid)"
JSON = "'value.format' = 'json', 'key.format' = 'primitive', 'key.type' = 'VARCHAR'"


def statements(tag: str, clicks_store: str, users_store: str) -> tuple[str, str]:
    """Clicks in one store, users in the other; then what they make together in Kafka, and counted."""
    split = {"kafka": "'topic.partitions' = 2", "kinesis": "'topic.shards' = 2"}[clicks_store]
    sources = f"""
CREATE CHANGELOG {tag}_users ({USERS}) WITH ('store' = '{users_store}', 'timestamp' = 'at', {JSON});
CREATE STREAM {tag}_clicks ({COLUMNS})
  WITH ('store' = '{clicks_store}', 'timestamp' = 'event_time', {split}, {JSON})"""
    return (
        sources,
        f"""
CREATE STREAM {tag}_user_clicks WITH ('store' = 'kafka', 'topic.partitions' = 1, 'topic.replicas' = 1) AS
  SELECT c.userid, c.event_time, c.url AS click_url, u.regionid AS user_regionid
  FROM {tag}_clicks c JOIN {tag}_users u ON c.userid = u.userid;
CREATE CHANGELOG {tag}_url_region_click_count WITH ('store' = 'kafka', 'topic.partitions' = 1) AS
  SELECT click_url, user_regionid, COUNT(*) AS n FROM {tag}_user_clicks GROUP BY click_url, user_regionid;
CREATE MATERIALIZED VIEW {tag}_counts AS
  SELECT click_url, user_regionid, COUNT(*) AS n FROM {tag}_user_clicks GROUP BY click_url, user_regionid""",
    )


def region(userid: str, move: int) -> str:
    return REGIONS[(int(userid[1:]) + move) % len(REGIONS)]


def write(log: Log, topic: str, rows: Iterable[Mapping[str, Any]]) -> None:
    log.produce(topic, [NewRecord(str(row["userid"]).encode(), json.dumps(row).encode()) for row in rows])


def write_users(log: Log, topic: str, move: int, at: int) -> None:
    ids = [f"u{n}" for n in range(1, 20)]  # u0 is in no region: an inner join leaves it out
    write(log, topic, ({"at": at, "userid": u, "name": u.upper(), "regionid": region(u, move)} for u in ids))


def enriched(parts: Sequence[Sequence[Click]]) -> Counter[tuple[Any, ...]]:
    """The recount: what `user_clicks` must hold after these parts, before each of which every user has moved."""
    rows = ((c, move) for move, part in enumerate(parts) for c in part if c.userid != "u0")
    return Counter((c.userid, c.event_time, c.url, region(c.userid, move)) for c, move in rows)


def held(log: Log, topic: str) -> Counter[tuple[Any, ...]]:
    """How often each row is in a topic."""
    return Counter(tuple(json.loads(r.value or b"{}").values()) for r in records_in(log, topic))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    started = ServerProcess(tmp_path_factory.mktemp("joins") / "data").start()
    wait_until_it_answers(started.kinesis)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def logs(server: ServerProcess) -> Iterator[dict[str, Log]]:
    opened: dict[str, Log] = {"kinesis": open_kinesis(server.kinesis, timeout=60)}
    opened["kafka"] = open_log("KAFKA", {"uris": server.kafka}, timeout=60)
    yield opened
    for log in opened.values():
        log.close()


@pytest.mark.parametrize(("tag", "clicks_store", "users_store"), [("a", "kafka", "kinesis"), ("b", "kinesis", "kafka")])
def test_clicks_of_one_store_meet_users_of_the_other(
    server: ServerProcess, logs: Mapping[str, Log], tag: str, clicks_store: str, users_store: str
) -> None:
    """A move is in its store before the server starts, and so before the clicks after it are read."""
    sources, queries = statements(tag, clicks_store, users_store)
    server.sql(sources)
    clicks = make_clicks(600)
    parts = [clicks[300 * n : 300 * (n + 1)] for n in range(MOVES)]
    for move, part in enumerate(parts):
        write_users(logs[users_store], f"{tag}_users", move, part[0].event_time if move else START - 1_000)
        if move:
            restart(server)
        else:
            server.sql(queries)
        write(logs[clicks_store], f"{tag}_clicks", map(asdict, part[:200]))
        if move == 1:
            restart(server)
        write(logs[clicks_store], f"{tag}_clicks", map(asdict, part[200:]))
        wanted = enriched(parts[: move + 1])
        eventually(partial(held, logs["kafka"], f"{tag}_user_clicks"), wanted, 120)
    counts = Counter((url, where) for (_, _, url, where) in wanted.elements())
    rows: list[list[str | None]] = [[url, where, str(n)] for (url, where), n in sorted(counts.items())]
    server.wait_for(
        f"SELECT click_url, user_regionid, n FROM {tag}_counts ORDER BY click_url, user_regionid", rows, 120
    )
    assert held(logs["kafka"], f"{tag}_user_clicks") == wanted


def test_a_click_meets_the_move_that_was_written_to_kinesis_just_before_it(
    server: ServerProcess, logs: Mapping[str, Log]
) -> None:
    sources, queries = statements("d", "kafka", "kinesis")
    server.sql(sources)
    server.sql(queries)
    wanted: Counter[tuple[Any, ...]] = Counter()
    for move in range(40):
        at = int(time.time() * 1000)
        write(logs["kinesis"], "d_users", [{"at": at, "userid": "u1", "name": "U1", "regionid": f"Region_{move}"}])
        write(logs["kafka"], "d_clicks", [asdict(Click(at, "d", f"/{move}", "127.0.0.1", "u1"))])
        wanted["u1", at, f"/{move}", f"Region_{move}"] += 1
        if move % 5 == 4:
            eventually(lambda: sum(held(logs["kafka"], "d_user_clicks").values()), move + 1, 120)
    assert held(logs["kafka"], "d_user_clicks") == wanted


def restart(server: ServerProcess) -> None:
    """By kill -9."""
    server.kill()
    server.start()
    wait_until_it_answers(server.kinesis)
