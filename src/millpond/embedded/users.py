"""The people of the invented web shop, the region each lives in, and who has moved where since when."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import orjson

REGIONS = ("Harbour", "Lakeside", "Highlands", "Old Town", "Valley")
REGION_WEIGHTS = (0.34, 0.25, 0.18, 0.14, 0.09)
FIRST_NAMES = ("Ada", "Bela", "Clara", "Daan", "Elif", "Femi", "Goran", "Hana", "Ines", "Jonas", "Kofi", "Lena")
LAST_NAMES = ("Ashby", "Brook", "Carver", "Dale", "Eddy", "Ford", "Grist", "Holm", "Ives", "Kessel", "Lock", "Miller")
REGISTERED = 1_700_000_000_000
"""Epoch ms at which all of them were there: long before the first click."""


@dataclass(frozen=True, slots=True)
class User:
    """One version of a user: lives in `regionid` from `updated_at` on, epoch milliseconds."""

    userid: str
    name: str
    regionid: str
    updated_at: int

    def json(self) -> bytes:
        return orjson.dumps(asdict(self))


class UserDirectory:
    """Who lived where when; the same seed makes the same users. One thread writes, others may ask meanwhile."""

    def __init__(self, seed: int = 77, count: int = 1000) -> None:
        self._random = random.Random(seed)
        self._versions: dict[str, tuple[User, ...]] = {u.userid: (u,) for u in map(self._user, range(1, count + 1))}

    def users(self) -> list[User]:
        """The first version of each."""
        return [versions[0] for versions in self._versions.values()]

    def learn(self, users: Iterable[User]) -> None:
        """Versions that are known from elsewhere or were announced; one of the same time takes the other's place."""
        for user in users:
            kept = (v for v in self._versions.get(user.userid, ()) if v.updated_at != user.updated_at)
            self._versions[user.userid] = tuple(sorted((*kept, user), key=lambda v: v.updated_at))

    def move(self, at: int) -> User:
        """Somebody will live elsewhere from `at` on. It is only drawn: `learn` it once it is announced."""
        known = self._random.choice(list(self._versions.values()))[-1]
        elsewhere = [region for region in REGIONS if region != known.regionid]
        return User(known.userid, known.name, self._random.choice(elsewhere), at)

    def region(self, userid: str, at: int) -> str | None:
        """Where a user lived at epoch milliseconds `at`; None if nobody knew."""
        versions = self._versions.get(userid, ())
        found = bisect_right(versions, at, key=lambda version: version.updated_at)
        return versions[found - 1].regionid if found else None

    def _user(self, number: int) -> User:
        name = f"{self._random.choice(FIRST_NAMES)} {self._random.choice(LAST_NAMES)}"
        region = self._random.choices(REGIONS, REGION_WEIGHTS)[0]
        return User(f"User_{number}", name, region, REGISTERED)
