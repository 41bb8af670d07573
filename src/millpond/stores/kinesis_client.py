"""From a Kinesis store's properties to a boto3 client."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millpond.errors import MillpondError, missing_properties

CALLS_AT_ONCE = 8
"""Shards that one reader asks at the same time: more hardly helps, and each holds a connection."""
CONNECT_SECONDS, ANSWER_SECONDS = 3.0, 10.0

REGION = re.compile(r"\b[a-z]{2}(?:-[a-z]+)+-\d\b")
"""A region's code, wherever it stands: `us-east-1`, `AWS us-east-1`, `https://kinesis.eu-west-2.amazonaws.com`."""
AVAILABILITY_ZONE = re.compile(r"^([a-z]{2}(?:-[a-z]+)+-\d)[a-f]$")
EMULATED_REGION = "us-east-1"
"""An emulator serves any region; one must be named to sign requests."""
OWN_HOST = re.compile(r"\.amazonaws\.com(\.cn)?(:\d+)?/?$")


@dataclass(frozen=True, slots=True)
class KinesisSettings:
    """How to reach Kinesis. Without keys the default AWS credential chain is asked; `endpoint` None: AWS itself."""

    region: str
    endpoint: str | None = None
    access_key_id: str | None = None
    secret_access_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """What errors call the store."""
        return self.endpoint or f"kinesis.{self.region}.amazonaws.com"


def kinesis_settings(properties: Mapping[str, str]) -> KinesisSettings:
    """The settings for the properties of CREATE STORE. Raises BAD_PROPERTY, MISSING_PROPERTY."""
    uri = properties.get("uris", "").split(",")[0].strip()
    endpoint = None if not uri or REGION.fullmatch(uri) or OWN_HOST.search(uri) else _url(uri)
    key_id, secret = properties.get("kinesis.access_key_id"), properties.get("kinesis.secret_access_key")
    if bool(key_id) != bool(secret):
        lacking = "kinesis.secret_access_key" if key_id else "kinesis.access_key_id"
        raise missing_properties("CREATE STORE", {lacking: "'...'"})
    region = _region(properties, uri)
    if region is None and endpoint is None:
        raise missing_properties("CREATE STORE", {"access_region": "'us-east-1'"})
    return KinesisSettings(
        region or EMULATED_REGION, endpoint, key_id, secret, properties.get("kinesis.session_token") or None
    )


def kinesis_client(settings: KinesisSettings) -> Any:
    """A boto3 client. It repeats nothing by itself: what is repeated, and when, is decided by whoever calls."""
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=ANSWER_SECONDS,
        retries={"total_max_attempts": 1},
        max_pool_connections=CALLS_AT_ONCE,
        tcp_keepalive=True,
    )
    keys = settings.access_key_id, settings.secret_access_key
    return boto3.session.Session(*keys, settings.session_token, settings.region).client(
        "kinesis", endpoint_url=settings.endpoint, config=config
    )


def _region(properties: Mapping[str, str], uri: str) -> str | None:
    """Of 'access_region' or 'availability_zone', else of the address."""
    for name in ("access_region", "availability_zone"):
        given = properties.get(name, "").strip()
        if not given:
            continue
        zone = AVAILABILITY_ZONE.match(given)
        found = REGION.search(given)
        if zone or found:
            return zone[1] if zone else found[0] if found else None
        raise MillpondError("BAD_PROPERTY", name=name, value=given, takes="a region as 'us-east-1'")
    found = REGION.search(uri)
    return found[0] if found else None


def _url(uri: str) -> str:
    return uri if "://" in uri else f"http://{uri}"
