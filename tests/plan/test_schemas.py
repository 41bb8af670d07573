"""Relations in Avro: where their columns come from, and what their registry is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from millpond.catalog.model import Relation, SchemaRegistry
from millpond.errors import MillpondError
from millpond.plan import stages as sg
from millpond.plan.planner import Planner
from millpond.sql.parser import parse
from millpond.types import BIGINT, VARCHAR, Column, Field, StructType
from tests.catalog.examples import KAFKA
from tests.plan.planning import Session, stage_of, stages_of

SCHEMAS = {
    ("orders", "value"): (Column("id", BIGINT), Column("Item", VARCHAR)),
    ("orders", "key"): (Column("id", BIGINT), Column("shopId", VARCHAR)),
    ("users", "value"): (Column("name", VARCHAR), Column("id", BIGINT)),
    ("users", "key"): (Column("id", BIGINT),),
    ("plain", "value"): (Column("id", BIGINT),),
    ("odd", "value"): (Column("_hidden", BIGINT),),
    ("oddly", "value"): (Column("id", BIGINT),),
    ("oddly", "key"): (Column("_hidden", BIGINT),),
}
AVRO = "'value.format' = 'avro', 'key.format' = 'avro'"


def lookup(_: str, topic: str, part: str, form: str) -> tuple[Column, ...]:
    if (topic, part) not in SCHEMAS:
        raise MillpondError("SUBJECT_NOT_FOUND", subject=f"{topic}-{part}", name="sr")
    return SCHEMAS[topic, part]


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
    return Planner(session.catalog, session.context, lambda *_: None, columns=lookup).plan(statement)


def test_a_stream_without_columns_has_those_of_its_topics_schema(session: Session) -> None:
    planned = plan(session, "CREATE STREAM s WITH ('topic' = 'orders', 'value.format' = 'avro')")
    assert stage_of(planned, sg.RegisterRelation).relation.columns == SCHEMAS["orders", "value"]
    assert stages_of(planned, sg.RegisterSchema) == []
    assert stage_of(plan(session, "CREATE STREAM Orders WITH ('value.format' = 'AVRO')"), sg.RegisterRelation)


def relation(session: Session, sql: str) -> Relation:
    return stage_of(plan(session, sql), sg.RegisterRelation).relation


def test_a_changelog_without_columns_has_the_primary_key_of_its_keys_schema(session: Session) -> None:
    users = relation(session, f"CREATE CHANGELOG users WITH ({AVRO})")
    assert (users.columns, users.primary_key, users.key_columns) == (SCHEMAS["users", "value"], ("id",), ("id",))
    assert users.key_type == StructType(fields=(Field("id", BIGINT),))
    assert users.excluded_columns == ()


def test_a_changelog_in_protobuf_takes_its_key_from_the_registry_too(session: Session) -> None:
    users = relation(session, f"CREATE CHANGELOG users WITH ({AVRO.replace('avro', 'protobuf')})")
    assert (users.primary_key, users.key_format) == (("id",), "protobuf")


def test_what_only_the_key_has_is_a_column_that_the_value_does_not_carry(session: Session) -> None:
    orders = relation(session, f"CREATE CHANGELOG o WITH ('topic' = 'orders', {AVRO})")
    assert [c.name for c in orders.columns] == ["shopId", "id", "Item"]
    assert orders.primary_key == ("id", "shopId")
    assert orders.excluded_columns == ("shopId",)


def test_a_stream_without_columns_has_the_key_type_of_its_keys_schema(session: Session) -> None:
    orders = relation(session, f"CREATE STREAM o WITH ('topic' = 'orders', {AVRO})")
    assert orders.columns == SCHEMAS["orders", "value"]
    assert orders.key_type == StructType(fields=(Field("id", BIGINT), Field("shopId", VARCHAR)))
    named = relation(session, f"CREATE STREAM p WITH ('topic' = 'plain', {AVRO}, 'key.type' = 'VARCHAR')")
    assert named.key_type == VARCHAR


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("CREATE STREAM s WITH ('topic' = 'odd', 'value.format' = 'avro')", "RESERVED_NAME"),
        ("CREATE STREAM s WITH ('topic' = 'orders', 'value.format' = 'json')", "UNSUPPORTED"),
        ("CREATE CHANGELOG s WITH ('topic' = 'orders', 'value.format' = 'avro')", "BAD_KEY"),
        (f"CREATE CHANGELOG s WITH ('topic' = 'plain', {AVRO})", "SUBJECT_NOT_FOUND"),
        (f"CREATE STREAM s WITH ('topic' = 'plain', {AVRO})", "SUBJECT_NOT_FOUND"),
        (f"CREATE CHANGELOG s WITH ('topic' = 'orders', {AVRO}, 'key.type' = 'BIGINT')", "BAD_KEY"),
        (f"CREATE CHANGELOG s WITH ('topic' = 'oddly', {AVRO})", "RESERVED_NAME"),
        (f"CREATE CHANGELOG s (id BIGINT) WITH ({AVRO})", "BAD_KEY"),
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


class OneMessage:
    """A descriptor source `d` with the message shop.Order of one field."""

    def find(self, name: str) -> tuple[str, str]:
        if name.removeprefix("shop.") != "Order":
            raise MillpondError("DESCRIPTOR_NOT_FOUND", name=name, suggestion="")
        return "d", "shop.Order"

    def columns(self, source: str, name: str) -> tuple[Column, ...]:
        return (Column("id", BIGINT),)

    def check(self, source: str, name: str, columns: Sequence[Column], written: bool) -> None:
        self.checked = (source, name, [c.name for c in columns], written)


def plan_protobuf(session: Session, sql: str) -> tuple[sg.Planned, OneMessage]:
    (statement,) = parse(sql)
    known = OneMessage()
    planner = Planner(
        session.catalog,
        session.context,
        lambda *_: None,
        columns=lambda _, topic, part, form: SCHEMAS[topic, part],
        descriptors=known,
    )
    return planner.plan(statement), known


def test_a_descriptor_comes_before_the_registry_and_is_kept_with_its_source(session: Session) -> None:
    by_registry, _ = plan_protobuf(session, "CREATE STREAM s WITH ('topic' = 'orders', 'value.format' = 'protobuf')")
    assert stage_of(by_registry, sg.RegisterRelation).relation.columns == SCHEMAS["orders", "value"]
    sql = "CREATE STREAM s WITH ('topic' = 'orders', 'value.format' = 'protobuf', 'value.descriptor.name' = 'Order')"
    by_descriptor, known = plan_protobuf(session, sql)
    relation = stage_of(by_descriptor, sg.RegisterRelation).relation
    assert relation.columns == (Column("id", BIGINT),)
    assert relation.descriptor("value") == ("d", "shop.Order")
    assert known.checked == ("d", "shop.Order", ["id"], False)


def test_a_querys_sink_in_protobuf_registers_its_columns_or_is_checked_against_its_message(session: Session) -> None:
    session.run("CREATE STREAM s (id BIGINT, item VARCHAR) WITH ('value.format' = 'protobuf', 'topic.partitions' = 1)")
    made = session.run("CREATE STREAM t WITH ('key.format' = 'protobuf', 'key.columns' = 'id') AS SELECT * FROM s")[-1]
    assert stages_of(made, sg.RegisterSchema) == [
        sg.RegisterSchema("kafka", "t-value", (Column("id", BIGINT), Column("item", VARCHAR)), "protobuf"),
        sg.RegisterSchema("kafka", "t-key", (Column("id", BIGINT),), "protobuf"),
    ]
    sql = "CREATE STREAM u WITH ('value.descriptor.name' = 'shop.Order') AS SELECT id FROM s"
    planned, known = plan_protobuf(session, sql)
    assert stages_of(planned, sg.RegisterSchema) == []
    assert known.checked == ("d", "shop.Order", ["id"], True)


def test_keys_that_go_through_keep_their_message(session: Session) -> None:
    given = (
        "CREATE STREAM s (id BIGINT, item VARCHAR) WITH ('value.format' = 'json', 'key.format' = 'protobuf', "
        "'key.type' = 'STRUCT<id BIGINT>', 'key.descriptor.name' = 'Order', 'topic.partitions' = 1)"
    )
    relation = stage_of(plan_protobuf(session, given)[0], sg.RegisterRelation).relation
    session.catalog.create_relation(relation)
    copy, _ = plan_protobuf(session, "CREATE STREAM t AS SELECT item FROM s")
    assert stage_of(copy, sg.RegisterRelation).relation.descriptor("key") == ("d", "shop.Order")


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("CREATE STREAM s (a INT) WITH ('value.format' = 'json', 'value.descriptor.name' = 'Order')", "BAD_PROPERTY"),
        (
            "CREATE STREAM s (a INT) WITH ('value.format' = 'protobuf', 'value.descriptor.name' = 'X')",
            "DESCRIPTOR_NOT_FOUND",
        ),
        ("CREATE STREAM s (\"no name\" BIGINT) WITH ('value.format' = 'protobuf')", "NO_PROTOBUF_FORM"),
        ("CREATE STREAM s (a ARRAY<ARRAY<BIGINT>>) WITH ('value.format' = 'protobuf')", "NO_PROTOBUF_FORM"),
        (
            "CREATE STREAM s (a INT) WITH ('value.format' = 'json', 'key.format' = 'protobuf', 'key.type' = 'INT')",
            "BAD_KEY",
        ),
    ],
)
def test_what_has_no_form_in_protobuf_is_refused(session: Session, sql: str, error: str) -> None:
    with pytest.raises(MillpondError) as caught:
        plan_protobuf(session, sql)
    assert caught.value.name == error


def test_without_a_registry_and_a_descriptor_nothing_says_which_message_it_is() -> None:
    with pytest.raises(MillpondError) as caught:
        Session().run("CREATE STREAM s (id BIGINT) WITH ('value.format' = 'protobuf')")
    assert caught.value.name == "NO_PROTOBUF_SCHEMA"
