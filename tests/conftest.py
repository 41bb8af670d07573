"""What tests of all areas share: a real broker and topics on it."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from millpond.embedded.broker import Broker
from millpond.jvm.locate import broker_classpath, find_java
from tests.kinesis_emulators import kinesis_url, moto_url

__all__ = ["kinesis_url", "moto_url"]

MakeTopic = Callable[..., str]
"""make(prefix="t", partitions=1, **settings) -> the name of a new topic of its own."""


def make_broker(data_dir: Path, port: int = 0) -> Broker:
    """A broker on `data_dir`, not started yet."""
    return Broker(data_dir, port, broker_classpath(), find_java())


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """One real Kafka broker for all tests, on a free port; `.uris` is its broker list."""
    with tempfile.TemporaryDirectory(prefix="millpond-broker-", ignore_cleanup_errors=True) as folder:
        started = make_broker(Path(folder))
        started.start()
        try:
            yield started
        finally:
            started.stop()


@pytest.fixture
def topic(broker: Broker) -> MakeTopic:
    """Makes topics with unique names on the shared broker: `topic("clicks", partitions=2, **settings)`."""
    return lambda prefix="t", partitions=1, **settings: create_topic(
        broker.uris, f"{prefix}_{uuid.uuid4().hex[:8]}", partitions, settings
    )


def create_topic(uris: str, name: str, partitions: int = 1, settings: dict[str, str] | None = None) -> str:
    """Create topic `name` and wait until it is there; its name."""
    from confluent_kafka.admin import AdminClient, NewTopic

    new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=settings or {})
    admin = AdminClient({"bootstrap.servers": uris})
    admin.create_topics([new])[name].result(30)
    return name


# The first three switches are needed in containers; the others keep the browser from calling home.
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, headless. Ended with its module: its event loop would stand in the way of asynchronous tests."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(SWITCHES))
        yield launched
        launched.close()
