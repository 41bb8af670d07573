"""The query that warms the JVM up ends by itself, leaves nothing behind, and gives way to a real one."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from millpond.embedded.broker import Broker
from millpond.embedded.ports import free_port
from millpond.errors import MillpondError
from millpond.spark.warm_up import WarmUp
from millpond.stores.access import StoreAccess
from tests.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.broker]


def warming(spark: SparkSession, uris: str) -> WarmUp:
    return WarmUp(spark, lambda: StoreAccess("KAFKA", {"bootstrap.servers": uris}))


def topics(broker: Broker) -> set[str]:
    return set(AdminClient({"bootstrap.servers": broker.uris}).list_topics(timeout=10).topics)


def test_it_ends_by_itself_and_nothing_is_left(spark: SparkSession, broker: Broker) -> None:
    before = topics(broker)
    warm_up = warming(spark, broker.uris)
    warm_up.start()
    assert warm_up.join(120)
    assert warm_up.failed is None
    assert spark.streams.active == []
    assert topics(broker) == before


def test_it_gives_way_to_a_real_query(spark: SparkSession, broker: Broker) -> None:
    warm_up = warming(spark, broker.uris)
    warm_up.start()
    eventually(lambda: len(spark.streams.active), 1, 60)
    warm_up.stop()
    assert warm_up.join(30)
    assert spark.streams.active == []


def test_a_broker_that_is_away_harms_nothing(spark: SparkSession) -> None:
    warm_up = warming(spark, f"127.0.0.1:{free_port()}")
    warm_up.start()
    assert warm_up.join(120)
    assert spark.streams.active == []


def test_secrets_that_cannot_be_read_harm_nothing(spark: SparkSession) -> None:
    def access() -> StoreAccess:
        raise MillpondError("SECRETS_UNREADABLE", what="the store", name="kafka", path="secret.key")

    warm_up = WarmUp(spark, access)
    warm_up.start()
    assert warm_up.join(30)
    assert isinstance(warm_up.failed, MillpondError)
