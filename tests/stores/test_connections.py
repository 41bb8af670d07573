"""The open connections of a server, one for each store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

import pytest

from millpond.catalog.catalog import Catalog
from millpond.errors import MillpondError
from millpond.stores import connections as home
from millpond.stores.connections import Connections
from millpond.stores.protocol import TopicDescription
from tests.catalog.examples import KAFKA


class CountedLog:
    """What `open_log` gives."""

    opened: ClassVar[list[Mapping[str, str]]] = []
    closed = 0

    def __init__(self, kind: str, properties: Mapping[str, str]) -> None:
        CountedLog.opened.append(dict(properties))

    def describe(self, topic: str) -> TopicDescription:
        if topic == "away":
            raise MillpondError("STORE_UNREACHABLE", store="x", reason="a test")
        raise MillpondError("TOPIC_NOT_FOUND", topic=topic, store="x")

    def close(self) -> None:
        CountedLog.closed += 1


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connections]:
    monkeypatch.setattr(home, "open_log", CountedLog)
    CountedLog.opened, CountedLog.closed = [], 0
    catalog = Catalog.in_memory()
    catalog.create_store(KAFKA, {"kafka.sasl.password": "hush"})
    yield Connections(catalog)
    catalog.close()


def test_a_store_is_connected_to_once(connections: Connections) -> None:
    assert connections.log("kafka") is connections.log("kafka")
    assert CountedLog.opened == [{"uris": "localhost:9092", "kafka.sasl.password": "hush"}]
    access = connections.access("kafka")
    assert (access.type, access.options) == ("KAFKA", {"bootstrap.servers": "localhost:9092"})
    connections.close()
    assert CountedLog.closed == 1


def test_a_store_that_changed_is_connected_to_anew(connections: Connections) -> None:
    first = connections.log("kafka")
    connections.catalog.update_store(replace(KAFKA, properties={"uris": "elsewhere:9092"}))
    assert connections.log("kafka") is not first
    connections.close()
    assert CountedLog.closed == 2


def test_what_a_store_does_not_have_is_none_and_what_is_away_is_an_error(connections: Connections) -> None:
    assert connections.topic("kafka", "nothing") is None
    with pytest.raises(MillpondError) as caught:
        connections.topic("kafka", "away")
    assert caught.value.name == "STORE_UNREACHABLE"
    with pytest.raises(MillpondError) as caught:
        connections.log("nothing")
    assert caught.value.name == "STORE_NOT_FOUND"
