"""kill -9 at any moment: after the restart the views equal a recount, and no value was ever seen going backwards."""

from __future__ import annotations

import json
import os
import signal
import threading
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.e2e.clicks import COLUMNS, Click, make_clicks, send, visits
from tests.e2e.server_process import ServerProcess, SqlError
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(900)]

VIEW = "SELECT url, visits FROM url_visits ORDER BY url"
BY_USER = "SELECT userid, url, device_id, visits FROM by_user ORDER BY userid, url, device_id"


def create(server: ServerProcess) -> None:
    server.sql(
        f"CREATE STREAM clicks ({COLUMNS}) WITH ('topic'='clicks', 'value.format'='json', "
        "'timestamp'='event_time', 'topic.partitions'=2);"
        "CREATE MATERIALIZED VIEW url_visits AS SELECT url, COUNT(*) AS visits FROM clicks GROUP BY url;"
        "CREATE MATERIALIZED VIEW by_user AS SELECT userid, url, device_id, COUNT(*) AS visits "
        "FROM clicks GROUP BY userid, url, device_id;"
        "CREATE STREAM homes AS SELECT userid, url, event_time FROM clicks WHERE url = './p0'"
    )


def equal_to_recount(server: ServerProcess, clicks: list[Click]) -> None:
    server.wait_for(VIEW, visits(clicks, "url"))
    server.wait_for(BY_USER, visits(clicks, "userid", "url", "device_id"))


def written_once(server: ServerProcess, clicks: list[Click]) -> None:
    """The stream `homes` holds each matching click exactly once."""
    wanted = Counter((c.userid, c.event_time) for c in clicks if c.url == "./p0")
    eventually(lambda: stream_rows(server.kafka, "homes"), wanted, 60)


def stream_rows(uris: str, topic: str) -> Counter[tuple[str, int]]:
    consumer = Consumer({"bootstrap.servers": uris, "group.id": "recount", "enable.auto.commit": False})
    try:
        partitions = consumer.list_topics(topic, 10).topics[topic].partitions
        ends = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), 10)[1] for p in partitions}
        consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        rows: Counter[tuple[str, int]] = Counter()
        left = sum(ends.values())
        while left:
            for message in consumer.consume(1000, 5):
                row = json.loads(message.value())
                rows[row["userid"], row["event_time"]] += 1
                left -= 1
        return rows
    finally:
        consumer.close()


class Watcher:
    """Asks the view over and over, through crashes, and notes any count that goes backwards."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.highest: dict[str, int] = {}
        self.backwards: list[tuple[str, int, int]] = []
        self.looks = 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self) -> Watcher:
        self.thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.done.set()
        self.thread.join()

    def watch(self) -> None:
        while not self.done.wait(0.01):
            try:
                rows = self.server.sql(VIEW)
            except (OSError, SqlError):
                continue
            self.looks += 1
            for url, count in rows:
                assert url is not None and count is not None
                if int(count) < self.highest.get(url, 0):
                    self.backwards.append((url, self.highest[url], int(count)))
                self.highest[url] = int(count)


def test_kill_9_in_the_middle_loses_nothing_repeats_nothing_and_never_goes_backwards(own_server: ServerProcess) -> None:
    server = own_server.start()
    create(server)
    clicks = make_clicks(6_000)
    with Watcher(server) as watcher:
        send(server.kafka, "clicks", clicks[:2_000])
        eventually(lambda: server.rows_when_ready("SELECT SUM(visits) FROM url_visits"), [["2000"]], 90)
        sender = threading.Thread(target=send, args=(server.kafka, "clicks", clicks[2_000:3_000]))
        sender.start()
        eventually(lambda: int(server.sql("SELECT SUM(visits) FROM url_visits")[0][0] or 0) > 2_100, True, 60)
        sender.join()
        server.kill()
        server.start()
        send(server.kafka, "clicks", clicks[3_000:5_000])
        server.kill()
        server.start()
        send(server.kafka, "clicks", clicks[5_000:])
        equal_to_recount(server, clicks)
    written_once(server, clicks)
    assert watcher.backwards == []
    assert watcher.looks > 50


def test_a_lost_view_store_is_rebuilt_and_a_stale_one_reads_only_the_new_part(
    own_server: ServerProcess, tmp_path: Path
) -> None:
    server = own_server.start()
    create(server)
    clicks = make_clicks(3_000, seed=11)
    send(server.kafka, "clicks", clicks[:2_000])
    equal_to_recount(server, clicks[:2_000])
    server.kill()
    store = server.data_dir / "views"
    saved = {path.name: path.read_bytes() for path in store.iterdir() if path.is_file()}

    for path in store.iterdir():
        path.unlink()
    server.start()
    equal_to_recount(server, clicks[:2_000])
    everything = offsets_read(server, "url_visits")
    send(server.kafka, "clicks", clicks[2_000:])
    equal_to_recount(server, clicks)
    server.kill()

    for path in store.iterdir():
        path.unlink()
    for name, content in saved.items():
        (store / name).write_bytes(content)
    server.start()
    equal_to_recount(server, clicks)
    assert 0 < offsets_read(server, "url_visits") <= 1_000 + 8 * 4
    assert everything >= 8


def offsets_read(server: ServerProcess, view: str) -> int:
    rows = {str(r[0]): str(r[1]) for r in server.sql(f"DESCRIBE RELATION {view}")}
    return int(float(rows["offsets read since start"]))


def test_a_clean_stop_and_restart_keep_everything_as_it_was(own_server: ServerProcess) -> None:
    server = own_server.start()
    create(server)
    clicks = make_clicks(500, seed=3)
    send(server.kafka, "clicks", clicks[:300])
    equal_to_recount(server, clicks[:300])
    server.sql("CREATE INDEX by_visits ON url_visits (visits); USE DATABASE default; CREATE SCHEMA other")
    before = [server.sql("LIST RELATIONS"), server.sql("LIST SCHEMAS"), server.sql("LIST INDEXES")]
    assert server.stop() == 0
    server.start()
    assert [server.sql("LIST RELATIONS"), server.sql("LIST SCHEMAS"), server.sql("LIST INDEXES")] == before
    send(server.kafka, "clicks", clicks[300:])
    equal_to_recount(server, clicks)


def test_a_broker_that_goes_away_and_comes_back_is_ridden_out(own_server: ServerProcess) -> None:
    server = own_server.start()
    create(server)
    clicks = make_clicks(2_000, seed=5)
    send(server.kafka, "clicks", clicks[:1_000])
    equal_to_recount(server, clicks[:1_000])
    assert healthz(server) == 200  # from now on it waits for no store, for as long as the broker is away
    kill_broker(server)
    eventually(lambda: healthz(server), 503, 30)
    assert server.sql(VIEW) == visits(clicks[:1_000], "url")
    eventually(lambda: healthz(server), 200, 90)
    send(server.kafka, "clicks", clicks[1_000:])
    equal_to_recount(server, clicks)
    written_once(server, clicks)


def healthz(server: ServerProcess) -> int:
    try:
        with urllib.request.urlopen(f"{server.url}/healthz", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def kill_broker(server: ServerProcess) -> None:
    """kill -9 of the embedded broker's process; the server starts it again."""
    pid = int((server.data_dir / "kafka" / "broker.lock").read_text().strip())
    os.kill(pid, signal.SIGKILL)
