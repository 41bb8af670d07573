"""Parts of the Kinesis store that need no emulator: settings, keys, aggregates, the names of errors."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import pytest

from millpond.errors import MillpondError
from millpond.stores.connect import open_log
from millpond.stores.kinesis_aggregated import MAGIC, unpack
from millpond.stores.kinesis_client import kinesis_settings
from millpond.stores.kinesis_errors import named, passes
from millpond.stores.kinesis_shards import Shard, readable
from millpond.stores.kinesis_writer import partition_key

SETTINGS: list[tuple[dict[str, str], str, str | None]] = [
    ({"access_region": "eu-west-2"}, "eu-west-2", None),
    ({"access_region": "AWS us-east-1", "uris": "https://kinesis.us-east-1.amazonaws.com"}, "us-east-1", None),
    ({"uris": "https://kinesis.ap-southeast-2.amazonaws.com:443"}, "ap-southeast-2", None),
    ({"uris": "eu-central-1"}, "eu-central-1", None),
    ({"availability_zone": "us-west-2a"}, "us-west-2", None),
    ({"uris": "http://127.0.0.1:4567"}, "us-east-1", "http://127.0.0.1:4567"),
    ({"uris": "localhost:4567", "access_region": "eu-west-1"}, "eu-west-1", "http://localhost:4567"),
]


@pytest.mark.parametrize(("properties", "region", "endpoint"), SETTINGS)
def test_properties_become_settings(properties: dict[str, str], region: str, endpoint: str | None) -> None:
    found = kinesis_settings(properties)
    assert (found.region, found.endpoint) == (region, endpoint)


def test_secrets_do_not_show() -> None:
    keys = {"kinesis.access_key_id": "AK", "kinesis.secret_access_key": "hush", "kinesis.session_token": "shh"}
    found = kinesis_settings({"access_region": "eu-west-2", **keys})
    assert (found.secret_access_key, found.session_token) == ("hush", "shh")
    assert "hush" not in repr(found) and "shh" not in repr(found)


@pytest.mark.parametrize(
    ("properties", "error", "name"),
    [
        ({}, "MISSING_PROPERTY", "access_region"),
        ({"access_region": "nowhere"}, "BAD_PROPERTY", "access_region"),
        ({"uris": "eu-west-2", "kinesis.access_key_id": "a"}, "MISSING_PROPERTY", "kinesis.secret_access_key"),
    ],
)
def test_what_lacks_is_named(properties: dict[str, str], error: str, name: str) -> None:
    with pytest.raises(MillpondError) as caught:
        open_log("KINESIS", properties)
    assert caught.value.name == error
    assert f"'{name}'" in caught.value.sentence


def test_the_partition_key_is_the_rows_key_or_a_digest() -> None:
    assert partition_key("é1".encode(), b"v") == "é1"
    assert partition_key(b"\xff", b"v") == hashlib.sha256(b"\xff").hexdigest()
    assert partition_key(b"x" * 257, b"v") == hashlib.sha256(b"x" * 257).hexdigest()
    assert partition_key(b"x" * 256, b"v") == "x" * 256
    assert partition_key(None, b"v") == partition_key(b"", b"v") == hashlib.sha256(b"v").hexdigest()[:32]
    assert partition_key(None, None)


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def aggregate(records: list[tuple[str, bytes]]) -> bytes:
    """As the producer library packs: a table of keys, records that point into it, MD5 behind."""
    keys = sorted({key for key, _ in records})
    body = b"".join(field(1, key.encode()) for key in keys)
    for key, data in records:
        body += field(3, varint(1 << 3) + varint(keys.index(key)) + field(3, data))
    return MAGIC + body + hashlib.md5(body).digest()


def test_an_aggregate_is_taken_apart() -> None:
    chance = random.Random(3)
    records = [(f"key-{chance.randrange(300)}", chance.randbytes(chance.randrange(400))) for _ in range(500)]
    assert unpack("outer", aggregate(records)) == records


def test_what_only_looks_like_an_aggregate_stays_as_it_is() -> None:
    whole = aggregate([("a", b"1")])
    for data in (b"", b"plain", MAGIC, whole[:-1], MAGIC + b"\x07" + hashlib.md5(b"\x07").digest()):
        assert unpack("k", data) == [("k", data)]


def test_children_wait_for_their_parents() -> None:
    shards = [Shard("s-0", (), "0", "9"), Shard("s-1", (), "0", "9"), Shard("s-2", ("s-0", "s-1", "s-gone"), "9", None)]
    ended: set[str] = set()
    assert [s.id for s in readable(shards, ended.__contains__)] == ["s-0", "s-1"]
    ended.add("s-0")
    assert [s.id for s in readable(shards, ended.__contains__)] == ["s-1"]
    ended.add("s-1")
    assert [s.id for s in readable(shards, ended.__contains__)] == ["s-2"]


def answered(code: str, status: int = 400) -> Exception:
    from botocore.exceptions import ClientError

    response: Any = {"Error": {"Code": code, "Message": "words."}, "ResponseMetadata": {"HTTPStatusCode": status}}
    error: Exception = ClientError(response, "GetRecords")
    return error


NAMES = [
    ("ResourceNotFoundException", "TOPIC_NOT_FOUND", False),
    ("UnrecognizedClientException", "STORE_LOGIN_FAILED", False),
    ("AccessDeniedException", "STORE_PERMISSION_DENIED", False),
    ("ProvisionedThroughputExceededException", "STORE_THROTTLED", True),
    ("InternalFailure", "STORE_UNREACHABLE", True),
    ("InvalidArgumentException", "TOPIC_REFUSED", False),
]


@pytest.mark.parametrize(("code", "name", "again"), NAMES)
def test_answers_have_names_and_some_pass(code: str, name: str, again: bool) -> None:
    assert named(answered(code), "here", "s").name == name
    assert passes(answered(code)) is again


def test_lost_connections_pass_and_missing_credentials_do_not() -> None:
    from botocore.exceptions import ConnectionClosedError, NoCredentialsError

    assert passes(ConnectionClosedError(endpoint_url="x"))
    assert passes(ConnectionResetError())
    assert not passes(NoCredentialsError())
    assert named(NoCredentialsError(), "here").name == "STORE_LOGIN_FAILED"
