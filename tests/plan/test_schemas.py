"""Relations in Avro: where their columns come from, and what their registry is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millpond.catalog.model import SchemaRegistry
from millpond.errors import MillpondError
from millpond.plan import stages as sg
from millpond.plan.planner import Planner
from millpond.sql.parser import parse
from millpond.types import BIGINT, VARCHAR, Column
from tests.catalog.examples import KAFKA
from tests.plan.planning import Session, stage_of, stages_of

SCHEMAS = {
    ("orders", "value"): (Column("id", BIGINT), Column("Item", VARCHAR)),
    ("odd", "value"): (Column("_hidden", BIGINT),),
}


@pytest.fixture
def session() -> Session:
    made = Session()
    made.catalog.create_registry(SchemaRegistry("sr", "CONFLUENT", {"uris": "http://r"}, "sysadmin"))
    attached = {**KAFKA.properties, "schema_registry.name": "sr"}
    made.catalog.update_store(replace(KAFKA, properties=attached))
    return made


def plan(session: Session, sql: str) -> sg.Planned:
    """With a registry that knows `SCHEMAS`."""
    (statement,) = parse(sql)
    planner = Planner(
        session.catalog, session.context, lambda *_: None, columns=lambda _, topic, part: SCHEMAS[topic, part]
    )
    return planner.plan(statement)


def test_a_stream_without_columns_has_those_of_its_topics_schema(session: Session) -> None:
    planned = plan(session, "CREATE STREAM s WITH ('topic' = 'orders', 'value.format' = 'avro')")
    assert stage_of(planned, sg.RegisterRelation).relation.columns == SCHEMAS["orders", "value"]
    assert stages_of(planned, sg.RegisterSchema) == []
    assert stage_of(plan(session, "CREATE STREAM Orders WITH ('value.format' = 'AVRO')"), sg.RegisterRelation)


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("CREATE STREAM s WITH ('topic' = 'odd', 'value.format' = 'avro')", "RESERVED_NAME"),
        ("CREATE STREAM s WITH ('topic' = 'orders', 'value.format' = 'json')", "UNSUPPORTED"),
        ("CREATE CHANGELOG s WITH ('topic' = 'orders', 'value.format' = 'avro')", "BAD_KEY"),
        ("CREATE STREAM s (\"no name\" BIGINT) WITH ('value.format' = 'avro')", "NO_AVRO_FORM"),
        ("CREATE STREAM s (m MAP<BIGINT, BIGINT>) WITH ('value.format' = 'avro')", "NO_AVRO_FORM"),
    ],
)
def test_what_has_no_form_in_avro_is_refused(session: Session, sql: str, error: str) -> None:
    with pytest.raises(MillpondError) as caught:
        plan(session, sql)
    assert caught.value.name == error


def test_a_querys_sink_registers_what_it_writes_by_and_inherits_avro(session: Session) -> None:
    session.run("CREATE STREAM s (id BIGINT, item VARCHAR) WITH ('value.format' = 'avro', 'topic.partitions' = 1)")
    made = "CREATE STREAM t WITH ('key.format' = 'avro', 'key.columns' = 'id') AS SELECT item, id FROM s"
    planned = session.run(made)[-1]
    assert stage_of(planned, sg.RegisterRelation).relation.value_format == "avro"
    assert stages_of(planned, sg.RegisterSchema) == [
        sg.RegisterSchema("kafka", "t-value", (Column("item", VARCHAR), Column("id", BIGINT))),
        sg.RegisterSchema("kafka", "t-key", (Column("id", BIGINT),)),
    ]
    plain = session.run("CREATE STREAM u WITH ('value.format' = 'json') AS SELECT * FROM s")[-1]
    view = session.run("CREATE MATERIALIZED VIEW v AS SELECT item, count(*) AS n FROM s GROUP BY item")[-1]
    assert [*stages_of(plain, sg.RegisterSchema), *stages_of(view, sg.RegisterSchema)] == []
    into = session.run("INSERT INTO t SELECT item, id FROM s")[-1]
    assert [s.subject for s in stages_of(into, sg.RegisterSchema)] == ["t-value", "t-key"]
