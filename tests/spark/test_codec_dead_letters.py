"""Dead letters on a real broker: what they say, what is cut off, what happens when they cannot be sent."""

from __future__ import annotations

from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession

from millpond.embedded.broker import Broker
from millpond.spark.codec import decode, lost_dead_letters, undecodable_count
from millpond.types import BIGINT, Column
from tests.conftest import MakeTopic
from tests.kafka_records import read
from tests.spark.test_codec import records_frame

pytestmark = [pytest.mark.spark, pytest.mark.broker]

N = (Column("n", BIGINT),)


def decoded(frame: DataFrame, query_id: str, bootstrap: str, topic: str, error_handling: str = "LOG") -> int:
    """Decode all records; how many came through."""
    row = decode(
        N,
        "json",
        query_id=query_id,
        error_handling=error_handling,
        dead_letter_topic=topic,
        producer={"bootstrap.servers": bootstrap},
    )
    return sum(r.r is not None for r in frame.select(row.alias("r")).collect())


def test_a_dead_letter_has_the_raw_bytes_the_place_and_the_reason(
    spark: SparkSession, broker: Broker, topic: MakeTopic
) -> None:
    dead = topic("dead")
    frame = records_frame(spark, [b'{"n":1}', b'{"n":"x"}', None], [None, b"\x00key", None])
    assert decoded(frame, "letters", broker.uris, dead) == 1
    assert (undecodable_count("letters"), lost_dead_letters("letters")) == (1, 0)
    [letter] = read(broker.uris, dead)
    assert (letter.key, letter.value) == (b"\x00key", b'{"n":"x"}')
    assert dict(letter.headers) == {
        "mp.topic": b"t",
        "mp.partition": b"0",
        "mp.offset": b"1",
        "mp.reason": b"column 'n': 'x' is not a BIGINT",
        "mp.query": b"letters",
    }


def test_a_record_too_large_for_the_topic_leaves_its_beginning(
    spark: SparkSession, broker: Broker, topic: MakeTopic
) -> None:
    dead = topic("dead", **{"max.message.bytes": "200000"})
    # Bytes that do not compress: the limit is on what is sent.
    noise = Random(1).randbytes(500_000)
    decoded(records_frame(spark, [noise]), "large", broker.uris, dead)
    [letter] = read(broker.uris, dead)
    assert letter.value == noise[:65536]
    assert dict(letter.headers)["mp.truncated"] == b"0,500000"


def test_ignored_records_are_counted_and_not_kept(spark: SparkSession, broker: Broker, topic: MakeTopic) -> None:
    dead = topic("dead")
    decoded(records_frame(spark, [b"x", b"y"]), "ignored", broker.uris, dead, "IGNORE")
    assert read(broker.uris, dead) == []
    assert undecodable_count("ignored") == 2


def test_a_dead_letter_topic_that_cannot_be_reached_does_not_stop_the_query(spark: SparkSession) -> None:
    frame = records_frame(spark, [b"x"] * 1000 + [b'{"n":1}'])
    assert decoded(frame, "unreachable", "127.0.0.1:1", "nowhere") == 1
    assert (undecodable_count("unreachable"), lost_dead_letters("unreachable")) == (1000, 1000)
