"""Store properties -> librdkafka settings."""

from __future__ import annotations

import pytest

from millpond.errors import MillpondError
from millpond.stores.connect import kafka_config, open_log

SASL = {"kafka.sasl.hash_function": "SHA512", "kafka.sasl.username": "u", "kafka.sasl.password": "p"}
CASES = [
    ({}, {}),
    ({"kafka.sasl.hash_function": "NONE"}, {}),
    ({"tls.disabled": "false"}, {"security.protocol": "SSL"}),
    (
        SASL,
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "u",
            "sasl.password": "p",
        },
    ),
    (
        {"tls.disabled": "FALSE", "tls.verify_server_hostname": "FALSE", "tls.ca_cert_file": "/ca.pem"},
        {
            "security.protocol": "SSL",
            "ssl.ca.location": "/ca.pem",
            "ssl.endpoint.identification.algorithm": "none",
        },
    ),
]


@pytest.mark.parametrize(("properties", "expected"), CASES)
def test_properties_become_settings(properties: dict[str, str], expected: dict[str, str]) -> None:
    assert kafka_config({"uris": "h:1", **properties}) == {"bootstrap.servers": "h:1", **expected}


def test_an_unknown_type_of_store_is_refused() -> None:
    with pytest.raises(MillpondError) as caught:
        open_log("PIGEON", {})
    assert caught.value.name == "UNSUPPORTED"
