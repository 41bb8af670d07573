"""What a new query's topics are like, and in which stores: inferred where the source says it, else asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millpond.errors import MillpondError
from millpond.plan import stages as sg
from millpond.plan.dead_letters import dead_letter_places
from tests.catalog.examples import KAFKA
from tests.plan.planning import Session, Topic, stage_of, stages_of

STORES = ("CONFLUENT_KAFKA", "KINESIS", "KINESIS")


@pytest.fixture
def session() -> Session:
    """The stream `clicks` in `kafka`, and `taps` in `k1`, which is not Kafka's."""
    made = Session(topics={"clicks": Topic(4, 3), "taps": Topic(8, 1)})
    for number, kind in enumerate(STORES):
        made.catalog.create_store(replace(KAFKA, name=f"k{number}", type=kind))
    made.run("CREATE STREAM clicks (url VARCHAR) WITH ('value.format' = 'json')")
    made.run("CREATE STREAM taps (url VARCHAR) WITH ('value.format' = 'json', 'store' = 'k1')")
    return made


def topics(session: Session, sql: str) -> list[tuple[str, str, int | None, int | None]]:
    return [(s.store, s.topic, s.partitions, s.replicas) for s in stages_of(session.plan(sql), sg.EnsureTopic)]


def test_a_topic_in_another_store_of_the_same_kind_is_like_the_sources(session: Session) -> None:
    sql = "CREATE STREAM copy WITH ('store' = 'k0') AS SELECT * FROM clicks"
    letters = ("k0", "dead-letters.default.public.copy", None, None)
    assert topics(session, sql) == [("k0", "copy", 4, 3), letters]


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ("", "'topic.partitions' = 1, 'topic.replicas' = 1"),
        (", 'topic.partitions' = 2", "'topic.replicas' = 1"),
        (", 'topic.replicas' = 2", "'topic.partitions' = 1"),
    ],
)
def test_what_another_kind_of_store_does_not_say_must_be_given(session: Session, given: str, missing: str) -> None:
    with pytest.raises(MillpondError) as caught:
        session.plan(f"CREATE STREAM copy WITH ('store' = 'kafka'{given}) AS SELECT * FROM taps")
    assert caught.value.name == "MISSING_PROPERTY"
    assert caught.value.hint == f"Add {missing} to its WITH list."


def test_given_counts_are_enough(session: Session) -> None:
    sql = "CREATE STREAM copy WITH ('topic.partitions' = 2, 'topic.replicas' = 1) AS SELECT * FROM taps"
    assert topics(session, sql)[0] == ("kafka", "copy", 2, 1)


def test_a_topic_that_is_there_needs_no_counts(session: Session) -> None:
    session.topics = {**session.topics, "copy": Topic(7, 1)}
    assert topics(session, "CREATE STREAM copy AS SELECT * FROM taps")[0] == ("kafka", "copy", None, None)


def test_a_views_own_topic_needs_no_counts(session: Session) -> None:
    found = topics(session, "CREATE MATERIALIZED VIEW v AS SELECT url, count(*) AS n FROM taps GROUP BY url")
    assert found[0][2:] == (None, None)


COUNTS = "'topic.partitions' = 1, 'topic.replicas' = 1"
LETTERS = {
    f"CREATE STREAM a WITH ({COUNTS}) AS SELECT * FROM taps": "kafka",
    "CREATE STREAM a WITH ('store' = 'k1', 'topic.shards' = 1) AS SELECT * FROM clicks": "kafka",
    "CREATE STREAM a WITH ('store' = 'k2') AS SELECT * FROM taps": "kafka",
    "CREATE STREAM a AS SELECT * FROM clicks WITH ('source.deserialization.error.log.store' = 'k0')": "k0",
}


@pytest.mark.parametrize(("sql", "store"), LETTERS.items())
def test_dead_letters_are_kept_in_a_store_of_kafkas(session: Session, sql: str, store: str) -> None:
    places = dead_letter_places(stage_of(session.plan(sql), sg.StartQuery).plan)
    assert [p.store for p in places] == [store]


def test_a_stream_of_kinesis_has_the_shards_of_its_source_or_those_given(session: Session) -> None:
    sql = "CREATE STREAM copy WITH ('store' = 'k2'{}) AS SELECT * FROM {}"
    assert topics(session, sql.format("", "taps"))[0][:3] == ("k2", "copy", 8)
    assert topics(session, sql.format(", 'kinesis.shards' = 3", "clicks"))[0][:3] == ("k2", "copy", 3)
    with pytest.raises(MillpondError) as caught:
        session.plan(sql.format("", "clicks"))
    assert caught.value.name == "MISSING_PROPERTY" and "'topic.shards'" in str(caught.value)


@pytest.mark.parametrize(
    ("store", "name"),
    [
        ("k1", "topic.partitions"),
        ("k1", "topic.replicas"),
        ("k1", "kafka.topic.retention.ms"),
        ("kafka", "topic.shards"),
    ],
)
def test_properties_of_the_other_kind_of_store_are_refused(session: Session, store: str, name: str) -> None:
    for sql in (
        "CREATE STREAM other WITH ('store' = '{}', '{}' = 1) AS SELECT * FROM taps",
        "CREATE STREAM other (url VARCHAR) WITH ('value.format' = 'json', 'store' = '{}', '{}' = 1)",
    ):
        with pytest.raises(MillpondError) as caught:
            session.plan(sql.format(store, name))
        assert caught.value.name == "UNSUPPORTED" and f"'{name}'" in str(caught.value)


def test_a_changelog_in_kinesis_asks_for_no_compaction(session: Session) -> None:
    sql = "CREATE CHANGELOG n WITH ('store' = 'k1') AS SELECT url, count(*) AS n FROM taps GROUP BY url"
    assert stages_of(session.plan(sql), sg.EnsureTopic)[0].config == {}


def test_a_views_changelog_lies_where_it_can_be_compacted(session: Session) -> None:
    sql = "CREATE MATERIALIZED VIEW v{} AS SELECT url, count(*) AS n FROM taps GROUP BY url"
    with pytest.raises(MillpondError) as caught:
        session.plan(sql.format(" WITH ('store' = 'k1')"))
    assert caught.value.name == "UNSUPPORTED"
    session.context = replace(session.context, store="k1")
    assert topics(session, sql.format(""))[0][0] == "kafka"


def test_a_views_topic_is_a_new_one(session: Session) -> None:
    with pytest.raises(MillpondError) as caught:
        session.plan("CREATE MATERIALIZED VIEW v WITH ('topic' = 'taps', 'store' = 'k0') AS SELECT url FROM clicks")
    assert caught.value.name == "TOPIC_TAKEN"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE STREAM copy WITH ('topic' = 'clicks') AS SELECT * FROM clicks",
        "CREATE CHANGELOG n WITH ('topic' = 'clicks') AS SELECT url, count(*) AS n FROM clicks GROUP BY url",
        "CREATE MATERIALIZED VIEW v WITH ('topic' = 'clicks') AS SELECT url FROM clicks",
        "INSERT INTO clicks SELECT url FROM clicks",
    ],
)
def test_a_query_does_not_read_what_it_writes(session: Session, sql: str) -> None:
    with pytest.raises(MillpondError) as caught:
        session.plan(sql)
    assert caught.value.name == "FEEDS_ITSELF"
