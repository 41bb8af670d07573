"""`millpond demo` as a user runs it, its page looked at in a real browser while the clicks come in."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from millpond.embedded.ports import free_port
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.browser, pytest.mark.timeout(600)]

SECONDS = int(os.environ.get("DEMO_SECONDS", "40"))
PICTURES = os.environ.get("DEMO_PICTURES")
"""A folder for screenshots: how docs/images was made."""


def test_the_demo_shows_live_figures_ends_by_itself_and_its_views_are_right(tmp_path: Path, browser: Browser) -> None:
    port = free_port()
    command = [sys.executable, "-m", "millpond.cli.main", "demo", "--rate", "100", "--seconds", str(SECONDS)]
    command += ["--port", str(port), "--data-dir", str(tmp_path / "data")]
    ports = {"MILLPOND_KAFKA_PORT": str(free_port()), "MILLPOND_KINESIS_PORT": str(free_port())}
    environment = {**os.environ, **ports}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as demo:
        try:
            look(browser, f"http://127.0.0.1:{port}/demo/")
            output, _ = demo.communicate(timeout=SECONDS + 240)
        finally:
            demo.kill()
    text = output.decode()
    assert demo.returncode == 0, text[-2000:]
    assert "each view holds exactly these" in text
    assert "url_visits" in text
    assert "url_region_visits" in text, "its recount is one of those that are compared"


def look(browser: Browser, url: str) -> None:
    eventually(lambda: urllib.request.urlopen(url, timeout=2).status, 200, 240)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(url)
    eventually(lambda: number(page, "visits") > 0, True, 120)
    before = number(page, "visits")
    eventually(lambda: number(page, "visits") > before + 200, True, 60)
    eventually(lambda: page.locator("#urls li").count(), 10, 30)
    eventually(lambda: 50 < number(page, "rate") < 150, True, 60)
    eventually(lambda: 0 < number(page, "freshness") < 500, True, 60)
    eventually(lambda: page.locator("#user-urls li").count() > 0, True, 30)
    eventually(lambda: (page.locator("#regions li").count(), page.locator("#region-urls li").count()), (5, 5), 60)
    picture(page, "demo")
    page.set_viewport_size({"width": 375, "height": 812})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    picture(page, "demo-phone")
    page.close()


def number(page: Page, element: str) -> float:
    text = page.locator(f"#{element}").inner_text().replace(",", "").replace("\u202f", "").strip()
    return float("".join(c for c in text if c.isdigit() or c == ".") or 0)


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")
