"""A Kafka store's properties -> librdkafka's settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from millpond.catalog.store_kinds import speaks_tls
from millpond.stores.kafka_security import mechanism, msk_region, protocol, verifies_host


def kafka_config(properties: Mapping[str, str]) -> dict[str, Any]:
    """librdkafka's settings; secrets are in them. Certificates and keys are PEM text, as the catalog keeps them."""
    config: dict[str, Any] = {"bootstrap.servers": properties.get("uris", "")}
    security = protocol(properties)
    if security != "PLAINTEXT":
        config["security.protocol"] = security
    if speaks_tls(properties):
        config |= _tls(properties)
    return config | _login(properties)


def _tls(properties: Mapping[str, str]) -> dict[str, Any]:
    names = {
        "tls.ca_cert_file": "ssl.ca.pem",
        "tls.client.cert_file": "ssl.certificate.pem",
        "tls.client.key_file": "ssl.key.pem",
    }
    config: dict[str, Any] = {setting: properties[key] for key, setting in names.items() if properties.get(key)}
    if not verifies_host(properties):
        config["ssl.endpoint.identification.algorithm"] = "none"
    return config


def _login(properties: Mapping[str, str]) -> dict[str, Any]:
    match mechanism(properties):
        case None:
            return {}
        case "AWS_MSK_IAM":
            from millpond.stores.msk_iam import token

            # MSK takes the signed request as a bearer token; AWS_MSK_IAM itself is known to Java's client alone.
            role = properties.get("kafka.msk.iam_role_arn")
            return {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": partial(token, msk_region(properties), role)}
        case "OAUTHBEARER":
            return _oidc(properties)
        case name:
            return {
                "sasl.mechanism": name,
                "sasl.username": properties.get("kafka.sasl.username", ""),
                "sasl.password": properties.get("kafka.sasl.password", ""),
            }


def _oidc(properties: Mapping[str, str]) -> dict[str, Any]:
    """Client credentials: librdkafka fetches the tokens itself, and renews them."""
    names = {
        "kafka.sasl.oauth.token_url": "sasl.oauthbearer.token.endpoint.url",
        "kafka.sasl.oauth.client_id": "sasl.oauthbearer.client.id",
        "kafka.sasl.oauth.client_secret": "sasl.oauthbearer.client.secret",
        "kafka.sasl.oauth.scope": "sasl.oauthbearer.scope",
        "kafka.sasl.oauth.extensions": "sasl.oauthbearer.extensions",
    }
    given = {setting: properties[key] for key, setting in names.items() if properties.get(key)}
    return {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc", **given}
