"""What goes wrong at Kinesis: what passes by itself, and what the rest is called."""

from __future__ import annotations

import re
import socket
from typing import Any
from urllib.parse import urlsplit

from millpond.errors import MillpondError

THROTTLED = frozenset(
    {"ProvisionedThroughputExceededException", "LimitExceededException", "ThrottlingException", "Throttling",
     "KMSThrottlingException", "RequestLimitExceeded"}
)  # fmt: skip
PASSING = frozenset(
    {"InternalFailure", "InternalFailureException", "ServiceUnavailable", "ServiceUnavailableException",
     "InternalServerError", "RequestTimeout", "RequestTimeoutException"}
)  # fmt: skip
OWN_HOST = re.compile(r"kinesis\.([\w-]+)\.amazonaws\.com")
EXPIRED_ITERATOR = "ExpiredIteratorException"
NOT_THERE = "ResourceNotFoundException"
IN_USE = "ResourceInUseException"
BAD_ARGUMENT = frozenset({"InvalidArgumentException", "ValidationException"})
BAD_LOGIN = frozenset(
    {"UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException", "SignatureDoesNotMatch",
     "ExpiredTokenException", "ExpiredToken", "MissingAuthenticationToken", "IncompleteSignature",
     "MissingAuthenticationTokenException", "InvalidAccessKeyId", "AuthFailure"}
)  # fmt: skip
FORBIDDEN = frozenset({"AccessDeniedException", "AccessDenied", "OptInRequired", "KMSAccessDeniedException"})


def code_of(error: Exception) -> str:
    """The name that Kinesis gives to its answer; empty if there was no answer."""
    response: Any = getattr(error, "response", None)
    if not isinstance(response, dict):
        return ""
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = str(response.get("Error", {}).get("Code", ""))
    return "ServiceUnavailable" if status >= 500 and not code[:1].isalpha() else code


def is_lost_connection(error: Exception) -> bool:
    """Whether there was no answer: not reached, cut in the middle, too slow."""
    from botocore.exceptions import ConnectionError as NotConnected
    from botocore.exceptions import HTTPClientError
    from botocore.parsers import ResponseParserError

    return isinstance(error, HTTPClientError | NotConnected | ResponseParserError | OSError)


def passes(error: Exception) -> bool:
    """Whether the same call may succeed a moment later."""
    code = code_of(error)
    return code in THROTTLED or code in PASSING or (not code and is_lost_connection(error))


def named(error: Exception, store: str, topic: str = "") -> MillpondError:
    """The named error for what happened to stream `topic` of the store at `store`."""
    if isinstance(error, MillpondError):
        return error
    code, reason = code_of(error), _words(error)
    if code == NOT_THERE:
        return MillpondError("TOPIC_NOT_FOUND", topic=topic, store=store)
    if code in BAD_LOGIN or _lacks_credentials(error):
        return MillpondError("STORE_LOGIN_FAILED", store=store, reason=reason)
    if code in FORBIDDEN:
        what = f"stream '{topic}'" if topic else "its streams"
        return MillpondError("STORE_PERMISSION_DENIED", store=store, what=what)
    if code in THROTTLED:
        return MillpondError("STORE_THROTTLED", store=store, reason=reason)
    if code in BAD_ARGUMENT or code in (IN_USE, "InvalidParameterException"):
        return MillpondError("TOPIC_REFUSED", topic=topic, reason=reason)
    return MillpondError("STORE_UNREACHABLE", store=store, reason=reason)


def unreached(error: Exception, store: str) -> MillpondError:
    """The named error for a store that is tried for the first time: which step fails."""
    words = _words(error)
    host = urlsplit(store if "://" in store else f"https://{store}").hostname or store
    if "CERTIFICATE_VERIFY_FAILED" in words:
        if "doesn't match" in words or "mismatch" in words:
            return MillpondError("STORE_HOST_NAME_WRONG", store=store, host=host)
        return MillpondError("STORE_CA_UNKNOWN", store=store, reason=words)
    if "SSL" in type(error).__name__:
        return MillpondError("STORE_TLS_FAILED", store=store, reason=words)
    if not code_of(error) and is_lost_connection(error):
        try:
            socket.getaddrinfo(host, None)
        except OSError as unknown:
            if (region := OWN_HOST.fullmatch(host)) and region[1] not in known_regions():
                return MillpondError("STORE_REGION_UNKNOWN", region=region[1])
            return MillpondError("STORE_HOST_UNKNOWN", host=host, reason=unknown.strerror or unknown)
        if "Could not connect" in words:
            return MillpondError("STORE_CONNECTION_REFUSED", store=store)
    return named(error, store)


def known_regions() -> frozenset[str]:
    """The regions of AWS that this version of its SDK knows."""
    import boto3

    return frozenset(boto3.session.Session().get_available_regions("kinesis"))


def _lacks_credentials(error: Exception) -> bool:
    from botocore.exceptions import NoCredentialsError, PartialCredentialsError, TokenRetrievalError

    return isinstance(error, NoCredentialsError | PartialCredentialsError | TokenRetrievalError)


def _words(error: Exception) -> str:
    """The message without boto's preamble, which repeats the operation and counts attempts."""
    response: Any = getattr(error, "response", None)
    if isinstance(response, dict):
        told = response.get("Error", {}).get("Message") or code_of(error)
        return str(told).strip()
    return str(error).strip() or type(error).__name__
