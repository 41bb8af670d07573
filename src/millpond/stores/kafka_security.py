"""How a Kafka store is protected, read from its properties: what both kinds of client settings are made of."""

from __future__ import annotations

from collections.abc import Mapping

from millpond.catalog.store_kinds import speaks_tls

MECHANISMS = {
    "PLAIN": "PLAIN",
    "SHA256": "SCRAM-SHA-256",
    "SHA512": "SCRAM-SHA-512",
    "AWS_MSK_IAM": "AWS_MSK_IAM",
    "OAUTHBEARER": "OAUTHBEARER",
}
"""`kafka.sasl.hash_function` -> SASL's own name."""


def mechanism(properties: Mapping[str, str]) -> str | None:
    """SASL's name of the way to log in; None for no login."""
    return MECHANISMS.get(properties.get("kafka.sasl.hash_function", "NONE").upper())


def verifies_host(properties: Mapping[str, str]) -> bool:
    """Whether the broker's certificate must be of the host that was called."""
    return properties.get("tls.verify_server_hostname", "true").lower() != "false"


def protocol(properties: Mapping[str, str]) -> str:
    """Kafka's `security.protocol`."""
    secure = "SSL" if speaks_tls(properties) else "PLAINTEXT"
    return f"SASL_{secure}" if mechanism(properties) else secure


def extensions(properties: Mapping[str, str]) -> dict[str, str]:
    """What goes along with an OAUTHBEARER token: `logicalCluster=lkc-1,identityPoolId=pool-2` as a map."""
    pairs = (part.partition("=") for part in properties.get("kafka.sasl.oauth.extensions", "").split(","))
    return {key.strip(): value.strip() for key, _, value in pairs if key.strip()}


def msk_region(properties: Mapping[str, str]) -> str:
    """The AWS region of an MSK cluster: as given, else out of `b-1.x.kafka.<region>.amazonaws.com`."""
    given = properties.get("kafka.msk.aws_region") or properties.get("access_region")
    if given:
        return given
    host = properties.get("uris", "").split(",")[0].rsplit(":", 1)[0]
    labels = host.split(".")
    return labels[-3] if host.endswith(".amazonaws.com") and len(labels) > 3 else ""
