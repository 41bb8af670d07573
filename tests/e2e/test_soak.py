"""kill -9 again and again, at moments chosen by chance, for SOAK_MINUTES: `make soak`."""

from __future__ import annotations

import os
import random
import threading
import time

import pytest

from tests.e2e.clicks import Click, make_clicks, send
from tests.e2e.server_process import ServerProcess
from tests.e2e.test_crash import Watcher, create, equal_to_recount, written_once

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(0)]

ROUND = 2_000
"""Clicks between two kills."""


def test_views_equal_a_recount_after_every_one_of_many_kills(own_server: ServerProcess) -> None:
    chance = random.Random(1)
    end = time.monotonic() + 60 * float(os.environ.get("SOAK_MINUTES", "10"))
    server = own_server.start()
    create(server)
    sent: list[Click] = []
    with Watcher(server) as watcher:
        while time.monotonic() < end:
            fresh = make_clicks(ROUND, seed=len(sent), start=1_700_000_000_000 + 100 * len(sent))
            kill_after = chance.randrange(ROUND)
            sender = threading.Thread(target=send, args=(server.kafka, "clicks", fresh[:kill_after]))
            sender.start()
            sender.join()
            server.kill()
            server.start()
            send(server.kafka, "clicks", fresh[kill_after:])
            sent += fresh
            equal_to_recount(server, sent)
            written_once(server, sent)
            assert watcher.backwards == []
