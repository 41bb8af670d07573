"""The demo's page in a real browser, on a fake engine that tests feed with clicks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from millpond.embedded.clicks import ClickModel
from millpond.errors import MillpondError
from tests.embedded.demo_site import Site, demo_site
from tests.embedded.fake_engine import FakeEngine
from tests.waiting import eventually

pytestmark = pytest.mark.browser

ColorScheme = Literal["light", "dark"]


@pytest.fixture
def site() -> Iterator[Site]:
    engine = FakeEngine()
    with demo_site(engine) as served:
        yield served


@pytest.fixture
def model() -> ClickModel:
    return ClickModel()


Open = Callable[..., Page]
"""open_page(site, width=1280, path="", scheme="light") -> the page in a window of its own."""


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    contexts: list[BrowserContext] = []

    def opened(site: Site, width: int = 1280, path: str = "", scheme: ColorScheme = "light") -> Page:
        viewport: ViewportSize = {"width": width, "height": 812}
        contexts.append(browser.new_context(viewport=viewport, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.goto(site.url + path)
        return page

    yield opened
    for context in contexts:
        context.close()


def state(page: Page) -> str | None:
    return page.get_attribute("body", "data-state")


def text(page: Page, selector: str) -> str:
    return page.inner_text(selector)


def names(page: Page, selector: str) -> list[str]:
    """The names in a list of bars from top to bottom, as they are placed."""
    script = "list => [...list.querySelectorAll('li:not(.leaving)')]" + (
        ".sort((a, b) => a.style.getPropertyValue('--at') - b.style.getPropertyValue('--at'))"
        ".map(li => li.dataset.name)"
    )
    found: list[str] = page.eval_on_selector(selector, script)
    return found


def feed(site: Site, model: ClickModel, count: int) -> None:
    site.engine.feed([model.click(0) for _ in range(count)])


def test_numbers_change_by_themselves(open_page: Open, site: Site, model: ClickModel) -> None:
    feed(site, model, 1000)
    page = open_page(site)
    eventually(lambda: text(page, "#visits"), "1,000")
    feed(site, model, 234)
    eventually(lambda: text(page, "#visits"), "1,234")
    assert state(page) == "live"
    eventually(lambda: text(page, "#freshness"), lambda t: float(t) < 1000)
    eventually(lambda: text(page, "#rate"), lambda t: float(t) > 0)


def test_the_most_visited_pages_are_in_order_with_their_visits(open_page: Open, site: Site, model: ClickModel) -> None:
    feed(site, model, 3000)
    page = open_page(site)
    wanted = [row[0] for row in site.engine.query("SELECT url FROM url_visits ORDER BY visits DESC, url LIMIT 10")]
    eventually(lambda: names(page, "#urls"), wanted)
    home = site.engine.query("SELECT visits FROM url_visits WHERE url = './home'")[0][0]
    eventually(lambda: text(page, "#urls li[data-name='./home'] .count"), f"{home:,}")


def test_a_page_that_overtakes_another_moves_up(open_page: Open, site: Site, model: ClickModel) -> None:
    feed(site, model, 200)
    page = open_page(site)
    eventually(lambda: names(page, "#urls")[:1], ["./home"])
    rising = [model.click(0) for _ in range(4000)]
    site.engine.feed([click for click in rising if click.url == "./cart"])
    eventually(lambda: names(page, "#urls")[:1], ["./cart"])


def test_regions_have_their_visits_and_the_chosen_one_its_pages(open_page: Open, site: Site, model: ClickModel) -> None:
    feed(site, model, 3000)
    page = open_page(site)
    by_region = "SELECT regionid, SUM(visits) AS n FROM url_region_visits GROUP BY regionid ORDER BY n DESC, regionid"
    wanted = site.engine.query(by_region)
    eventually(lambda: names(page, "#regions"), [name for name, _ in wanted])
    eventually(lambda: text(page, f"#regions li[data-name='{wanted[0][0]}'] .count"), f"{wanted[0][1]:,}")
    assert page.input_value("#region") == wanted[0][0], "the busiest one at first"
    chosen = wanted[-1][0]
    page.select_option("#region", chosen)
    pages = f"SELECT url FROM url_region_visits WHERE regionid = '{chosen}' ORDER BY visits DESC, url LIMIT 5"
    eventually(lambda: names(page, "#region-urls"), [url for (url,) in site.engine.query(pages)])


def test_without_kinesis_the_regions_say_so_and_the_rest_is_live(
    open_page: Open, site: Site, model: ClickModel
) -> None:
    site.engine.region_failure = MillpondError("RELATION_NOT_FOUND", name="url_region_visits", suggestion="")
    feed(site, model, 50)
    page = open_page(site)
    eventually(lambda: (state(page), text(page, "#visits")), ("live", "50"))
    eventually(lambda: page.get_attribute("#regions", "data-empty"), "No users from Kinesis on this server")
    assert page.is_disabled("#region")
    site.engine.region_failure = None
    feed(site, model, 50)
    eventually(lambda: page.is_enabled("#region"), True)


def test_a_visitor_can_be_picked_stepped_and_linked_to(open_page: Open, site: Site, model: ClickModel) -> None:
    feed(site, model, 3000)
    page = open_page(site, path="?user=User_5")
    eventually(lambda: page.input_value("#user"), "User_5")
    page.fill("#user", "User_9")
    page.press("#user", "Enter")
    visits = site.engine.query("SELECT SUM(visits) FROM user_url_device_visits WHERE userid = 'User_9'")[0][0]
    eventually(lambda: text(page, "#user-visits"), f"{visits:,}")
    assert page.url.endswith("?user=User_9")
    assert "WHERE userid = 'User_9'" in (page.text_content("#user-sql") or "")
    page.click("#next")
    eventually(lambda: page.input_value("#user"), lambda name: name != "User_9")
    page.fill("#user", "nobody <b>")
    page.press("#user", "Enter")
    eventually(lambda: text(page, "#user-visits"), "0")
    assert page.get_attribute("#user-urls", "data-empty") == "No visits of “nobody <b>” yet"


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_width_scrolls_sideways(
    open_page: Open, site: Site, model: ClickModel, width: int, scheme: ColorScheme
) -> None:
    feed(site, model, 400)
    page = open_page(site, width, "?user=a-visitor-with-a-name-that-never-seems-to-end", scheme)
    eventually(lambda: state(page), "live")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [375, 1280])
def test_figures_that_grow_move_nothing(open_page: Open, site: Site, model: ClickModel, width: int) -> None:
    page = open_page(site, width)
    eventually(lambda: state(page), "empty")
    parts = "document.querySelectorAll('section, h2, h3, ol, details')"
    places = f"[...{parts}].map(e => e.getBoundingClientRect().top)"
    before = page.evaluate(places)
    feed(site, model, 5000)
    eventually(lambda: text(page, "#visits"), "5,000")
    assert page.evaluate(places) == before


def test_a_server_that_goes_away_is_said_and_ridden_out(open_page: Open, model: ClickModel) -> None:
    engine = FakeEngine()
    with demo_site(engine) as site:
        feed(site, model, 10)
        page = open_page(site)
        eventually(lambda: state(page), "live")
    eventually(lambda: state(page), "lost")
    assert text(page, "#status") == "Connection lost"
    assert text(page, "#visits") == "10", "the last figures stay"
    assert page.is_visible("#notice")
    with demo_site(engine, site.port):
        feed(site, model, 5)
        eventually(lambda: (state(page), text(page, "#visits")), ("live", "15"))
        assert not page.is_visible("#notice")


def test_an_error_of_the_server_is_shown_as_a_lost_connection(open_page: Open, site: Site, model: ClickModel) -> None:
    feed(site, model, 10)
    page = open_page(site)
    eventually(lambda: state(page), "live")
    site.engine.failure = MillpondError("INTERNAL", reason="the views are closed", reference="x")
    eventually(lambda: state(page), "lost")
    site.engine.failure = None
    eventually(lambda: state(page), "live")


@pytest.mark.parametrize(
    ("failure", "expected", "words"),
    [
        (None, "empty", "have not seen a click yet"),
        (MillpondError("VIEW_NOT_READY", name="url_visits", progress="38 % read"), "filling", "38 % read"),
        (MillpondError("RELATION_NOT_FOUND", name="url_visits", suggestion=""), "absent", "millpond demo"),
    ],
    ids=["empty", "filling", "absent"],
)
def test_views_without_figures_say_why(
    open_page: Open, site: Site, failure: MillpondError | None, expected: str, words: str
) -> None:
    site.engine.failure = failure
    page = open_page(site)
    eventually(lambda: state(page), expected)
    assert words in text(page, "#notice")


def test_the_page_has_no_errors_and_asks_nobody_else(browser: Browser, site: Site, model: ClickModel) -> None:
    feed(site, model, 100)
    context = browser.new_context()
    page = context.new_page()
    errors: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(site.url)
    eventually(lambda: text(page, "#visits"), "100")
    context.close()
    assert errors == []
    assert all(url.startswith((site.url, "data:")) for url in asked)
