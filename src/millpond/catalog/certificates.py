"""Certificates and keys as stores keep them: PEM text that every client can read."""

from __future__ import annotations

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from millpond.errors import MillpondError


def certificates(text: str, name: str) -> str:
    """One or more certificates in PEM, in their order. Raises BAD_CERTIFICATE; `name` is the file's."""
    try:
        found = x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        raise MillpondError("BAD_CERTIFICATE", name=name, reason="it has no certificate in PEM") from None
    return "".join(c.public_bytes(serialization.Encoding.PEM).decode() for c in found)


def private_key(text: str, passphrase: str | None, name: str) -> str:
    """A private key as PKCS #8 without a passphrase, which is what Java's client takes. Raises BAD_CERTIFICATE."""
    try:
        key = serialization.load_pem_private_key(text.encode(), passphrase.encode() if passphrase else None)
    except TypeError:
        given = "it has no passphrase" if passphrase else "it is encrypted: give 'tls.client.key_passphrase'"
        raise MillpondError("BAD_CERTIFICATE", name=name, reason=given) from None
    except ValueError:
        reason = "the passphrase is wrong, or it is no private key in PEM"
        raise MillpondError("BAD_CERTIFICATE", name=name, reason=reason) from None
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
