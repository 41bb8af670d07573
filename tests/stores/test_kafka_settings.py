"""Store properties -> the settings of both Kafka clients, librdkafka and Java's, which must mean the same."""

from __future__ import annotations

import base64
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from millpond.catalog.store_kinds import speaks_tls
from millpond.stores.java_client import jaas, java_client_config
from millpond.stores.kafka_config import kafka_config
from millpond.stores.kafka_security import msk_region
from millpond.stores.msk_iam import SECONDS, token

CA, CERT, KEY = (f"-----BEGIN {what}-----\nx\n-----END {what}-----\n" for what in ("CA", "CERT", "KEY"))
LOGIN = {"kafka.sasl.username": "ann", "kafka.sasl.password": 'p"\\q'}
OIDC = {
    "kafka.sasl.hash_function": "OAUTHBEARER",
    "kafka.sasl.oauth.token_url": "https://id.example/token",
    "kafka.sasl.oauth.client_id": "c",
    "kafka.sasl.oauth.client_secret": "s",
    "kafka.sasl.oauth.scope": "kafka",
    "kafka.sasl.oauth.extensions": "logicalCluster=lkc-1, identityPoolId=pool-2",
}
SECURITY = "org.apache.kafka.common.security"

CASES: list[tuple[dict[str, str], dict[str, Any], dict[str, str]]] = [
    ({}, {}, {}),
    ({"kafka.sasl.hash_function": "NONE"}, {}, {}),
    ({"tls.disabled": "FALSE"}, {"security.protocol": "SSL"}, {"security.protocol": "SSL"}),
    (
        {"tls.ca_cert_file": CA, "tls.client.cert_file": CERT, "tls.client.key_file": KEY},
        {
            "security.protocol": "SSL",
            "ssl.ca.pem": CA,
            "ssl.certificate.pem": CERT,
            "ssl.key.pem": KEY,
        },
        {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": CA,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": CERT,
            "ssl.keystore.key": KEY,
        },
    ),
    (
        {"tls.verify_server_hostname": "FALSE"},
        {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "none"},
        {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""},
    ),
    (
        {"kafka.sasl.hash_function": "SHA512", "tls.disabled": "TRUE", **LOGIN},
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "ann",
            "sasl.password": 'p"\\q',
        },
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{SECURITY}.scram.ScramLoginModule required username="ann" password="p\\"\\\\q";',
        },
    ),
    (
        {"kafka.sasl.hash_function": "plain", **LOGIN},
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ann",
            "sasl.password": 'p"\\q',
        },
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{SECURITY}.plain.PlainLoginModule required username="ann" password="p\\"\\\\q";',
        },
    ),
    (
        OIDC,
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": "https://id.example/token",
            "sasl.oauthbearer.client.id": "c",
            "sasl.oauthbearer.client.secret": "s",
            "sasl.oauthbearer.scope": "kafka",
            "sasl.oauthbearer.extensions": "logicalCluster=lkc-1, identityPoolId=pool-2",
        },
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": f"{SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": "https://id.example/token",
            "sasl.jaas.config": f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required"
            ' clientId="c" clientSecret="s" scope="kafka"'
            ' extension_logicalCluster="lkc-1" extension_identityPoolId="pool-2";',
        },
    ),
]


@pytest.mark.parametrize(("properties", "librdkafka", "java"), CASES)
def test_properties_become_the_settings_of_both_clients(
    properties: dict[str, str], librdkafka: dict[str, Any], java: dict[str, str]
) -> None:
    given = {"uris": "h:1", **properties}
    assert kafka_config(given) == {"bootstrap.servers": "h:1", **librdkafka}
    assert java_client_config(given) == {"bootstrap.servers": "h:1", **java}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, False),
        ({"kafka.sasl.hash_function": "NONE"}, False),
        ({"kafka.sasl.hash_function": "SHA256"}, True),
        ({"kafka.sasl.hash_function": "SHA256", "tls.disabled": "true"}, False),
        ({"tls.ca_cert_file": CA}, True),
        ({"tls.disabled": "false"}, True),
    ],
)
def test_a_login_or_a_certificate_means_tls_unless_it_is_switched_off(
    properties: dict[str, str], expected: bool
) -> None:
    assert speaks_tls(properties) is expected


def test_msk_has_its_own_login_in_java_and_a_bearer_token_elsewhere() -> None:
    given = {
        "uris": "h:1",
        "kafka.sasl.hash_function": "AWS_MSK_IAM",
        "kafka.msk.iam_role_arn": "arn:aws:iam::1:role/r",
    }
    java = java_client_config(given)
    assert java["sasl.mechanism"] == "AWS_MSK_IAM"
    assert java["sasl.client.callback.handler.class"].startswith("software.amazon.msk.auth.iam.")
    assert 'awsRoleArn="arn:aws:iam::1:role/r"' in java["sasl.jaas.config"]
    config = kafka_config(given)
    assert (config["security.protocol"], config["sasl.mechanism"]) == ("SASL_SSL", "OAUTHBEARER")
    assert callable(config["oauth_cb"])


def test_a_token_for_msk_is_a_signed_request_of_a_quarter_of_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    text, until = token("eu-west-1", None)
    url = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    assert (parts.netloc, query["Action"]) == ("kafka.eu-west-1.amazonaws.com", ["kafka-cluster:Connect"])
    assert query["X-Amz-Expires"] == [str(SECONDS)]
    assert query["X-Amz-Credential"][0].startswith("AKIDEXAMPLE/") and "kafka-cluster" in query["X-Amz-Credential"][0]
    assert query["X-Amz-Signature"] and query["User-Agent"] == ["millpond"]
    assert "hush" not in url
    assert until == pytest.approx(time.time() + SECONDS, abs=30)


def test_without_credentials_there_is_no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match="credentials"):
        token("eu-west-1", None)


@pytest.mark.parametrize(
    ("properties", "region"),
    [
        ({"kafka.msk.aws_region": "eu-north-1"}, "eu-north-1"),
        ({"access_region": "us-west-2"}, "us-west-2"),
        ({"uris": "b-1.one.abc.c2.kafka.us-east-1.amazonaws.com:9098,b-2.x:9098"}, "us-east-1"),
        ({"uris": "localhost:9098"}, ""),
    ],
)
def test_the_region_of_msk_is_given_or_is_in_its_brokers_names(properties: dict[str, str], region: str) -> None:
    assert msk_region(properties) == region


def test_a_value_cannot_leave_its_quotes() -> None:
    assert jaas("m", {"password": '" x="'}) == r'm required password="\" x=\"";'
