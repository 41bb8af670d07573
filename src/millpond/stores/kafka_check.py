"""Whether a Kafka cluster can be used with given settings, and if not, at which step it ends.

The steps that a client takes are taken one by one, because librdkafka tells a failure of any of them as a timeout with
a sentence beside it: 1. the host's address; 2. the connection; 3. the broker's certificate; 4. the login.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from millpond.errors import MillpondError
from millpond.stores.kafka_errors import told

DEFAULT_PORT = 9092
POLL_SECONDS = 0.1


def check_kafka(config: Mapping[str, Any], timeout: float) -> None:
    """Returns if a broker answers. `config` are librdkafka's settings; takes at most about `timeout` seconds.

    Raises STORE_HOST_UNKNOWN, STORE_CONNECTION_REFUSED, STORE_CA_UNKNOWN, STORE_HOST_NAME_WRONG,
    STORE_CLIENT_CERTIFICATE_REFUSED, STORE_TLS_FAILED, STORE_LOGIN_FAILED, STORE_PERMISSION_DENIED, STORE_UNREACHABLE.
    """
    deadline = time.monotonic() + timeout
    _knock(config, timeout / 2)
    _ask(config, max(1.0, deadline - time.monotonic()))


def _knock(config: Mapping[str, Any], timeout: float) -> None:
    """One of the hosts has to take a connection, and show a certificate that is trusted if TLS is spoken."""
    failed: MillpondError | None = None
    hosts = addresses(str(config.get("bootstrap.servers", "")))
    for host, port in hosts:
        try:
            _knock_at(host, port, config, timeout / len(hosts))
            return
        except MillpondError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def addresses(uris: str) -> Sequence[tuple[str, int]]:
    """Host and port of each of a broker list's entries; a scheme before it is passed over."""
    found = []
    for part in uris.split(","):
        text = part.strip().rpartition("//")[2]
        host, _, port = text.rpartition(":") if ":" in text else (text, "", "")
        found.append((host.strip("[]"), int(port) if port.isdigit() else DEFAULT_PORT))
    return found


def _knock_at(host: str, port: int, config: Mapping[str, Any], timeout: float) -> None:
    store = f"{host}:{port}"
    try:
        with socket.create_connection((host, port), timeout) as plain:
            if config.get("security.protocol", "PLAINTEXT").endswith("SSL"):
                _greet(plain, host, store, config)
    except socket.gaierror as error:
        raise MillpondError("STORE_HOST_UNKNOWN", host=host, reason=error.strerror) from None
    except ConnectionRefusedError:
        raise MillpondError("STORE_CONNECTION_REFUSED", store=store) from None
    except (OSError, ValueError) as error:
        reason = "it does not answer" if isinstance(error, TimeoutError) else getattr(error, "strerror", None) or error
        raise MillpondError("STORE_UNREACHABLE", store=store, reason=reason) from None


UNKNOWN_CA = frozenset({18, 19, 20, 21})
"""OpenSSL's codes: self-signed, or an issuer that is not among the trusted ones."""
WRONG_HOST = frozenset({62, 64})


def _greet(plain: socket.socket, host: str, store: str, config: Mapping[str, Any]) -> None:
    """The TLS handshake, without a client certificate: whether that is wanted shows in the next step."""
    context = ssl.create_default_context(cadata=config.get("ssl.ca.pem"))
    context.check_hostname = config.get("ssl.endpoint.identification.algorithm") != "none"
    try:
        with context.wrap_socket(plain, server_hostname=host):
            return
    except ssl.SSLCertVerificationError as error:
        raise _distrusted(error, host, store) from None
    except (ssl.SSLEOFError, ConnectionResetError):
        raise _no_tls(store, "it closes the connection") from None
    except ssl.SSLError as error:
        if error.reason in (
            "TLSV1_ALERT_UNKNOWN_CA",
            "TLSV13_ALERT_CERTIFICATE_REQUIRED",
            "SSLV3_ALERT_BAD_CERTIFICATE",
        ):
            return  # it wants a client certificate: librdkafka shows it
        raise _no_tls(store, error.reason or "the handshake failed") from None


def _distrusted(error: ssl.SSLCertVerificationError, host: str, store: str) -> MillpondError:
    if error.verify_code in WRONG_HOST:
        return MillpondError("STORE_HOST_NAME_WRONG", store=store, host=host)
    if error.verify_code in UNKNOWN_CA:
        return MillpondError("STORE_CA_UNKNOWN", store=store, reason=error.verify_message)
    return MillpondError("STORE_TLS_FAILED", store=store, reason=error.verify_message)


def _no_tls(store: str, reason: str) -> MillpondError:
    return MillpondError("STORE_TLS_FAILED", store=store, reason=f"{reason}; does it speak TLS on this port?")


def _ask(config: Mapping[str, Any], timeout: float) -> None:
    """Ask for the cluster's metadata. What librdkafka reports meanwhile says why there is none."""
    heard: list[KafkaError] = []
    store = str(config.get("bootstrap.servers", ""))
    try:
        admin = AdminClient({**config, "error_cb": heard.append})
    except (KafkaException, ValueError) as error:
        raise MillpondError("STORE_TLS_FAILED", store=store, reason=_text(error)) from None
    deadline = time.monotonic() + timeout
    while True:
        admin.poll(0)
        try:
            admin.list_topics(timeout=min(1.0, max(POLL_SECONDS, deadline - time.monotonic())))
            return
        except KafkaException as error:
            admin.poll(POLL_SECONDS)
            final = next((found for found in map(_named(store), heard) if found.name != "STORE_UNREACHABLE"), None)
            if final is not None:
                raise final from None
            if time.monotonic() > deadline:
                raise _named(store)(heard[0] if heard else error.args[0]) from None


def _named(store: str) -> Any:
    return lambda error: told(error, store)


def _text(error: Exception) -> str:
    first = error.args[0] if error.args else error
    return first.str() if isinstance(first, KafkaError) else str(first)
