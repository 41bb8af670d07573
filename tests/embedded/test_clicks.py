"""The clicks that the demo sends: repeatable, plausible, and as many a second as was asked."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from millpond.embedded.broker import Broker
from millpond.embedded.click_generator import ClickGenerator
from millpond.embedded.clicks import URLS, Click, ClickModel
from tests.conftest import MakeTopic
from tests.kafka_records import read
from tests.waiting import eventually


def drawn(count: int, seed: int = 77) -> list[Click]:
    model = ClickModel(seed)
    return [model.click(i) for i in range(count)]


def test_the_same_seed_draws_the_same_clicks() -> None:
    assert drawn(500) == drawn(500)
    assert drawn(500) != drawn(500, seed=78)


def test_the_times_given_do_not_change_what_is_drawn() -> None:
    one, other = ClickModel(), ClickModel()
    assert [one.click(i).url for i in range(100)] == [other.click(0).url for _ in range(100)]


def test_few_pages_have_most_of_the_visits_and_none_has_none() -> None:
    visits = Counter(click.url for click in drawn(20_000))
    assert set(visits) == set(URLS)
    assert visits.most_common(1)[0][0] == "./home"
    assert sum(n for _, n in visits.most_common(5)) > 20_000 / 2


def test_a_user_has_one_to_three_devices_of_different_kinds_each_at_one_address() -> None:
    clicks = drawn(20_000)
    devices: dict[str, set[str]] = {}
    addresses: dict[str, set[str]] = {}
    for click in clicks:
        devices.setdefault(click.userid, set()).add(click.device_id)
        addresses.setdefault(click.device_id, set()).add(click.ip)
    assert 150 < len(devices) <= 200
    assert all(1 <= len({d.split("-")[0] for d in owned}) == len(owned) <= 3 for owned in devices.values())
    assert all(len(found) == 1 for found in addresses.values())


def test_a_click_is_written_as_the_stream_declares_it() -> None:
    click = Click(1_700_000_000_000, "phone-1", "./home", "192.0.2.1", "User_7")
    assert list(json.loads(click.json()).items()) == [
        ("event_time", 1_700_000_000_000),
        ("device_id", "phone-1"),
        ("url", "./home"),
        ("ip", "192.0.2.1"),
        ("userid", "User_7"),
    ]


@pytest.mark.broker
def test_what_is_counted_is_what_the_topic_holds(broker: Broker, topic: MakeTopic) -> None:
    name = topic("clicks")
    generator = ClickGenerator(broker.uris, name, rate=500)
    generator.start()
    eventually(lambda: generator.counts().total(), lambda n: n > 300)
    generator.stop()
    records = read(broker.uris, name)
    values = [json.loads(r.value or b"") for r in records]
    assert Counter((v["userid"], v["url"], v["device_id"]) for v in values) == generator.counts()
    assert all(r.key == v["userid"].encode() for r, v in zip(records, values, strict=True))
    # Event time is the moment of sending, which is also the record's own time.
    assert all(abs(r.timestamp - v["event_time"]) < 1000 for r, v in zip(records, values, strict=True))


@pytest.mark.broker
@pytest.mark.parametrize("rate", [50, 1000])
def test_clicks_come_steadily_at_the_rate_asked(broker: Broker, topic: MakeTopic, rate: int) -> None:
    name = topic("paced")
    generator = ClickGenerator(broker.uris, name, rate=rate)
    generator.start()
    eventually(lambda: generator.counts().total(), lambda n: n > 2 * rate)
    generator.stop()
    times = [json.loads(r.value or b"")["event_time"] for r in read(broker.uris, name)]
    seconds = (times[-1] - times[0]) / 1000
    assert len(times) / seconds == pytest.approx(rate, rel=0.15)


@pytest.mark.broker
def test_the_rate_can_change_while_it_runs(broker: Broker, topic: MakeTopic) -> None:
    generator = ClickGenerator(broker.uris, topic("changing"), rate=0)
    generator.start()
    generator.set_rate(2000)
    eventually(lambda: generator.counts().total(), lambda n: n > 1000)
    generator.set_rate(0)
    generator.stop()
