"""Clicks of an invented web shop: which visitor looks at what, deterministic by seed."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from itertools import accumulate

import orjson

URLS = (
    "./home",
    "./products",
    "./search",
    "./cart",
    "./products/rowing-boat",
    "./blog",
    "./checkout",
    "./products/waders",
    "./account",
    "./blog/how-a-mill-works",
    "./products/fishing-rod",
    "./offers",
    "./checkout/payment",
    "./products/lantern",
    "./blog/dragonflies",
    "./checkout/done",
    "./account/orders",
    "./products/picnic-blanket",
    "./help",
    "./about",
    "./blog/water-lilies",
    "./help/shipping",
    "./contact",
    "./help/returns",
    "./newsletter",
)
"""The pages, the most visited first."""

DEVICE_KINDS = (("phone", 0.55), ("laptop", 0.33), ("tablet", 0.12))
"""How often each kind is a visitor's favourite. A device's id starts with its kind: `phone-3f2a1`."""


@dataclass(frozen=True, slots=True)
class Click:
    """One event. `event_time` is epoch milliseconds."""

    event_time: int
    device_id: str
    url: str
    ip: str
    userid: str

    def json(self) -> bytes:
        return orjson.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Visitor:
    """A user with one to three devices of different kinds, the favourite first, each at its own address."""

    userid: str
    devices: tuple[tuple[str, str], ...]
    """(device_id, ip)."""


class ClickModel:
    """Draws clicks: pages and visitors by Zipf's law, so that few are seen very often and most now and then.

    The same seed draws the same sequence, whatever the times given.
    """

    def __init__(self, seed: int = 77, users: int = 200) -> None:
        self._random = random.Random(seed)
        self.visitors = tuple(self._visitor(f"User_{n}") for n in range(1, users + 1))
        self._user_weights = zipf(users, 0.6)
        self._url_weights = zipf(len(URLS), 0.95)

    def click(self, event_time: int) -> Click:
        """The next click, at `event_time`."""
        visitor = self._random.choices(self.visitors, cum_weights=self._user_weights)[0]
        url = self._random.choices(URLS, cum_weights=self._url_weights)[0]
        device_id, ip = visitor.devices[min(int(self._random.expovariate(1.2)), len(visitor.devices) - 1)]
        return Click(event_time, device_id, url, ip, visitor.userid)

    def _visitor(self, userid: str) -> Visitor:
        count = self._random.choices((1, 2, 3), (0.25, 0.45, 0.3))[0]
        kinds = sorted(DEVICE_KINDS, key=lambda kind: self._random.random() ** (1 / kind[1]), reverse=True)
        return Visitor(userid, tuple((self._device(kind), self._address()) for kind, _ in kinds[:count]))

    def _device(self, kind: str) -> str:
        return f"{kind}-{self._random.getrandbits(20):05x}"

    def _address(self) -> str:
        """One of the blocks kept for documentation, so that no real host is named."""
        block = self._random.choice(("192.0.2", "198.51.100", "203.0.113"))
        return f"{block}.{self._random.randint(1, 254)}"


def zipf(count: int, exponent: float) -> list[float]:
    """Cumulative weights of ranks 1 to `count`: rank r weighs r to the power of minus `exponent`."""
    return list(accumulate(rank**-exponent for rank in range(1, count + 1)))
