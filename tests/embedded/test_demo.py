"""`run_demo` against a small server of the test's own that counts the clicks of a real topic."""

from __future__ import annotations

import io
import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from rich.console import Console

from millpond.embedded import demo
from millpond.embedded.broker import Broker
from millpond.embedded.click_generator import ClickGenerator
from millpond.embedded.clicks import Click
from millpond.embedded.demo import STATEMENTS, VIEWS, Counts, ordered, run_demo
from millpond.embedded.user_stream import STREAM
from millpond.embedded.users import UserDirectory
from millpond.errors import MillpondError, error_table
from millpond.stores.memory import MemoryLog
from tests.conftest import MakeTopic
from tests.embedded.fake_engine import FakeEngine
from tests.kafka_records import Record, read, write


class CountingServer:
    """POST /v2/statements: every SELECT recounts the topic; `lost` clicks are left out of the count."""

    def __init__(self, uris: str, topic: str) -> None:
        self.uris, self.topic, self.lost, self.refusal = uris, topic, 0, ""
        self.building = 0
        self.refused = ""
        """What a statement may not have in it."""
        self.people = UserDirectory()
        self.statements: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                answer = json.dumps(outer.answer(body["statement"])).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def answer(self, sql: str) -> dict[str, Any]:
        self.statements.append(sql)
        if self.refusal and sql.startswith("CREATE"):
            return {"sqlState": "42501", "message": self.refusal}
        if self.refused and self.refused in sql:
            return {"sqlState": "58030", "message": "Kinesis is away."}
        if self.building and sql.startswith("SELECT"):
            self.building -= 1
            return {"sqlState": error_table()["VIEW_NOT_READY"].sqlstate, "message": "not yet"}
        if not sql.startswith("SELECT"):
            return {"sqlState": "00000", "data": []}
        engine = FakeEngine(people=self.people)
        records = read(self.uris, self.topic)
        clicks = [Click(**json.loads(r.value or b"")) for r in records]
        engine.feed(clicks[: len(clicks) - self.lost])
        rows = [[str(v) for v in row] for row in engine.query(sql)]
        return {"sqlState": "00000", "data": rows}


@pytest.fixture
def server(broker: Broker, topic: MakeTopic, monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingServer]:
    served = CountingServer(broker.uris, topic("clicks"))
    monkeypatch.setattr(demo, "TOPIC", served.topic)
    thread = threading.Thread(target=served.http.serve_forever)
    thread.start()
    yield served
    served.http.shutdown()
    thread.join()
    served.http.server_close()


def run(server: CountingServer, **options: Any) -> tuple[int, str]:
    out = io.StringIO()
    console = Console(file=out, width=120)
    return run_demo(server.url, server.uris, console=console, **options), out.getvalue()


@pytest.mark.broker
def test_it_ends_by_itself_with_views_that_equal_the_clicks_sent(server: CountingServer) -> None:
    code, printed = run(server, rate=200, seconds=1.5)
    assert code == 0, printed
    assert tuple(server.statements[: len(STATEMENTS)]) == STATEMENTS
    assert all(view.name in printed for view in VIEWS)
    assert f"{server.url}/demo" in printed
    assert "each view holds exactly these" in printed


def users_log() -> MemoryLog:
    log = MemoryLog()
    log.create(STREAM)
    return log


@pytest.mark.broker
def test_with_users_the_clicks_by_page_and_region_are_counted_too(server: CountingServer) -> None:
    early = Click(1, "phone-1", "./home", "192.0.2.1", "User_1")
    write(server.uris, server.topic, [Record(early.json())])
    log = users_log()
    code, printed = run(server, users=lambda: log, rate=200, seconds=1.5)
    assert code == 0, printed
    assert "url_region_visits" in printed
    assert "CHANGELOG" in "".join(server.statements)
    assert sum(log.end_offsets(STREAM).values()) == 1000


@pytest.mark.broker
def test_a_click_in_the_wrong_region_is_a_failure(server: CountingServer) -> None:
    server.people = UserDirectory(seed=1)
    code, printed = run(server, users=users_log, rate=200, seconds=1, settle_seconds=0.5)
    assert code == 1
    assert "'url_region_visits' differ from a recount" in printed


@pytest.mark.broker
@pytest.mark.parametrize("refused", ["CHANGELOG", "user_clicks", "nothing"])
def test_kinesis_away_leaves_the_first_story_alone(server: CountingServer, refused: str) -> None:
    server.refused = refused
    log = users_log()
    log.away = refused == "nothing"
    code, printed = run(server, users=lambda: log, rate=200, seconds=1)
    assert code == 0, printed
    assert "Without users in Kinesis" in printed
    assert "url_region_visits" not in printed
    assert "each view holds exactly these" in printed


@pytest.mark.broker
def test_a_click_that_is_not_counted_is_a_failure(server: CountingServer) -> None:
    server.lost = 1
    code, printed = run(server, rate=200, seconds=1, settle_seconds=0.5)
    assert code == 1
    assert "differ from a recount" in printed


@pytest.mark.broker
def test_views_that_are_still_being_built_are_waited_for(server: CountingServer) -> None:
    server.building = 4
    code, printed = run(server, rate=100, seconds=0.5)
    assert code == 0, printed
    assert server.building == 0


@pytest.mark.broker
def test_clicks_of_an_earlier_run_are_not_held_against_it(server: CountingServer) -> None:
    early = Click(1, "phone-1", "./home", "192.0.2.1", "User_1")
    write(server.uris, server.topic, [Record(early.json()), Record(early.json())])
    code, printed = run(server, rate=200, seconds=1)
    assert code == 0, printed
    assert "2 of them earlier" in printed


@pytest.mark.broker
def test_without_seconds_it_runs_until_it_is_stopped(server: CountingServer) -> None:
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    code, printed = run(server, rate=50, stop=stop)
    assert code == 0
    assert "visits" not in printed.split("demo", 1)[1]


@pytest.mark.broker
def test_a_statement_that_is_refused_is_told_with_the_servers_words(server: CountingServer) -> None:
    server.refusal = "You may not."
    with pytest.raises(MillpondError) as caught:
        run(server)
    assert caught.value.name == "REFUSED_BY_SERVER"
    assert "You may not." in caught.value.sentence


def test_no_server_is_a_named_error() -> None:
    with pytest.raises(MillpondError) as caught:
        run_demo("http://127.0.0.1:1", "127.0.0.1:1", console=Console(file=io.StringIO()))
    assert caught.value.name == "SERVER_UNREACHABLE"


def test_what_a_view_must_hold_is_summed_from_the_clicks() -> None:
    counts: Counts = Counter({("u1", "./a", "d1"): 2, ("u2", "./a", "d2"): 3, ("u1", "./b", "d1"): 1})
    by_url, by_url_device, by_all = (view.expected(counts) for view in VIEWS)
    assert by_url == {("./a",): 5, ("./b",): 1}
    assert by_url_device == {("./a", "d1"): 2, ("./a", "d2"): 3, ("./b", "d1"): 1}
    assert by_all == counts
    assert [key for key, _ in ordered(by_url)] == [("./a",), ("./b",)]


def test_a_generator_without_a_broker_can_be_stopped() -> None:
    generator = ClickGenerator("127.0.0.1:1", rate=1000)
    generator.start()
    generator.stop(timeout=0.2)
    assert generator.counts().total() == 0
