from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from millpond.catalog.catalog import Catalog
from millpond.catalog.model import DescriptorSource, Index, SchemaRegistry
from tests.catalog.examples import furnish, ticking
from tests.serve.engine_world import CLICKS, EngineWorld


@pytest.fixture
def furnished() -> Iterator[Catalog]:
    """A catalog with a stream, a view with an index, the query between them, and a database `shop`."""
    catalog = Catalog.in_memory(ticking())
    _, visits, _ = furnish(catalog)
    catalog.create_index(Index("by_url", visits.id, ("url", "at"), 0))
    catalog.create_database("shop", "jane")
    catalog.create_registry(SchemaRegistry("sr", "CONFLUENT", {"uris": "http://h:8081"}, "jane"))
    catalog.create_descriptor_source(DescriptorSource("shop", "shop.desc", "", "jane"), b"")
    yield catalog
    catalog.close()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[EngineWorld]:
    """An engine of its own, with the stream `clicks`."""
    made = EngineWorld(tmp_path)
    await made.ask(CLICKS)
    yield made
    await made.close()
