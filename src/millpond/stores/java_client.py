"""A Kafka store's properties -> the settings of Java's client: for Spark's source and sink, and for dead letters."""

from __future__ import annotations

from collections.abc import Mapping

from millpond.catalog.store_kinds import speaks_tls
from millpond.stores.kafka_security import extensions, mechanism, protocol, verifies_host

_MODULES = "org.apache.kafka.common.security"
_OAUTH_HANDLER = f"{_MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler"
_MSK_HANDLER = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"


def java_client_config(properties: Mapping[str, str]) -> dict[str, str]:
    """`bootstrap.servers`, and all that TLS and the login take. Secrets are in the values: never show them.

    The names are those of Kafka's Java client; Spark's source and sink want each behind `kafka.`.
    """
    config = {"bootstrap.servers": properties.get("uris", "")}
    security = protocol(properties)
    if security != "PLAINTEXT":
        config["security.protocol"] = security
    if speaks_tls(properties):
        config |= tls_config(properties)
    return config | _login(properties)


def tls_config(properties: Mapping[str, str]) -> dict[str, str]:
    """The settings of TLS alone: whom to trust, and one's own certificate."""
    config: dict[str, str] = {}
    if properties.get("tls.ca_cert_file"):
        config |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": properties["tls.ca_cert_file"]}
    if properties.get("tls.client.cert_file"):
        config |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": properties["tls.client.cert_file"],
            "ssl.keystore.key": properties.get("tls.client.key_file", ""),
        }
    if not verifies_host(properties):
        config["ssl.endpoint.identification.algorithm"] = ""
    return config


def _login(properties: Mapping[str, str]) -> dict[str, str]:
    match mechanism(properties):
        case None:
            return {}
        case "AWS_MSK_IAM":
            return _msk_iam(properties)
        case "OAUTHBEARER":
            return _oidc(properties)
        case "PLAIN":
            return {"sasl.mechanism": "PLAIN", "sasl.jaas.config": _password(f"{_MODULES}.plain.Plain", properties)}
        case name:
            return {"sasl.mechanism": name, "sasl.jaas.config": _password(f"{_MODULES}.scram.Scram", properties)}


def _password(module: str, properties: Mapping[str, str]) -> str:
    user, password = properties.get("kafka.sasl.username", ""), properties.get("kafka.sasl.password", "")
    return jaas(f"{module}LoginModule", {"username": user, "password": password})


def _msk_iam(properties: Mapping[str, str]) -> dict[str, str]:
    role = properties.get("kafka.msk.iam_role_arn")
    options = {"awsRoleArn": role, "awsRoleSessionName": "millpond"} if role else {}
    return {
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": jaas("software.amazon.msk.auth.iam.IAMLoginModule", options),
        "sasl.client.callback.handler.class": _MSK_HANDLER,
    }


def _oidc(properties: Mapping[str, str]) -> dict[str, str]:
    options = {
        "clientId": properties.get("kafka.sasl.oauth.client_id", ""),
        "clientSecret": properties.get("kafka.sasl.oauth.client_secret", ""),
        **({"scope": properties["kafka.sasl.oauth.scope"]} if properties.get("kafka.sasl.oauth.scope") else {}),
        **{f"extension_{name}": value for name, value in extensions(properties).items()},
    }
    return {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": _OAUTH_HANDLER,
        "sasl.oauthbearer.token.endpoint.url": properties.get("kafka.sasl.oauth.token_url", ""),
        "sasl.jaas.config": jaas(f"{_MODULES}.oauthbearer.OAuthBearerLoginModule", options),
    }


def jaas(module: str, options: Mapping[str, str]) -> str:
    """One entry of a JAAS configuration; quotes and backslashes in values are escaped."""
    given = "".join(f' {name}="{_escaped(value)}"' for name, value in options.items())
    return f"{module} required{given};"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
