"""What /healthz says of the stores."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from millpond.errors import MillpondError
from millpond.serve import reachability
from millpond.serve.reachability import Reachability


class Stores:
    """`broken` ones raise, `silent` ones answer when `released` is set."""

    def __init__(self) -> None:
        self.names = ["kafka", "kinesis"]
        self.broken: set[str] = set()
        self.silent: set[str] = set()
        self.released = threading.Event()
        self.asked: list[str] = []

    def reach(self, name: str) -> None:
        self.asked.append(name)
        if name in self.silent:
            self.released.wait(10)
        if name in self.broken:
            raise MillpondError("STORE_CONNECTION_REFUSED", store="h:1")


@pytest.fixture
def stores() -> Iterator[Stores]:
    made = Stores()
    yield made
    made.released.set()


@pytest.fixture
def reached(stores: Stores) -> Iterator[Reachability]:
    made = Reachability(lambda: stores.names, stores.reach)
    yield made
    made.close()


async def test_each_store_is_ok_or_has_its_error(stores: Stores, reached: Reachability) -> None:
    stores.broken = {"kinesis"}
    found = await reached.states()
    assert found["kafka"] == "ok"
    assert found["kinesis"] == "STORE_CONNECTION_REFUSED: Nothing listens at 'h:1'."


async def test_an_answer_is_kept_for_a_while(
    stores: Stores, reached: Reachability, monkeypatch: pytest.MonkeyPatch
) -> None:
    await reached.states()
    await reached.states()
    assert sorted(stores.asked) == ["kafka", "kinesis"]
    monkeypatch.setattr(reachability, "KEEP_SECONDS", -1.0)
    stores.names = ["kafka"]
    stores.broken = {"kafka"}
    assert list(await reached.states()) == ["kafka"]
    assert len(stores.asked) == 3


async def test_a_silent_store_holds_nobody_up_and_is_asked_once(stores: Stores, reached: Reachability) -> None:
    stores.silent = {"kinesis"}
    assert await reached.states(0.05) == {"kafka": "ok", "kinesis": reachability.UNKNOWN}
    assert (await reached.states(0.05))["kinesis"] == reachability.UNKNOWN
    assert stores.asked.count("kinesis") == 1
    stores.released.set()
    assert (await reached.states())["kinesis"] == "ok"


async def test_what_was_known_long_ago_is_not_told(
    stores: Stores, reached: Reachability, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await reached.states())["kafka"] == "ok"
    stores.silent = {"kafka"}
    monkeypatch.setattr(reachability, "KEEP_SECONDS", -1.0)
    assert (await reached.states(0.05))["kafka"] == "ok"
    monkeypatch.setattr(reachability, "STALE_SECONDS", -1.0)
    assert (await reached.states(0.05))["kafka"] == reachability.UNKNOWN
