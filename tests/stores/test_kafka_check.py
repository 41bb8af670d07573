"""What a store's check says when it fails: which step it was."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException

from millpond.errors import MillpondError
from millpond.stores.connect import open_log
from millpond.stores.kafka_check import addresses
from millpond.stores.kafka_errors import named, plain, refused, told


def failure(**properties: str) -> MillpondError:
    with pytest.raises(MillpondError) as caught:
        open_log("KAFKA", properties, timeout=3).check()
    return caught.value


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that takes connections and closes them after the first bytes, as a broker does that speaks no TLS."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                taken, _ = listening.accept()
            except OSError:
                return
            taken.recv(64)
            taken.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join(5)


def test_a_host_that_nobody_knows() -> None:
    assert failure(uris="nowhere.invalid:9092").name == "STORE_HOST_UNKNOWN"


def test_a_port_where_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    assert failure(uris=f"127.0.0.1:{port}").name == "STORE_CONNECTION_REFUSED"


def test_a_port_that_speaks_no_tls(silent: int) -> None:
    found = failure(uris=f"127.0.0.1:{silent}", **{"tls.disabled": "false"})
    assert found.name == "STORE_TLS_FAILED"
    assert "TLS" in found.sentence and "tls.disabled" in found.hint


def test_something_that_is_no_broker(silent: int) -> None:
    assert failure(uris=f"127.0.0.1:{silent}").name == "STORE_UNREACHABLE"


def test_a_broker_list_is_taken_apart() -> None:
    assert addresses("a:1, b ,SASL_SSL://c:3,[::1]:4") == [("a", 1), ("b", 9092), ("c", 3), ("::1", 4)]


@pytest.mark.parametrize(
    ("code", "sentence", "expected"),
    [
        (KafkaError._SSL, "ssl://h:1/b: SSL handshake failed: ... certificate verify failed: ...", "STORE_CA_UNKNOWN"),
        (KafkaError._SSL, "h: ... certificate verify failed: Hostname mismatch", "STORE_HOST_NAME_WRONG"),
        (KafkaError._SSL, "h: ... tlsv13 alert certificate required: ...", "STORE_CLIENT_CERTIFICATE_REFUSED"),
        (KafkaError._SSL, "h: SSL handshake failed: Disconnected", "STORE_TLS_FAILED"),
        (KafkaError._AUTHENTICATION, "h: SASL authentication error: no", "STORE_LOGIN_FAILED"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no", "STORE_PERMISSION_DENIED"),
        (KafkaError._TRANSPORT, "h: Disconnected", "STORE_UNREACHABLE"),
        (KafkaError.UNKNOWN, "?", "STORE_UNREACHABLE"),
    ],
)
def test_what_librdkafka_reports_has_a_name(code: int, sentence: str, expected: str) -> None:
    assert told(KafkaError(code, sentence), "h:1").name == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "STORE_PERMISSION_DENIED"),
        (KafkaError.SASL_AUTHENTICATION_FAILED, "STORE_LOGIN_FAILED"),
        (KafkaError.THROTTLING_QUOTA_EXCEEDED, "STORE_THROTTLED"),
        (KafkaError.POLICY_VIOLATION, "TOPIC_REFUSED"),
    ],
)
def test_what_a_broker_answers_has_a_name(code: int, expected: str) -> None:
    assert named(KafkaError(code, "x"), "h:1", "clicks").name == expected


def test_an_address_and_a_state_are_left_out_of_a_reason() -> None:
    told_by = "sasl_ssl://h:1/bootstrap: SASL authentication error: no (after 301ms in state AUTH_REQ)"
    assert plain(told_by) == "SASL authentication error: no"
    assert plain("no colon") == "no colon"


@pytest.mark.parametrize("code", [KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE])
def test_a_record_that_is_too_large_is_refused_in_a_sentence(code: int) -> None:
    for error in (KafkaError(code), KafkaException(KafkaError(code))):
        assert (
            refused(error, "t").sentence == "A record for topic 't' was not taken: it is larger than its store takes."
        )
