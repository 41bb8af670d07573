"""What librdkafka's error codes, and the sentences beside them, mean as named errors."""

from __future__ import annotations

import re

from confluent_kafka import KafkaError, KafkaException

from millpond.errors import MillpondError

UNREACHABLE = {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._MSG_TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError._SSL,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
}
NOT_FOUND = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_ID,
}
LOGIN = {
    KafkaError._AUTHENTICATION,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.ILLEGAL_SASL_STATE,
}
TOO_LARGE = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE, KafkaError.RECORD_LIST_TOO_LARGE}
DENIED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "the topic",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "the cluster",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "the consumer group",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "the transaction",
}

_CLIENT_CERTIFICATE = re.compile(r"alert (certificate required|bad certificate|unknown ca|certificate unknown)", re.I)
_UNKNOWN_CA = re.compile(r"certificate verify failed|certificate could not be verified", re.I)
_HOST_NAME = re.compile(r"hostname mismatch|IP address mismatch", re.I)


def named(error: KafkaError | KafkaException, store: str, topic: str = "") -> MillpondError:
    """The named error for what happened to `topic` of the store at `store` (its broker list)."""
    if isinstance(error, KafkaException):
        error = error.args[0]
    code, reason = error.code(), error.str()
    if code in NOT_FOUND:
        return MillpondError("TOPIC_NOT_FOUND", topic=topic, store=store)
    if code in LOGIN:
        return MillpondError("STORE_LOGIN_FAILED", store=store, reason=plain(reason))
    if code in DENIED:
        what = f"{DENIED[code]} '{topic}'" if topic and DENIED[code] == "the topic" else DENIED[code]
        return MillpondError("STORE_PERMISSION_DENIED", store=store, what=what)
    if code == KafkaError.THROTTLING_QUOTA_EXCEEDED:
        return MillpondError("STORE_THROTTLED", store=store, reason=reason)
    if code in UNREACHABLE:
        return MillpondError("STORE_UNREACHABLE", store=store, reason=reason)
    return MillpondError("TOPIC_REFUSED", topic=topic, reason=reason)


def refused(error: KafkaError | Exception, topic: str) -> MillpondError:
    """RECORD_REFUSED, in a sentence, for a record that would be refused again as well."""
    cause = error.args[0] if isinstance(error, KafkaException) else error
    if not isinstance(cause, KafkaError):
        return MillpondError("RECORD_REFUSED", topic=topic, reason=str(cause))
    if cause.code() in TOO_LARGE:
        return MillpondError("RECORD_REFUSED", topic=topic, reason="it is larger than its store takes")
    return MillpondError("RECORD_REFUSED", topic=topic, reason=plain(cause.str()))


def told(error: KafkaError, store: str) -> MillpondError:
    """The named error for what librdkafka reports of a connection; its sentence tells more than its code."""
    reason = error.str()
    if _HOST_NAME.search(reason):
        return MillpondError("STORE_HOST_NAME_WRONG", store=store, host=store)
    if _CLIENT_CERTIFICATE.search(reason):
        return MillpondError("STORE_CLIENT_CERTIFICATE_REFUSED", store=store, reason=plain(reason))
    if _UNKNOWN_CA.search(reason):
        return MillpondError("STORE_CA_UNKNOWN", store=store, reason=plain(reason))
    if error.code() == KafkaError._SSL:
        return MillpondError("STORE_TLS_FAILED", store=store, reason=plain(reason))
    found = named(error, store)
    return found if found.name != "TOPIC_REFUSED" else MillpondError("STORE_UNREACHABLE", store=store, reason=reason)


def plain(reason: str) -> str:
    """A sentence of librdkafka without the broker's address before it and the state of the connection behind it."""
    text = reason.split(": ", 1)[1] if "://" in reason.split(": ", 1)[0] and ": " in reason else reason
    return re.sub(r" \(after \d+ms in state .*\)$", "", text)
