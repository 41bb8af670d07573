"""A region that AWS does not have is named as such, and not as a host without an address."""

from __future__ import annotations

import socket

import pytest
from botocore.exceptions import EndpointConnectionError

from millpond.stores.kinesis_errors import unreached


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("kinesis.us-moon-1.amazonaws.com", "STORE_REGION_UNKNOWN"),
        ("kinesis.eu-west-1.amazonaws.com", "STORE_HOST_UNKNOWN"),
        ("http://nowhere.invalid:4567", "STORE_HOST_UNKNOWN"),
    ],
)
def test_a_host_without_an_address(monkeypatch: pytest.MonkeyPatch, host: str, expected: str) -> None:
    def unknown(*_: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert unreached(EndpointConnectionError(endpoint_url=host), host).name == expected
