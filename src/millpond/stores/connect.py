"""From a store's properties to its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.errors import MillpondError
from millpond.stores.protocol import Log

SASL = {"PLAIN": "PLAIN", "SHA256": "SCRAM-SHA-256", "SHA512": "SCRAM-SHA-512"}


def open_log(store_type: str, properties: Mapping[str, str], timeout: float = 10.0) -> Log:
    """The log of a store, not connected yet. `properties` are those of CREATE STORE, secrets among them."""
    if store_type.upper() not in ("KAFKA", "CONFLUENT_KAFKA"):
        raise MillpondError("UNSUPPORTED", feature=f"A store of type '{store_type}'", instead="Use KAFKA.")
    from millpond.stores.kafka import KafkaLog

    return KafkaLog(kafka_config(properties), timeout)


def kafka_config(properties: Mapping[str, str]) -> dict[str, Any]:
    """librdkafka's settings for the properties of a Kafka store."""
    config: dict[str, Any] = {"bootstrap.servers": properties.get("uris", "")}
    tls = properties.get("tls.disabled", "true").lower() != "true"
    mechanism = SASL.get(properties.get("kafka.sasl.hash_function", "NONE").upper())
    if mechanism:
        config["sasl.mechanism"] = mechanism
        config["sasl.username"] = properties.get("kafka.sasl.username", "")
        config["sasl.password"] = properties.get("kafka.sasl.password", "")
    if tls and "tls.ca_cert_file" in properties:
        config["ssl.ca.location"] = properties["tls.ca_cert_file"]
    if tls and properties.get("tls.verify_server_hostname", "true").lower() == "false":
        config["ssl.endpoint.identification.algorithm"] = "none"
    if tls or mechanism:
        config["security.protocol"] = {
            (True, True): "SASL_SSL",
            (True, False): "SSL",
            (False, True): "SASL_PLAINTEXT",
        }[tls, bool(mechanism)]
    return config
