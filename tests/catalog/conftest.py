from __future__ import annotations

from collections.abc import Iterator

import pytest

from millpond.catalog.catalog import Catalog
from tests.catalog.examples import ticking


@pytest.fixture
def catalog() -> Iterator[Catalog]:
    made = Catalog.in_memory(ticking())
    yield made
    made.close()
