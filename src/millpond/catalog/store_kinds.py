"""The kinds of stores and of schema registries as data: what each takes in WITH, which of it is secret or a file.

The planner reads WITH lists by it, the catalog keeps by it what is secret apart, `stores` connects by what comes out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millpond.catalog.model import Store
from millpond.errors import missing_properties


@dataclass(frozen=True, slots=True)
class StoreProperty:
    """One property: `read` makes the text that is kept of a WITH value or raises ValueError; `takes` says what fits."""

    read: Callable[[Any], str]
    takes: str
    secret: bool = False
    """Kept encrypted and never shown."""
    file: bool = False
    """The value names a file that comes with the statement; its text is what is kept."""


@dataclass(frozen=True, slots=True)
class Alias:
    """Another spelling of a property; `read` turns its values into those of `name`."""

    name: str
    read: Callable[[Any], str] | None = None


@dataclass(frozen=True, slots=True)
class TopicNames:
    """What the topics of a kind of store can be called."""

    what: str
    pattern: re.Pattern[str]
    takes: str

    def fit(self, name: str) -> bool:
        """Whether a topic can have this name."""
        return self.pattern.fullmatch(name) is not None


OF_TOPICS = TopicNames(
    "topic",
    re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}"),
    "1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', and is not '.' or '..'",
)
OF_STREAMS = TopicNames(
    "Kinesis stream", re.compile(r"[A-Za-z0-9._-]{1,128}"), "1 to 128 of the characters a-z, A-Z, 0-9, '.', '_' and '-'"
)


@dataclass(frozen=True, slots=True)
class StoreKind:
    """What a store of a type, or a schema registry of one, takes and can do."""

    type: str
    label: str
    """As `deltastream.sys` spells the type."""
    properties: Mapping[str, StoreProperty]
    aliases: Mapping[str, Alias] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    """Properties of which all are given, or none."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    partitions: str = "topic.partitions"
    """The property that says how many parts an entity has."""
    topic_names: TopicNames = OF_TOPICS
    compacts: bool = True
    """Whether an entity can keep the last record of each key: changelogs of views need that."""


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool) or not str(value).strip():
        raise ValueError
    return str(value).strip()


def _uris(value: Any) -> str:
    """A login in an address would be shown with it."""
    text = _text(value)
    if "@" in text:
        raise ValueError
    return text


def _verbatim(value: Any) -> str:
    """A password may begin and end with blanks."""
    if value is None or isinstance(value, bool) or not str(value):
        raise ValueError
    return str(value)


def _flag(value: Any) -> str:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError
    return text


def _words(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        text = str(value).upper()
        if text not in words:
            raise ValueError
        return text

    return read


def _region(value: Any) -> str:
    """`AWS us-east-1` is the region us-east-1: the cloud's name before it is from older scripts."""
    return _text(value).split()[-1].lower()


HASHES = ("NONE", "PLAIN", "SHA256", "SHA512", "AWS_MSK_IAM", "OAUTHBEARER")


def _hash(value: Any) -> str:
    """SASL's own names are taken as well: SCRAM-SHA-256 is SHA256."""
    text = str(value).upper().replace("_", "-")
    text = {"SCRAM-SHA-256": "SHA256", "SCRAM-SHA-512": "SHA512", "AWS-MSK-IAM": "AWS_MSK_IAM"}.get(text, text)
    return _words(*HASHES)(text)


def _tls_disabled(value: Any) -> str:
    """Of Kafka's `security.protocol`."""
    text = _words("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")(value)
    return str(text.endswith("PLAINTEXT")).lower()


TEXT = StoreProperty(_text, "text")
URIS = StoreProperty(_uris, "addresses with commas between, and no user or password in them")
SECRET = StoreProperty(_verbatim, "text", secret=True)
FLAG = StoreProperty(_flag, "TRUE or FALSE")
REGION = StoreProperty(_region, "a region such as 'us-east-1'")
FILE = StoreProperty(_text, "a file that comes with the statement", secret=True, file=True)

CONFIG_FILE = "config_file"
"""A file of `key=value` lines with more properties; what WITH says itself comes first."""

_TLS = {
    "tls.disabled": FLAG,
    "tls.verify_server_hostname": FLAG,
    "tls.ca_cert_file": FILE,
    "tls.client.cert_file": FILE,
    "tls.client.key_file": FILE,
    "tls.client.key_passphrase": SECRET,
}
_COMMON = {"uris": URIS, "access_region": REGION, CONFIG_FILE: FILE}
_KAFKA = {
    **_COMMON,
    **_TLS,
    "schema_registry.name": TEXT,
    "kafka.sasl.hash_function": StoreProperty(_hash, "one of " + ", ".join(HASHES)),
    "kafka.sasl.username": TEXT,
    "kafka.sasl.password": SECRET,
    "kafka.sasl.oauth.token_url": TEXT,
    "kafka.sasl.oauth.client_id": TEXT,
    "kafka.sasl.oauth.client_secret": SECRET,
    "kafka.sasl.oauth.scope": TEXT,
    "kafka.sasl.oauth.extensions": TEXT,
    "kafka.msk.iam_role_arn": TEXT,
    "kafka.msk.aws_region": REGION,
}
_KINESIS = {
    **_COMMON,
    "schema_registry.name": TEXT,
    "kinesis.access_key_id": SECRET,
    "kinesis.secret_access_key": SECRET,
    "kinesis.session_token": SECRET,
    "kinesis.account.id": TEXT,
}
_OLDER = {
    "availability_zone": Alias("access_region"),
    "access.region": Alias("access_region"),
    "kafka.schema_registry_name": Alias("schema_registry.name"),
}
_WITH_TLS = {**_OLDER, "tls.ca_cert": Alias("tls.ca_cert_file")}
_KAFKA_OLDER = {
    **_WITH_TLS,
    "bootstrap.servers": Alias("uris"),
    "security.protocol": Alias("tls.disabled", _tls_disabled),
    "sasl.mechanism": Alias("kafka.sasl.hash_function"),
    "sasl.username": Alias("kafka.sasl.username"),
    "sasl.password": Alias("kafka.sasl.password"),
    "kafka.sasl.mechanism": Alias("kafka.sasl.hash_function"),
}
_CLIENT_CERTIFICATE = ("tls.client.cert_file", "tls.client.key_file")

STORE_KINDS: Mapping[str, StoreKind] = {
    kind.type: kind
    for kind in (
        StoreKind("KAFKA", "Kafka", _KAFKA, _KAFKA_OLDER, ("uris",), (_CLIENT_CERTIFICATE,)),
        StoreKind(
            "CONFLUENT_KAFKA",
            "ConfluentKafka",
            _KAFKA,
            _KAFKA_OLDER,
            ("uris",),
            (_CLIENT_CERTIFICATE,),
            {"kafka.sasl.hash_function": "PLAIN"},
        ),
        StoreKind(
            "KINESIS",
            "Kinesis",
            _KINESIS,
            _OLDER,
            together=(("kinesis.access_key_id", "kinesis.secret_access_key"),),
            partitions="topic.shards",
            topic_names=OF_STREAMS,
            compacts=False,
        ),
    )
}
"""By type."""

ABSENT_KINDS = ("POSTGRESQL", "SNOWFLAKE", "DATABRICKS", "S3", "CLICKHOUSE", "ICEBERG_GLUE", "ICEBERG_REST")
"""Known by name only."""

LOGINS: Mapping[str, tuple[str, ...]] = {
    "PLAIN": ("kafka.sasl.username", "kafka.sasl.password"),
    "SHA256": ("kafka.sasl.username", "kafka.sasl.password"),
    "SHA512": ("kafka.sasl.username", "kafka.sasl.password"),
    "OAUTHBEARER": (
        "kafka.sasl.oauth.token_url",
        "kafka.sasl.oauth.client_id",
        "kafka.sasl.oauth.client_secret",
    ),
}
"""`kafka.sasl.hash_function` -> what it needs."""

_REGISTRY = {"uris": URIS, "access_region": REGION, CONFIG_FILE: FILE, **_TLS}

REGISTRY_KINDS: Mapping[str, StoreKind] = {
    kind.type: kind
    for kind in (
        StoreKind(
            "CONFLUENT",
            "Confluent",
            {**_REGISTRY, "confluent.username": TEXT, "confluent.password": SECRET},
            _WITH_TLS,
            ("uris",),
            (("confluent.username", "confluent.password"), _CLIENT_CERTIFICATE),
        ),
        StoreKind(
            "CONFLUENT_CLOUD",
            "ConfluentCloud",
            {**_REGISTRY, "confluent_cloud.key": TEXT, "confluent_cloud.secret": SECRET},
            _WITH_TLS,
            ("uris", "confluent_cloud.key", "confluent_cloud.secret"),
            (_CLIENT_CERTIFICATE,),
        ),
    )
}
"""Schema registries by type."""

ENTITY_ALIASES = {
    "kafka.partitions": "topic.partitions",
    "kafka.replicas": "topic.replicas",
    "kinesis.shards": "topic.shards",
}
TOPIC_SETTING = "kafka.topic."
"""What follows is any setting of a Kafka topic."""


def same_place(one: Store, other: Store) -> bool:
    """Whether two stores are seen to lead to the same topics: they share an address, or without one the region
    and the account that they name."""
    if STORE_KINDS[one.type].partitions != STORE_KINDS[other.type].partitions:
        return False
    return one.name == other.name or bool(_places(one) & _places(other))


def _places(store: Store) -> set[str]:
    given = store.properties
    uris = given.get("uris") or f"{given.get('access_region', '')}/{given.get('kinesis.account.id', '')}"
    addresses = (uri.strip().lower().rpartition("//")[2].rstrip("/") for uri in uris.split(","))
    return {address.replace("localhost", "127.0.0.1") for address in addresses if address}


def speaks_tls(properties: Mapping[str, str]) -> bool:
    """As `tls.disabled` says. Without it a store that logs in or names certificates speaks TLS, any other does not."""
    given = properties.get("tls.disabled")
    if given is not None:
        return given.lower() != "true"
    logs_in = properties.get("kafka.sasl.hash_function", "NONE").upper() != "NONE"
    return logs_in or any(key.startswith("tls.") for key in properties)


def check_needs(kind: StoreKind, given: Mapping[str, str], statement: str) -> None:
    """Raises MISSING_PROPERTY for what a store or registry with these properties, secrets among them, lacks."""
    login = LOGINS.get(given.get("kafka.sasl.hash_function", ""), ())
    needed = [*kind.required, *login]
    if "kafka.sasl.password" in given:
        needed.append("kafka.sasl.hash_function")
    needed += [name for group in kind.together if given.keys() & set(group) for name in group]
    if kind.type == "KINESIS" and not given.keys() & {"uris", "access_region"}:
        needed.append("access_region")
    if _needs_msk_region(given):
        needed.append("kafka.msk.aws_region")
    if missing := [name for name in needed if not given.get(name)]:
        raise missing_properties(statement, {name: EXAMPLES.get(name, "'...'") for name in missing})


def _needs_msk_region(given: Mapping[str, str]) -> bool:
    """The region of Amazon MSK is given, or its brokers' names have it."""
    named = given.keys() & {"kafka.msk.aws_region", "access_region"} or ".amazonaws.com" in given.get("uris", "")
    return given.get("kafka.sasl.hash_function") == "AWS_MSK_IAM" and not named


EXAMPLES = {
    "uris": "'host:9092'",
    "kafka.sasl.hash_function": "PLAIN",
    "access_region": "'us-east-1'",
    "kafka.msk.aws_region": "'us-east-1'",
}


def secret_names() -> frozenset[str]:
    """Every property that is never shown, by all its spellings."""
    kinds = (*STORE_KINDS.values(), *REGISTRY_KINDS.values())
    own = {name for kind in kinds for name, found in kind.properties.items() if found.secret}
    return frozenset(own | {name for kind in kinds for name, alias in kind.aliases.items() if alias.name in own})
