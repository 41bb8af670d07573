"""CREATE, UPDATE and DROP of stores, entities, registries: what is kept of a WITH list, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millpond.catalog.model import SchemaRegistry, Secrets, Store
from millpond.catalog.store_kinds import STORE_KINDS, secret_names
from millpond.errors import MillpondError, mask_secrets
from millpond.plan import stages as sg
from millpond.plan.attachments import Files, property_lines
from millpond.plan.explain import explain
from millpond.plan.planner import Planner
from millpond.sql.parser import parse
from tests.certificates import Authority
from tests.plan.planning import Session, Topic, stage_of

LOGIN = {"kafka.sasl.hash_function": "SHA512", "kafka.sasl.username": "ann"}
PASSWORD = {"kafka.sasl.password": "hush"}


@pytest.fixture(scope="module")
def session() -> Session:
    made = Session({"clicks": Topic(2, 1), "free": Topic(), "__consumer_offsets": Topic(50, 1)})
    made.run("CREATE STREAM clicks (url VARCHAR) WITH ('value.format' = 'json')")
    made.catalog.create_registry(SchemaRegistry("sr", "CONFLUENT", {"uris": "http://h:8081"}, "sysadmin"))
    made.catalog.create_store(Store("s", "KAFKA", {"uris": "a:1", **LOGIN}, "sysadmin", 0, 0), PASSWORD)
    made.catalog.create_store(Store("k", "KINESIS", {"access_region": "eu-west-1"}, "sysadmin", 0, 0))
    made.catalog.create_store(Store("same", "CONFLUENT_KAFKA", {"uris": "b:2, 127.0.0.1:9092"}, "sysadmin", 0, 0))
    attached = {"uris": "a:1", "schema_registry.name": "sr"}
    made.catalog.create_store(Store("attached", "KAFKA", attached, "sysadmin", 0, 0))
    return made


def plan(session: Session, sql: str, files: Files | None = None) -> sg.Planned:
    (statement,) = parse(sql)
    return Planner(session.catalog, session.context, lambda _, topic: session.topics.get(topic), files).plan(statement)


def kept(session: Session, given: str, files: Files | None = None) -> tuple[str, dict[str, str], dict[str, str]]:
    """Type, properties and secrets of the store that such a WITH list makes."""
    planned = plan(session, f"CREATE STORE new WITH ({given})", files)
    check, register = planned.stages
    assert isinstance(check, sg.CheckStore) and isinstance(register, sg.RegisterStore)
    assert (check.store, check.secrets) == (register.store, register.secrets)
    return register.store.type, dict(register.store.properties), dict(register.secrets)


KEPT = [
    ("'type' = KAFKA, 'uris' = 'a:1,b:2'", "KAFKA", {"uris": "a:1,b:2"}, {}),
    ("'type' = 'kafka', 'uris' = 'a:1', 'tls.disabled' = TRUE", "KAFKA", {"uris": "a:1", "tls.disabled": "true"}, {}),
    (
        "'type' = KAFKA, 'uris' = 'a:1', 'kafka.sasl.hash_function' = SHA512, 'kafka.sasl.username' = 'ann',"
        " 'kafka.sasl.password' = ' hush '",
        "KAFKA",
        {"uris": "a:1", **LOGIN},
        {"kafka.sasl.password": " hush "},
    ),
    (
        "'type'='KAFKA', 'uris'='a:1', 'access.region'=\"AWS us-east-1\", 'security.protocol'='SASL_SSL',"
        " 'sasl.mechanism'='SCRAM-SHA-512', 'sasl.username'='ann', 'sasl.password'='hush'",
        "KAFKA",
        {"uris": "a:1", "access_region": "us-east-1", "tls.disabled": "false", **LOGIN},
        PASSWORD,
    ),
    (
        "'type' = KAFKA, 'uris' = 'a:1', 'availability_zone' = 'us-east-1', 'kafka.schema_registry_name' = SR",
        "KAFKA",
        {"uris": "a:1", "access_region": "us-east-1", "schema_registry.name": "sr"},
        {},
    ),
    (
        "'type' = CONFLUENT_KAFKA, 'uris' = 'a:1', 'kafka.sasl.username' = 'ann', 'kafka.sasl.password' = 'hush'",
        "CONFLUENT_KAFKA",
        {"uris": "a:1", "kafka.sasl.hash_function": "PLAIN", "kafka.sasl.username": "ann"},
        PASSWORD,
    ),
    (
        "'type' = KAFKA, 'uris' = 'b-1.x.kafka.us-east-1.amazonaws.com:9198',"
        " 'kafka.sasl.hash_function' = AWS_MSK_IAM, 'kafka.msk.iam_role_arn' = 'arn:x'",
        "KAFKA",
        {
            "uris": "b-1.x.kafka.us-east-1.amazonaws.com:9198",
            "kafka.sasl.hash_function": "AWS_MSK_IAM",
            "kafka.msk.iam_role_arn": "arn:x",
        },
        {},
    ),
    (
        "'type' = KINESIS, 'access_region' = \"AWS us-east-1\", 'kinesis.access_key_id' = 'AK',"
        " 'kinesis.secret_access_key' = 'hush'",
        "KINESIS",
        {"access_region": "us-east-1"},
        {"kinesis.access_key_id": "AK", "kinesis.secret_access_key": "hush"},
    ),
    ("'type' = KINESIS, 'uris' = 'http://127.0.0.1:4567'", "KINESIS", {"uris": "http://127.0.0.1:4567"}, {}),
]


@pytest.mark.parametrize(("given", "kind", "properties", "secrets"), KEPT, ids=[case[0] for case in KEPT])
def test_what_is_kept_of_a_with_list(
    session: Session, given: str, kind: str, properties: dict[str, str], secrets: dict[str, str]
) -> None:
    assert kept(session, given) == (kind, properties, secrets)


def test_a_property_file_gives_what_the_statement_does_not(session: Session) -> None:
    text = b"# keys\n! too\nkinesis.access_key_id = AK\nkinesis.secret_access_key: h=u:sh\n\naccess_region=eu-west-1\n"
    given = "'type' = KINESIS, 'access_region' = 'us-east-1', 'config_file' = './kinesis.properties'"
    kind, properties, secrets = kept(session, given, {"kinesis.properties": text})
    assert (kind, properties) == ("KINESIS", {"access_region": "us-east-1"})
    assert secrets == {"kinesis.access_key_id": "AK", "kinesis.secret_access_key": "h=u:sh"}


def test_lines_of_a_property_file() -> None:
    assert dict(property_lines("A.b = 1\nc: d = e\n  # x\nbare\n")) == {"a.b": "1", "c": "d = e", "bare": ""}


@pytest.mark.parametrize("written", ["@ca.pem", "ca.pem", "./certs/ca.pem", "@certs/ca.pem"])
def test_a_certificate_comes_with_the_statement_and_means_tls(session: Session, written: str) -> None:
    pem = Authority().pem
    given = f"'type' = KAFKA, 'uris' = 'a:1', 'tls.ca_cert_file' = '{written}'"
    _, properties, secrets = kept(session, given, {"ca.pem": pem.encode()})
    assert properties == {"uris": "a:1", "tls.disabled": "false"}
    assert secrets == {"tls.ca_cert_file": pem}


def test_a_certificate_may_stand_in_the_statement_and_its_key_is_unlocked(session: Session) -> None:
    signed = Authority().sign("client")
    given = (
        f"'type' = KAFKA, 'uris' = 'a:1', 'tls.client.cert_file' = '{signed.certificate}',"
        f" 'tls.client.key_file' = '{signed.key}'"
    )
    _, _, secrets = kept(session, given)
    assert secrets == {"tls.client.cert_file": signed.certificate, "tls.client.key_file": signed.key}


REFUSED = [
    ("CREATE STORE n WITH ('uris' = 'a:1')", "MISSING_PROPERTY"),
    ("CREATE STORE n WITH ('type' = KAFKA)", "MISSING_PROPERTY"),
    ("CREATE STORE n WITH ('type' = PIGEON, 'uris' = 'a:1')", "BAD_PROPERTY"),
    ("CREATE STORE n WITH ('type' = SNOWFLAKE)", "UNSUPPORTED"),
    ("CREATE STORE n WITH ('type' = KAFKA, 'uri' = 'a:1')", "UNKNOWN_PROPERTY"),
    ("CREATE STORE n WITH ('type' = KAFKA, 'uris' = 'a:1', 'kinesis.access_key_id' = 'x')", "UNKNOWN_PROPERTY"),
    ("CREATE STORE n WITH ('type' = KAFKA, 'uris' = 'a:1', 'bootstrap.servers' = 'b:1')", "DUPLICATE_PROPERTY"),
    ("CREATE STORE n WITH ('type' = KAFKA, 'uris' = 'a:1', 'tls.disabled' = 'maybe')", "BAD_PROPERTY"),
    ("CREATE STORE n WITH ('type' = KAFKA, 'uris' = 'a:1', 'kafka.sasl.hash_function' = MD5)", "BAD_PROPERTY"),
    ("CREATE STORE n WITH ('type' = KAFKA, 'uris' = 'a:1', 'kafka.sasl.hash_function' = SHA256)", "MISSING_PROPERTY"),
    (
        "CREATE STORE n WITH ('type' = KAFKA, 'uris' = 'a:1', 'kafka.sasl.hash_function' = AWS_MSK_IAM)",
        "MISSING_PROPERTY",
    ),
    (
        "CREATE STORE n WITH ('type' = KAFKA, 'uris' = 'a:1', 'kafka.sasl.hash_function' = OAUTHBEARER)",
        "MISSING_PROPERTY",
    ),
    ("CREATE STORE n WITH ('type' = CONFLUENT_KAFKA, 'uris' = 'a:1')", "MISSING_PROPERTY"),
    ("CREATE STORE n WITH ('type' = KAFKA, 'uris' = 'a:1', 'kafka.sasl.password' = 'x')", "MISSING_PROPERTY"),
    ("CREATE STORE n WITH ('type' = KINESIS, 'uris' = 'http://ann:hush@h:1')", "BAD_PROPERTY"),
    ("CREATE SCHEMA_REGISTRY n WITH ('type' = CONFLUENT, 'uris' = 'http://ann:hush@h:1')", "BAD_PROPERTY"),
    ("CREATE STORE n WITH ('type' = KINESIS, 'rois' = 'x')", "UNKNOWN_PROPERTY"),
    ("CREATE STORE n WITH ('type' = KINESIS)", "MISSING_PROPERTY"),
    ("CREATE STORE n WITH ('type' = KINESIS, 'uris' = 'x', 'kinesis.access_key_id' = 'x')", "MISSING_PROPERTY"),
    ("CREATE STORE n WITH ('type' = KAFKA, 'uris' = 'a:1', 'schema_registry.name' = 'nobody')", "REGISTRY_NOT_FOUND"),
    ("CREATE STORE n WITH ('type' = KAFKA, 'uris' = 'a:1', 'tls.ca_cert_file' = '/etc/passwd')", "FILE_NOT_SENT"),
    ("CREATE STORE s WITH ('type' = KAFKA, 'uris' = 'a:1')", "DUPLICATE_STORE"),
    ("UPDATE STORE nobody WITH ('uris' = 'a:1')", "STORE_NOT_FOUND"),
    ("UPDATE STORE s WITH ('type' = KINESIS)", "BAD_PROPERTY"),
    ("UPDATE STORE s WITH ('topic.shards' = 3)", "UNKNOWN_PROPERTY"),
    ("DROP STORE nobody", "STORE_NOT_FOUND"),
    ("DROP STORE kafka", "DEPENDENTS_EXIST"),
    ("CREATE ENTITY clicks", "DUPLICATE_ENTITY"),
    ("CREATE ENTITY n IN STORE nobody", "STORE_NOT_FOUND"),
    ("CREATE ENTITY n WITH ('topic.shards' = 1)", "UNKNOWN_PROPERTY"),
    ("CREATE ENTITY n IN STORE k WITH ('topic.partitions' = 1)", "UNKNOWN_PROPERTY"),
    ("CREATE ENTITY n WITH ('topic.partitions' = 0)", "BAD_PROPERTY"),
    ("CREATE ENTITY n WITH ('topic.partitions' = 99999999999999)", "BAD_PROPERTY"),
    ("UPDATE ENTITY clicks WITH ('topic.partitions' = 99999999999999)", "BAD_PROPERTY"),
    ("CREATE ENTITY n WITH ('topic.partitions' = 1, 'kafka.partitions' = 1)", "DUPLICATE_PROPERTY"),
    ("UPDATE ENTITY n WITH ('topic.partitions' = 1)", "ENTITY_NOT_FOUND"),
    ("UPDATE ENTITY clicks WITH ('topic.replicas' = 2)", "UNSUPPORTED"),
    ("UPDATE ENTITY clicks WITH ('value.descriptor.name' = 'x')", "DESCRIPTOR_NOT_FOUND"),
    ("DROP ENTITY clicks", "DEPENDENTS_EXIST"),
    ("DROP ENTITY __consumer_offsets", "INTERNAL_TOPIC"),
    ("DROP ENTITY __CONSUMER_OFFSETS", "INTERNAL_TOPIC"),
    ("UPDATE ENTITY __consumer_offsets WITH ('topic.partitions' = 60)", "INTERNAL_TOPIC"),
    ("CREATE ENTITY __transaction_state", "INTERNAL_TOPIC"),
    (f"CREATE ENTITY {'n' * 250}", "BAD_TOPIC_NAME"),
    (f"CREATE ENTITY {'n' * 129} IN STORE k", "BAD_TOPIC_NAME"),
    ("DROP ENTITY clicks IN STORE same", "DEPENDENTS_EXIST"),
    ("DROP ENTITY n", "ENTITY_NOT_FOUND"),
    ("INSERT INTO ENTITY clicks VALUE('{}') WITH ('kye' = '1')", "UNKNOWN_PROPERTY"),
    ("CREATE SCHEMA_REGISTRY n WITH ('uris' = 'x')", "MISSING_PROPERTY"),
    ("CREATE SCHEMA_REGISTRY n WITH ('type' = CONFLUENT_CLOUD, 'uris' = 'x')", "MISSING_PROPERTY"),
    ("CREATE SCHEMA_REGISTRY sr WITH ('type' = CONFLUENT, 'uris' = 'x')", "DUPLICATE_REGISTRY"),
    ("UPDATE SCHEMA_REGISTRY nobody WITH ('uris' = 'x')", "REGISTRY_NOT_FOUND"),
    ("UPDATE SCHEMA_REGISTRY sr WITH ('type' = CONFLUENT_CLOUD)", "BAD_PROPERTY"),
    ("DROP SCHEMA_REGISTRY sr", "DEPENDENTS_EXIST"),
    ("DROP SCHEMA_REGISTRY nobody", "REGISTRY_NOT_FOUND"),
    ("CREATE DESCRIPTOR_SOURCE d WITH ('description' = 'x')", "MISSING_PROPERTY"),
    ("CREATE DESCRIPTOR_SOURCE d WITH ('file' = 'shop.desc')", "FILE_NOT_SENT"),
    ("DROP DESCRIPTOR_SOURCE nobody", "DESCRIPTOR_SOURCE_NOT_FOUND"),
]


@pytest.mark.parametrize(("sql", "name"), REFUSED, ids=[sql for sql, _ in REFUSED])
def test_what_does_not_fit_is_refused_by_name(session: Session, sql: str, name: str) -> None:
    with pytest.raises(MillpondError) as caught:
        plan(session, sql)
    assert caught.value.name == name
    assert str(caught.value) and caught.value.position is not None
    assert "hush" not in str(caught.value.located(sql, caught.value.position))


def test_the_sessions_own_store_is_not_dropped(session: Session) -> None:
    (statement,) = parse("DROP STORE s")
    context = replace(session.context, store="s")
    with pytest.raises(MillpondError) as caught:
        Planner(session.catalog, context, lambda *_: None).plan(statement)
    assert caught.value.name == "DEPENDENTS_EXIST" and "USE STORE" in caught.value.hint
    assert stage_of(plan(session, "DROP STORE s"), sg.UnregisterStore).store.name == "s"


def test_an_unknown_property_names_the_nearest_one(session: Session) -> None:
    with pytest.raises(MillpondError) as caught:
        plan(session, "CREATE STORE n WITH ('type' = KAFKA, 'uris' = 'a:1', 'kafka.sasl.pasword' = 'hush')")
    assert "kafka.sasl.password" in caught.value.hint
    assert "hush" not in str(caught.value.hint)


def test_if_not_exists_leaves_what_is_there(session: Session) -> None:
    for sql in (
        "CREATE STORE IF NOT EXISTS s WITH ('type' = KAFKA, 'uris' = 'b:1')",
        "CREATE ENTITY IF NOT EXISTS clicks",
        "CREATE SCHEMA_REGISTRY IF NOT EXISTS sr WITH ('type' = CONFLUENT, 'uris' = 'b')",
        "DROP STORE IF EXISTS nobody",
        "DROP ENTITY IF EXISTS nobody",
    ):
        assert plan(session, sql).stages == ()


def test_an_update_keeps_what_it_does_not_name(session: Session) -> None:
    stage = stage_of(
        plan(session, "UPDATE STORE s WITH ('uris' = 'b:1', 'kafka.sasl.password' = 'new')"), sg.ChangeStore
    )
    assert stage.store.properties == {"uris": "b:1", **LOGIN}
    assert stage.secrets == {"kafka.sasl.password": "new"}
    assert stage.before.properties["uris"] == "a:1"


ENTITIES = [
    ("CREATE ENTITY New", sg.CreateEntity("kafka", "New")),
    (
        "CREATE TOPIC n IN STORE s WITH ('kafka.partitions' = 3, 'topic.replicas' = 2, 'kafka.topic.retention.ms' = 5)",
        sg.CreateEntity("s", "n", 3, 2, {"retention.ms": "5"}),
    ),
    ("CREATE ENTITY n IN STORE k WITH ('kinesis.shards' = 4)", sg.CreateEntity("k", "n", 4)),
    ("UPDATE ENTITY Clicks WITH ('topic.partitions' = 6)", sg.AlterEntity("kafka", "clicks", 6)),
    (
        "UPDATE TOPIC free WITH ('kafka.topic.retention.ms' = 5)",
        sg.AlterEntity("kafka", "free", None, {"retention.ms": "5"}),
    ),
    ("DROP TOPIC free", sg.RemoveEntity("kafka", "free")),
    ("INSERT INTO TOPIC a.b VALUE('{}') WITH ('key' = 'x')", sg.WriteEntity("kafka", "a.b", "{}", "x")),
]


@pytest.mark.parametrize(("sql", "stage"), ENTITIES, ids=[sql for sql, _ in ENTITIES])
def test_an_entity_is_one_step(session: Session, sql: str, stage: sg.Stage) -> None:
    assert plan(session, sql).stages == (stage,)


def test_a_plan_shows_no_secret(session: Session) -> None:
    for sql in (
        "CREATE STORE n WITH ('type' = KAFKA, 'uris' = 'a:1', 'kafka.sasl.hash_function' = PLAIN,"
        " 'kafka.sasl.username' = 'ann', 'kafka.sasl.password' = 'hush')",
        "UPDATE STORE s WITH ('kafka.sasl.password' = 'hush')",
        "CREATE SCHEMA_REGISTRY n WITH ('type' = CONFLUENT, 'uris' = 'x', 'confluent.username' = 'ann',"
        " 'confluent.password' = 'hush')",
    ):
        planned = plan(session, sql)
        assert "hush" not in "\n".join(explain(planned)) + repr(planned)
    assert "hush" not in f"{Secrets(PASSWORD)} {Secrets(PASSWORD)!r}"


def test_every_kind_names_its_secrets() -> None:
    assert {"kafka.sasl.password", "sasl.password", "kinesis.secret_access_key", "confluent.password"} <= secret_names()
    assert "kafka.sasl.username" not in secret_names()
    assert {kind.type for kind in STORE_KINDS.values()} == set(STORE_KINDS)


MASKED = [
    ("WITH ('kafka.sasl.password' = 'a''b', 'x' = 'y')", "WITH ('kafka.sasl.password' = ******, 'x' = 'y')"),
    ("'kinesis.secret_access_key'\n = 'hu\nsh'", "'kinesis.secret_access_key'\n = ***\n***"),
    ("'kafka.sasl.password' = 'not ended", "'kafka.sasl.password' = **********"),
    ('sasl.password = "x"', "sasl.password = ***"),
    ("'kafka.sasl.username' = 'ann'", "'kafka.sasl.username' = 'ann'"),
    ("'uris' = 'http://ann:hush@h:1,a:1'", "'uris' = 'http://********@h:1,a:1'"),
    ("'-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----'", "'" + "*" * 27 + "\n*\n" + "*" * 25 + "'"),
]


@pytest.mark.parametrize(("sql", "expected"), MASKED)
def test_secrets_in_a_statement_are_masked_and_places_stay(sql: str, expected: str) -> None:
    assert mask_secrets(sql) == expected
