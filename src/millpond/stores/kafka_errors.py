"""What librdkafka's error codes mean as named errors."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from millpond.errors import MillpondError

UNREACHABLE = {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._MSG_TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
}
NOT_FOUND = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_ID,
}


def named(error: KafkaError | KafkaException, store: str, topic: str = "") -> MillpondError:
    """The named error for what happened to `topic` of the store at `store` (its broker list)."""
    if isinstance(error, KafkaException):
        error = error.args[0]
    if error.code() in NOT_FOUND:
        return MillpondError("TOPIC_NOT_FOUND", topic=topic, store=store)
    if error.code() in UNREACHABLE:
        return MillpondError("STORE_UNREACHABLE", store=store, reason=error.str())
    return MillpondError("TOPIC_REFUSED", topic=topic, reason=error.str())
