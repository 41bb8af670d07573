"""Lines out of a chunked HTTP response that is received piece by piece."""

from __future__ import annotations


class ChunkedLines:
    """Takes the bytes of one response as they come, gives the lines of its body as they get complete."""

    def __init__(self) -> None:
        self._raw = b""
        self._body = b""
        self._in_body = False
        self.status = 0
        """The HTTP status, 0 before it is known."""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their ends."""
        self._raw += data
        if not self._in_body and not self._head():
            return []
        while self._chunk():
            pass
        *lines, self._body = self._body.split(b"\n")
        return lines

    def _head(self) -> bool:
        head, end, rest = self._raw.partition(b"\r\n\r\n")
        if end:
            self.status = int(head.split(b" ", 2)[1])
            self._raw, self._in_body = rest, True
        return bool(end)

    def _chunk(self) -> bool:
        """Move one complete chunk to the body; whether there was one."""
        size_text, end, rest = self._raw.partition(b"\r\n")
        if not end:
            return False
        size = int(size_text, 16)
        if size == 0 or len(rest) < size + 2:
            return False
        self._body += rest[:size]
        self._raw = rest[size + 2 :]
        return True
