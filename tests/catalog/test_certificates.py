"""Certificates and keys are brought into one form, or refused by name."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from millpond.catalog.certificates import certificates, private_key
from millpond.errors import MillpondError
from tests.certificates import Authority, pkcs8


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def test_a_chain_of_certificates_stays_in_order_and_words_around_it_go() -> None:
    first, second = Authority("one").pem, Authority("two").pem
    assert certificates(f"# mine\n{first}\ntext\n{second}", "ca.pem") == first + second


def test_a_key_becomes_pkcs8_without_a_passphrase(key: rsa.RSAPrivateKey) -> None:
    expected = pkcs8(key)
    older = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    ).decode()
    assert private_key(older, None, "k") == private_key(expected, None, "k") == expected
    assert private_key(pkcs8(key, b"hush"), "hush", "k") == expected


@pytest.mark.parametrize("passphrase", [None, "wrong"])
def test_a_locked_key_needs_its_passphrase(key: rsa.RSAPrivateKey, passphrase: str | None) -> None:
    with pytest.raises(MillpondError) as caught:
        private_key(pkcs8(key, b"hush"), passphrase, "client.key")
    assert caught.value.name == "BAD_CERTIFICATE" and "passphrase" in caught.value.sentence


def test_what_is_no_pem_is_refused(key: rsa.RSAPrivateKey) -> None:
    with pytest.raises(MillpondError) as caught:
        certificates("x", "f")
    assert caught.value.name == "BAD_CERTIFICATE"
    with pytest.raises(MillpondError) as caught:
        private_key("x", None, "f")
    assert caught.value.name == "BAD_CERTIFICATE"
    with pytest.raises(MillpondError) as caught:
        private_key(pkcs8(key), "too much", "f")
    assert caught.value.name == "BAD_CERTIFICATE"
