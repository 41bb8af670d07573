"""From an event to an answer, on a real broker and real Spark, over HTTP."""

from __future__ import annotations

import json
import time
import urllib.request
import uuid
from itertools import islice
from typing import Any

import pytest

from tests.e2e.clicks import COLUMNS, make_clicks, send, visits
from tests.e2e.server_process import ServerProcess, SqlError
from tests.kafka_records import Record, read, write
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(600)]


@pytest.fixture
def clicks(server: ServerProcess, database: str) -> tuple[str, str]:
    """A stream `clicks` over a topic of its own: (database, topic)."""
    topic = f"clicks_{uuid.uuid4().hex[:8]}"
    server.sql(
        f"CREATE STREAM clicks ({COLUMNS}) WITH ('topic'='{topic}', 'value.format'='json', "
        "'timestamp'='event_time', 'topic.partitions'=2)",
        database=database,
    )
    return database, topic


def test_the_three_clickstream_views_are_queried_like_tables(server: ServerProcess, clicks: tuple[str, str]) -> None:
    database, topic = clicks
    sent = make_clicks(600)
    send(server.kafka, topic, sent[:400])
    for view, columns in (
        ("url_visits", "url"),
        ("device_visits", "url, device_id"),
        ("by_user", "userid, url, device_id"),
    ):
        server.sql(
            f"CREATE MATERIALIZED VIEW {view} AS SELECT {columns}, COUNT(*) AS visits FROM clicks GROUP BY {columns}",
            database=database,
        )
    send(server.kafka, topic, sent[400:])
    prefix = f"{database}.public"
    server.wait_for(f"SELECT url, visits FROM {prefix}.url_visits ORDER BY url", visits(sent, "url"))
    by_user = visits(sent, "userid", "url", "device_id")
    server.wait_for(f"SELECT userid, url, device_id, visits FROM {prefix}.by_user ORDER BY 1, 2, 3", by_user)
    urls = {str(url): str(n) for url, n in visits(sent, "url")}
    assert server.sql("SELECT visits FROM url_visits WHERE url = './p3'", database=database) == [[urls["./p3"]]]
    top = max(urls.items(), key=lambda pair: int(pair[1]))[1]
    assert server.sql("SELECT visits FROM url_visits ORDER BY visits DESC LIMIT 1", database=database) == [[top]]
    assert server.sql("SELECT SUM(visits) FROM by_user", database=database) == [["600"]]
    joined = (
        "SELECT u.url, u.visits, d.n FROM url_visits u JOIN (SELECT url, SUM(visits) AS n FROM device_visits "
        "GROUP BY url) d ON u.url = d.url WHERE u.visits <> d.n"
    )
    server.sql("CREATE INDEX by_userid ON by_user (userid)", database=database)
    assert server.sql(joined, database=database) == []
    of_user = "SELECT SUM(visits) FROM by_user WHERE userid = 'u4'"
    assert server.sql(of_user, database=database) == [[str(sum(c.userid == "u4" for c in sent))]]
    plan = server.sql(f"EXPLAIN {of_user}", database=database)
    assert any("USING INDEX" in str(row[0]) for row in plan)


def test_a_query_follows_in_real_time_and_says_so(server: ServerProcess, clicks: tuple[str, str]) -> None:
    database, topic = clicks
    server.sql("CREATE MATERIALIZED VIEW v AS SELECT url, COUNT(*) AS n FROM clicks GROUP BY url", database=database)
    query = server.sql("DESCRIBE RELATION v", database=database)
    query_id = next(str(row[1]) for row in query if row[0] == "written_by")
    eventually(lambda: dict(described(server, query_id))["mode"], "real-time", 90)
    send(server.kafka, topic, make_clicks(1))
    server.wait_for(f"SELECT SUM(n) FROM {database}.public.v", [["1"]])
    explained = server.sql(
        "EXPLAIN CREATE CHANGELOG c AS SELECT url, COUNT(*) AS n FROM clicks GROUP BY url", database=database
    )
    assert any("mode: real-time" in str(line[0]) for line in explained)
    assert server.sql("LIST RELATIONS", database=database) == server.sql("LIST RELATIONS", database=database)


def described(server: ServerProcess, query_id: str) -> list[tuple[str, str]]:
    return [(str(row[0]), str(row[1])) for row in server.sql(f"DESCRIBE QUERY {query_id}")]


def test_windows_streams_and_changelogs_run_side_by_side(server: ServerProcess, clicks: tuple[str, str]) -> None:
    database, topic = clicks
    server.sql(
        "CREATE MATERIALIZED VIEW per_minute AS SELECT window_start, url, COUNT(DISTINCT userid) AS users "
        "FROM TUMBLE(clicks, SIZE 1 MINUTE) GROUP BY window_start, window_end, url;"
        "CREATE STREAM homes AS SELECT userid, event_time FROM clicks WHERE url = './p0';"
        "CREATE CHANGELOG per_user AS SELECT userid, COUNT(*) AS n, MAX(event_time) AS latest FROM clicks "
        "GROUP BY userid;"
        "CREATE MATERIALIZED VIEW users AS SELECT * FROM per_user WHERE n > 10",
        database=database,
    )
    sent = make_clicks(900, seed=21)
    send(server.kafka, topic, sent)
    minutes = {(c.event_time // 60_000, c.url, c.userid) for c in sent}
    expected = sorted({(m, u) for m, u, _ in minutes})
    counts = [str(len({w for m2, u2, w in minutes if (m2, u2) == pair})) for pair in expected]
    server.wait_for(
        f"SELECT users FROM {database}.public.per_minute ORDER BY window_start, url", [[c] for c in counts], 120
    )
    per_user = visits(sent, "userid")
    server.wait_for(
        f"SELECT userid, n FROM {database}.public.users ORDER BY userid",
        [row for row in per_user if int(row[1] or 0) > 10],
        120,
    )


def test_push_resumes_from_any_token_without_a_gap_or_a_repeat(server: ServerProcess, clicks: tuple[str, str]) -> None:
    database, topic = clicks
    server.sql("CREATE MATERIALIZED VIEW v AS SELECT url, COUNT(*) AS n FROM clicks GROUP BY url", database=database)
    sent = make_clicks(200)
    send(server.kafka, topic, sent[:50])
    view = f"{database}.public.v"
    server.wait_for(f"SELECT SUM(n) FROM {view}", [["50"]])
    changes = follow(server, f"SELECT url, n FROM {view} EMIT CHANGES")
    snapshot: dict[str, int] = {}
    for change in changes:
        if change["op"] == "snapshot_end":
            token = change["token"]
            break
        snapshot[change["row"][0]] = int(change["row"][1])
    assert snapshot == {str(u): int(str(n)) for u, n in visits(sent[:50], "url")}
    seen = []
    for n in range(50, 200, 30):
        send(server.kafka, topic, sent[n : n + 30])
        changes.close()
        changes = follow(server, f"SELECT url, n FROM {view} EMIT CHANGES", resume=token)
        for change in islice(changes, 30):
            seen.append((change["row"][0], int(change["row"][1])))
            token = change["token"]
    changes.close()
    assert len(seen) == len(set(seen)) == 150
    for url, count in seen:
        assert count > snapshot.get(url, 0)
    final = {url: max(n for u, n in seen if u == url) for url in {u for u, _ in seen}}
    assert final == {str(u): int(str(n)) for u, n in visits(sent, "url") if u in final}


def follow(server: ServerProcess, statement: str, resume: str | None = None) -> Any:
    """Changes of a push query; the header line is read first, so that it has begun."""
    lines = server.follow(statement, resume)
    assert "columns" in next(lines)
    return lines


def test_a_stream_is_followed_from_now_on_and_printed_from_the_beginning(
    server: ServerProcess, clicks: tuple[str, str]
) -> None:
    database, topic = clicks
    send(server.kafka, topic, make_clicks(3))
    lines = follow(server, f"SELECT userid, url FROM {database}.public.clicks WHERE url LIKE './p%'")
    late = make_clicks(5, seed=2)
    send(server.kafka, topic, late)
    rows = sorted(change["row"] for change in islice(lines, 5))
    lines.close()
    assert rows == sorted([c.userid, c.url] for c in late)
    printed = follow(server, f"PRINT ENTITY \"{topic}\" WITH ('from_beginning')")
    values = [json.loads(change["row"][1])["userid"] for change in islice(printed, 8)]
    printed.close()
    assert len(values) == 8


def test_a_bad_record_is_a_dead_letter_with_its_place_and_the_query_goes_on(
    server: ServerProcess, clicks: tuple[str, str]
) -> None:
    database, topic = clicks
    server.sql("CREATE MATERIALIZED VIEW v AS SELECT url, COUNT(*) AS n FROM clicks GROUP BY url", database=database)
    good = make_clicks(2)
    send(server.kafka, topic, good[:1])
    write(server.kafka, topic, [Record(b"{broken", b"k"), Record(b'{"event_time": "soon"}', b"k")])
    send(server.kafka, topic, good[1:])
    server.wait_for(f"SELECT SUM(n) FROM {database}.public.v", [["2"]])
    letters = f"dead-letters.{database}.public.v"
    found = eventually(lambda: read(server.kafka, letters), lambda rows: len(rows) == 2, 30)
    assert [r.value for r in found] == [b"{broken", b'{"event_time": "soon"}']
    headers = [dict(r.headers) for r in found]
    assert all(h["mp.topic"] == topic.encode() and h["mp.offset"].isdigit() for h in headers)
    assert b"event_time" in headers[1]["mp.reason"]
    assert metric(server, "millpond_query_dead_letters_total", f'sink="{database}.public.v"') in ("2.0", None)


def metric(server: ServerProcess, name: str, label: str) -> str | None:
    with urllib.request.urlopen(f"{server.url}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return next((line.rpartition(" ")[2] for line in lines if line.startswith(name) and label in line), None)


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE MATERIALIZED VIEW bad AS SELECT nope FROM clicks", "COLUMN_NOT_FOUND"),
        ("CREATE MATERIALIZED VIEW bad WITH ('retention.milis'=1) AS SELECT url FROM clicks", "UNKNOWN_PROPERTY"),
        ("CREATE STREAM bad AS SELECT url, COUNT(*) FROM clicks GROUP BY url", "WRONG_RELATION_KIND"),
        ("CRAETE STREAM bad (a INT)", "SYNTAX"),
        ("CREATE STREAM bad (a INT) WITH ('value.format'='protobuf')", "NO_PROTOBUF_SCHEMA"),
        ("SELECT * FROM nothing_here", "RELATION_NOT_FOUND"),
    ],
)
def test_a_wrong_statement_is_named_points_at_its_token_and_leaves_nothing_behind(
    server: ServerProcess, clicks: tuple[str, str], statement: str, name: str
) -> None:
    database, _ = clicks
    before = (server.sql("LIST RELATIONS", database=database), server.sql("LIST ENTITIES", database=database))
    with pytest.raises(SqlError) as caught:
        server.sql(statement, database=database)
    assert caught.value.name == name
    if name in ("COLUMN_NOT_FOUND", "UNKNOWN_PROPERTY", "SYNTAX", "RELATION_NOT_FOUND"):
        assert "^" in str(caught.value) and "Line 1" in str(caught.value)
    after = (server.sql("LIST RELATIONS", database=database), server.sql("LIST ENTITIES", database=database))
    assert after == before


def test_drop_is_refused_while_in_use_and_restart_goes_on(server: ServerProcess, clicks: tuple[str, str]) -> None:
    database, topic = clicks
    server.sql("CREATE MATERIALIZED VIEW v AS SELECT url, COUNT(*) AS n FROM clicks GROUP BY url", database=database)
    with pytest.raises(SqlError) as caught:
        server.sql("DROP STREAM clicks", database=database)
    assert caught.value.name == "DEPENDENTS_EXIST"
    assert caught.value.sqlstate == "2BP01"
    sent = make_clicks(40)
    send(server.kafka, topic, sent[:20])
    view = f"{database}.public.v"
    server.wait_for(f"SELECT SUM(n) FROM {view}", [["20"]])
    described_view = server.sql("DESCRIBE RELATION v", database=database)
    query = next(str(row[1]) for row in described_view if row[0] == "written_by")
    server.sql(f"TERMINATE QUERY {query}")
    send(server.kafka, topic, sent[20:])
    server.sql(f"RESTART QUERY {query}")
    server.wait_for(f"SELECT SUM(n) FROM {view}", [["40"]])
    server.sql("DROP MATERIALIZED VIEW v; DROP STREAM clicks", database=database)
    assert server.sql("LIST RELATIONS", database=database) == []


def test_an_event_reaches_a_view_within_milliseconds(server: ServerProcess, clicks: tuple[str, str]) -> None:
    """Not a benchmark: a guard against a path that waits for a batch or a poll."""
    database, topic = clicks
    server.sql("CREATE MATERIALIZED VIEW v AS SELECT url, COUNT(*) AS n FROM clicks GROUP BY url", database=database)
    sent = make_clicks(60)
    send(server.kafka, topic, sent[:10])
    view = f"{database}.public.v"
    server.wait_for(f"SELECT SUM(n) FROM {view}", [["10"]])
    waits = []
    for n in range(10, 60):
        started = time.monotonic()
        send(server.kafka, topic, sent[n : n + 1])
        server.wait_for(f"SELECT SUM(n) FROM {view}", [[str(n + 1)]], 30)
        waits.append(time.monotonic() - started)
    assert sorted(waits)[25] < 1.0
