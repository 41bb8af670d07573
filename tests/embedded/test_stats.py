"""The figures of the demo's page, on an engine that holds the views in memory."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from millpond.api.demo import demo_routes
from millpond.embedded import freshness, region_stats, stats
from millpond.embedded.clicks import Click, ClickModel
from millpond.embedded.stats import DemoStats
from millpond.embedded.users import REGISTERED, UserDirectory
from millpond.errors import MillpondError
from tests.embedded.fake_engine import FakeEngine


def clicks(count: int) -> list[Click]:
    model = ClickModel()
    return [model.click(0) for _ in range(count)]


@pytest.fixture
async def demo(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DemoStats]:
    monkeypatch.setattr(stats, "SHARED_SECONDS", 0)
    monkeypatch.setattr(region_stats, "REGION_SECONDS", 0)
    made = DemoStats(FakeEngine())
    yield made
    await made.aclose()


def engine_of(demo: DemoStats) -> FakeEngine:
    assert isinstance(demo._engine, FakeEngine)
    return demo._engine


async def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end, "not so within 10 s"
        await asyncio.sleep(0.005)


async def test_the_figures_are_those_of_a_recount(demo: DemoStats) -> None:
    fed = clicks(3000)
    engine_of(demo).feed(fed)
    found = await demo.figures()
    by_url = Counter(c.url for c in fed)
    by_kind = Counter(c.device_id.split("-")[0] for c in fed)
    assert (found["state"], found["visits"]) == ("live", 3000)
    assert [row["visits"] for row in found["urls"]] == sorted(by_url.values(), reverse=True)[:10]
    assert {row["name"]: row["visits"] for row in found["device_kinds"]} == by_kind
    assert found["devices"][0]["visits"] == max(Counter(c.device_id for c in fed).values())
    assert set(found["users"]) == {c.userid for c in fed}


async def test_the_regions_are_those_of_a_recount(demo: DemoStats) -> None:
    fed = clicks(3000)
    engine_of(demo).feed(fed)
    people = UserDirectory()
    found = (await demo.figures())["regions"]
    assert (found["state"], found["note"]) == ("live", "")
    by_region = Counter(people.region(c.userid, REGISTERED) for c in fed)
    assert {region["name"]: region["visits"] for region in found["regions"]} == by_region
    assert [region["visits"] for region in found["regions"]] == sorted(by_region.values(), reverse=True)
    busiest = found["regions"][0]
    urls = Counter(c.url for c in fed if people.region(c.userid, REGISTERED) == busiest["name"])
    assert [row["visits"] for row in busiest["urls"]] == sorted(urls.values(), reverse=True)[:5]


@pytest.mark.parametrize(
    ("failure", "state", "words"),
    [
        (MillpondError("RELATION_NOT_FOUND", name="url_region_visits", suggestion=""), "absent", ""),
        (MillpondError("VIEW_NOT_READY", name="url_region_visits", progress="38 % read"), "filling", "38 % read"),
        (MillpondError("INTERNAL", reason="the view is closed", reference="x"), "failed", "the view is closed"),
    ],
    ids=["absent", "filling", "failed"],
)
async def test_without_regions_everything_else_is_there(
    demo: DemoStats, failure: MillpondError, state: str, words: str
) -> None:
    engine_of(demo).feed(clicks(100))
    engine_of(demo).region_failure = failure
    found = await demo.figures()
    assert (found["state"], found["visits"]) == ("live", 100)
    assert (found["regions"]["state"], found["regions"]["regions"]) == (state, [])
    assert words in found["regions"]["note"]


async def test_one_users_visits_add_up_over_devices(demo: DemoStats) -> None:
    fed = clicks(3000)
    engine_of(demo).feed(fed)
    mine = [c for c in fed if c.userid == "User_4"]
    found = (await demo.figures("User_4"))["user"]
    assert found["visits"] == len(mine)
    assert {row["name"]: row["visits"] for row in found["devices"]} == Counter(c.device_id for c in mine)
    assert found["urls"][0]["visits"] == max(Counter(c.url for c in mine).values())


async def test_without_a_name_the_most_active_user_is_shown(demo: DemoStats) -> None:
    fed = clicks(3000)
    engine_of(demo).feed(fed)
    found = await demo.figures()
    assert found["user"]["visits"] == max(Counter(c.userid for c in fed).values())


async def test_a_name_with_a_quote_is_a_name_and_not_sql(demo: DemoStats) -> None:
    engine_of(demo).feed([Click(0, "phone-1", "./home", "192.0.2.1", "O'Hara"), *clicks(10)])
    assert (await demo.figures("O'Hara"))["user"]["visits"] == 1
    assert (await demo.figures("x' OR '1'='1"))["user"]["visits"] == 0


@pytest.mark.parametrize(
    ("note", "fed", "state"),
    [
        ("", 0, "empty"),
        ("has seen nothing", 0, "empty"),
        ("has read 90 %", 5, "filling"),
        ("", 5, "live"),
    ],
)
async def test_a_view_that_is_not_ready_says_so(demo: DemoStats, note: str, fed: int, state: str) -> None:
    engine_of(demo).note = note
    engine_of(demo).feed(clicks(fed))
    found = await demo.figures()
    assert (found["state"], found["note"]) == (state, note if state == "filling" else "")


async def test_views_that_are_being_built_say_how_far_they_are(demo: DemoStats) -> None:
    engine_of(demo).failure = MillpondError("VIEW_NOT_READY", name="url_visits", progress="38 % read")
    found = await demo.figures()
    assert found["state"] == "filling"
    assert "38 % read" in found["note"]


async def test_views_that_do_not_exist_are_absent_not_an_error(demo: DemoStats) -> None:
    engine_of(demo).failure = MillpondError("RELATION_NOT_FOUND", name="url_visits", suggestion="")
    assert (await demo.figures())["state"] == "absent"


async def test_many_visitors_ask_the_views_no_more_than_one(demo: DemoStats, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "SHARED_SECONDS", 60)
    engine_of(demo).feed(clicks(10))
    await asyncio.gather(*(demo.figures("User_1") for _ in range(50)))
    assert engine_of(demo).asked.count(stats.TOTAL) == 1


async def test_freshness_is_the_age_of_changes_not_of_the_rows_before_them(demo: DemoStats) -> None:
    engine = engine_of(demo)
    await demo.figures()
    await until(lambda: len(engine.subscriptions) == 1)
    assert (await demo.figures())["freshness_ms"] is None
    engine.feed(clicks(20))
    await until(lambda: demo._freshness.median() is not None)
    assert (await demo.figures())["freshness_ms"] == pytest.approx(engine.age_ms, abs=5)


async def test_the_subscription_ends_when_nobody_looks(demo: DemoStats, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_of(demo)
    await demo.figures()
    await until(lambda: len(engine.subscriptions) == 1)
    monkeypatch.setattr(freshness, "IDLE_SECONDS", -1)
    engine.feed(clicks(1))
    await until(lambda: engine.subscriptions[0].closed)


async def test_a_view_that_cannot_be_followed_is_tried_again(demo: DemoStats, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "RETRY_SECONDS", 0.01)
    engine = engine_of(demo)
    engine.failure = MillpondError("RELATION_NOT_FOUND", name="url_visits", suggestion="")
    demo._freshness.wanted()
    await asyncio.sleep(0)
    engine.failure = None
    await until(lambda: len(engine.subscriptions) == 1)


async def test_the_page_and_its_figures_are_served_below_demo() -> None:
    engine = FakeEngine()
    engine.feed(clicks(5))
    app = Starlette(routes=[Mount("/demo", routes=demo_routes(engine))])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        for path, kind in [("/demo/", "html"), ("/demo/demo.css", "css"), ("/demo/demo.js", "javascript")]:
            answer = await client.get(path)
            assert answer.status_code == 200
            assert kind in answer.headers["content-type"]
            assert "https://" not in answer.text, "the page must not load anything from elsewhere"
        assert (await client.get("/demo", follow_redirects=True)).status_code == 200
        assert (await client.get("/demo/stats.json?user=User_1")).json()["visits"] == 5
        engine.failure = MillpondError("INTERNAL", reason="the views are closed", reference="x")
        await asyncio.sleep(stats.SHARED_SECONDS)
        failed = await client.get("/demo/stats.json")
        assert (failed.status_code, failed.json()["error"]) == (503, "INTERNAL")
