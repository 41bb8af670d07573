"""Stores on a real broker with TLS, SASL and ACLs: what works, and the name of what does not."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.errors import MillpondError
from millpond.stores.connect import open_log
from millpond.stores.protocol import NewRecord, Record
from tests.certificates import Authority
from tests.secured_broker import PASSWORD, STRANGER, USER, SecuredBroker, token_endpoint

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def secured() -> Iterator[SecuredBroker]:
    with tempfile.TemporaryDirectory(prefix="millpond-secured-", ignore_cleanup_errors=True) as folder:
        made = SecuredBroker(Path(folder))
        try:
            made.start()
            yield made
        finally:
            made.stop()


@pytest.fixture(scope="module")
def tokens() -> Iterator[str]:
    with token_endpoint() as url:
        yield url


def properties(broker: SecuredBroker, listener: str, **given: str) -> dict[str, str]:
    """With the right authority where TLS is spoken; `given` has `_` for dots."""
    more = {key.replace("__", "."): value for key, value in given.items()}
    if listener == "SASLPLAIN":
        return {"uris": broker.at(listener), "tls.disabled": "true", **more}
    return {"uris": broker.at(listener), "tls.ca_cert_file": broker.authority.pem, **more}


def login(mechanism: str, user: str = USER, password: str = PASSWORD) -> dict[str, str]:
    return {
        "kafka.sasl.hash_function": mechanism,
        "kafka.sasl.username": user,
        "kafka.sasl.password": password,
    }


def certificate(authority: Authority) -> dict[str, str]:
    signed = authority.sign("client")
    return {"tls.client.cert_file": signed.certificate, "tls.client.key_file": signed.key}


def use(given: dict[str, str]) -> list[Record]:
    """Check, make a topic, write and read a record, and delete the topic."""
    log, topic = open_log("KAFKA", given), f"t-{uuid.uuid4().hex[:8]}"
    found: list[Record] = []
    try:
        log.check()
        log.create(topic, 1, -1)
        log.produce(topic, [NewRecord(b"k", b"v")])
        reader = log.read(topic, {0: 0})
        deadline = time.monotonic() + 20
        while not found and time.monotonic() < deadline:
            found += reader.poll(10, 0.2)
        reader.close()
        log.delete(topic)
    finally:
        log.close()
    return found


def failure(given: dict[str, str]) -> MillpondError:
    log = open_log("KAFKA", given, 10)
    with pytest.raises(MillpondError) as caught:
        log.check()
    log.close()
    return caught.value


@pytest.mark.parametrize("mechanism", ["PLAIN", "SHA256", "SHA512"])
@pytest.mark.parametrize("listener", ["SASLTLS", "SASLPLAIN"])
def test_a_password_logs_in(secured: SecuredBroker, listener: str, mechanism: str) -> None:
    assert [r.value for r in use(properties(secured, listener) | login(mechanism))] == [b"v"]


def test_tls_with_an_authority_of_ones_own_and_any_host_name(secured: SecuredBroker) -> None:
    assert use(properties(secured, "MUTUAL") | certificate(secured.authority))
    open_log("KAFKA", properties(secured, "TLS")).check()
    open_log("KAFKA", properties(secured, "MISNAMED") | {"tls.verify_server_hostname": "false"}).check()


def test_a_token_of_an_identity_provider_logs_in(secured: SecuredBroker, tokens: str) -> None:
    oauth = {
        "kafka.sasl.hash_function": "OAUTHBEARER",
        "kafka.sasl.oauth.token_url": tokens,
        "kafka.sasl.oauth.client_id": "millpond",
        "kafka.sasl.oauth.client_secret": "hush",
        "kafka.sasl.oauth.scope": "kafka",
    }
    assert use(properties(secured, "SASLTLS") | oauth)
    wrong = properties(secured, "SASLTLS") | oauth | {"kafka.sasl.oauth.client_secret": "no"}
    assert failure(wrong).name == "STORE_LOGIN_FAILED"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SHA512"])
def test_a_wrong_password(secured: SecuredBroker, mechanism: str) -> None:
    found = failure(properties(secured, "SASLTLS") | login(mechanism, password="wrong-password"))
    assert found.name == "STORE_LOGIN_FAILED"
    assert "wrong-password" not in str(found)


def test_an_unknown_authority(secured: SecuredBroker) -> None:
    assert failure(properties(secured, "TLS") | {"tls.ca_cert_file": Authority("other").pem}).name == "STORE_CA_UNKNOWN"
    assert failure({"uris": secured.at("TLS"), "tls.disabled": "false"}).name == "STORE_CA_UNKNOWN"


def test_a_certificate_of_another_host(secured: SecuredBroker) -> None:
    assert failure(properties(secured, "MISNAMED")).name == "STORE_HOST_NAME_WRONG"


def test_no_client_certificate_or_one_that_is_not_trusted(secured: SecuredBroker) -> None:
    assert failure(properties(secured, "MUTUAL")).name == "STORE_CLIENT_CERTIFICATE_REFUSED"
    stranger = properties(secured, "MUTUAL") | certificate(Authority("other"))
    assert failure(stranger).name == "STORE_CLIENT_CERTIFICATE_REFUSED"


def test_tls_where_there_is_none_and_none_where_there_is(secured: SecuredBroker) -> None:
    assert failure({"uris": secured.uris, "tls.disabled": "false"}).name == "STORE_TLS_FAILED"
    assert failure({"uris": secured.at("TLS")}).name == "STORE_UNREACHABLE"


def test_what_a_user_may_not_do(secured: SecuredBroker) -> None:
    owner = open_log("KAFKA", {"uris": secured.uris})
    owner.create("private")
    log = open_log("KAFKA", properties(secured, "SASLTLS") | login("PLAIN", STRANGER))
    log.check()
    assert log.topics() == []
    for call in (
        lambda: log.create("mine"),
        lambda: log.produce("private", [NewRecord(None, b"v")]),
        lambda: log.end_offsets("private"),
        lambda: log.delete("private"),
    ):
        with pytest.raises(MillpondError) as caught:
            call()
        assert caught.value.name == "STORE_PERMISSION_DENIED"
    log.close()
    owner.close()
