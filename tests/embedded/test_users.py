"""The users of the demo: repeatable, in a region at every moment, and known again after a restart."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from millpond.embedded import user_stream
from millpond.embedded.clicks import ClickModel
from millpond.embedded.user_stream import STREAM, UserStream
from millpond.embedded.users import REGIONS, REGISTERED, User, UserDirectory
from millpond.stores.memory import MemoryLog
from tests.waiting import eventually


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> MemoryLog:
    monkeypatch.setattr(user_stream, "MOVE_SECONDS", 0.01)
    monkeypatch.setattr(user_stream, "QUIET_SECONDS", 0.05)
    made = MemoryLog()
    made.create(STREAM)
    return made


def test_there_are_a_thousand_in_five_regions_and_every_visitor_is_one_of_them() -> None:
    users = UserDirectory().users()
    assert users == UserDirectory().users()
    assert len(users) == 1000
    assert set(Counter(user.regionid for user in users)) == set(REGIONS)
    assert {visitor.userid for visitor in ClickModel().visitors} <= {user.userid for user in users}


def test_a_user_is_in_the_region_of_the_latest_version_that_is_not_later() -> None:
    directory = UserDirectory()
    home = directory.region("User_1", REGISTERED)
    directory.learn([User("User_1", "Ada", "Moon", REGISTERED + 20), User("User_1", "Ada", "Mars", REGISTERED + 10)])
    asked = (-1, 0, 9, 10, 19, 20, 10**9)
    found = [directory.region("User_1", REGISTERED + after) for after in asked]
    assert found == [None, home, home, "Mars", "Mars", "Moon", "Moon"]
    assert directory.region("nobody", REGISTERED) is None


def test_who_moves_goes_elsewhere_and_counts_once_it_is_learned() -> None:
    directory = UserDirectory()
    moved = directory.move(REGISTERED + 5)
    before = directory.region(moved.userid, REGISTERED + 5)
    assert moved.regionid in REGIONS
    assert moved.regionid != before
    directory.learn([moved])
    assert directory.region(moved.userid, REGISTERED + 5) == moved.regionid


def regions(directory: UserDirectory, at: int) -> list[str | None]:
    return [directory.region(user.userid, at) for user in directory.users()]


def test_moves_are_announced_before_they_count_and_known_again_after_a_restart(log: MemoryLog) -> None:
    first, again = UserStream(log, UserDirectory()), UserStream(log, UserDirectory())
    first.fill()
    first.start()
    eventually(lambda: sum(log.end_offsets(STREAM).values()) > 1010, True)
    first.stop()
    written = log.end_offsets(STREAM)
    again.fill()
    assert log.end_offsets(STREAM) == written, "nobody is written twice"
    later = int(time.time() * 1000) + 10 * user_stream.NOTICE_MS
    at_first, at_last = regions(first.directory, REGISTERED), regions(first.directory, later)
    assert (regions(again.directory, REGISTERED), regions(again.directory, later)) == (at_first, at_last)
    assert at_first != at_last
    assert not first.late


def test_who_was_missing_is_written_when_it_begins_again(log: MemoryLog) -> None:
    half = UserDirectory(count=500)
    UserStream(log, half).fill()
    UserStream(log, UserDirectory()).fill()
    assert sum(log.end_offsets(STREAM).values()) == 1000


def test_a_store_that_goes_away_ends_the_moves_and_is_remembered(log: MemoryLog) -> None:
    users = UserStream(log, UserDirectory())
    users.fill()
    log.away = True
    users.start()
    eventually(lambda: users.late, True)
    users.stop()
