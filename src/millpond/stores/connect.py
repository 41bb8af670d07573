"""From a store's properties to its log."""

from __future__ import annotations

from collections.abc import Mapping

from millpond.errors import MillpondError
from millpond.stores.kafka_config import kafka_config
from millpond.stores.protocol import Log


def open_log(store_type: str, properties: Mapping[str, str], timeout: float = 10.0) -> Log:
    """The log of a store, not connected yet. `properties` are those of CREATE STORE, secrets among them."""
    if store_type.upper() == "KINESIS":
        from millpond.stores.kinesis import KinesisLog
        from millpond.stores.kinesis_client import kinesis_settings

        return KinesisLog(kinesis_settings(properties), timeout)
    if store_type.upper() not in ("KAFKA", "CONFLUENT_KAFKA"):
        raise MillpondError(
            "UNSUPPORTED", feature=f"A store of type '{store_type}'", instead="Use KAFKA, CONFLUENT_KAFKA or KINESIS."
        )
    from millpond.stores.kafka import KafkaLog

    return KafkaLog(kafka_config(properties), timeout)
