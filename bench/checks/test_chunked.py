"""Lines are found in a chunked response however the network cuts it."""

from __future__ import annotations

import pytest
from harness.chunked import ChunkedLines

RESPONSE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"
    b'8\r\n{"a":1}\n\r\n9\r\n{"b":2}\n{\r\n7\r\n"c":3}\n\r\n0\r\n\r\n'
)
LINES = [b'{"a":1}', b'{"b":2}', b'{"c":3}']


@pytest.mark.parametrize("size", [1, 2, 7, 64, len(RESPONSE)])
def test_lines_of_a_response_in_pieces(size: int) -> None:
    lines = ChunkedLines()
    pieces = [RESPONSE[i : i + size] for i in range(0, len(RESPONSE), size)]
    assert [line for piece in pieces for line in lines.feed(piece)] == LINES
    assert lines.status == 200


def test_the_status_of_a_refusal_is_known() -> None:
    lines = ChunkedLines()
    assert lines.feed(b"HTTP/1.1 503 Service Unavailable\r\n\r\n") == []
    assert lines.status == 503
