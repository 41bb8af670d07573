"""The files that a statement names: the shell reads them and sends them along, because the server does not."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from millpond.errors import MillpondError

_TAKES_FILES: Final = re.compile(
    r"""
    (?: \s | --[^\n]*\n | /\*.*?\*/ )*
    (?: (?:EXPLAIN|DESCRIBE|DESC)\s+ )?
    (?: CREATE|UPDATE ) \s+ (?: STORE|SCHEMA_REGISTRY|DESCRIPTOR_SOURCE|FUNCTION_SOURCE ) \b
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_KEYS: Final = r"tls\.ca_cert(?:_file)?|tls\.client\.(?:cert|key)_file|config_file|file"
_NAMED: Final = re.compile(rf"['`\"]?\b(?:{_KEYS})['`\"]?\s*=\s*'((?:[^']|'')*)'", re.IGNORECASE)
_MARKED: Final = re.compile(r"=\s*'@((?:[^']|'')+)'")
_LINE: Final = re.compile(rf"^\s*(?:{_KEYS})\s*[=:]\s*(\S.*?)\s*$", re.IGNORECASE | re.MULTILINE)


def attachments(statement: str, folders: Sequence[Path] = ()) -> dict[str, bytes]:
    """What `statement` names as files, by those names: from the working folder, else from `folders`.

    A property file's own files come along. Raises FILE_NOT_READABLE.
    """
    if not _TAKES_FILES.match(statement):
        return {}
    found: dict[str, bytes] = {}
    for name in _names(statement):
        found[name] = content = _read(name, (Path(), *folders))
        for inner in _inner_names(content):
            found.setdefault(inner, _read(inner, (Path(), Path(name).parent, *folders)))
    return found


def _names(statement: str) -> Iterator[str]:
    """In their order, once each; a certificate that is written out is no name."""
    written = [m[1] for pattern in (_NAMED, _MARKED) for m in pattern.finditer(statement)]
    yield from dict.fromkeys(w.replace("''", "'").removeprefix("@") for w in written if not w.startswith("-----"))


def _inner_names(content: bytes) -> Iterable[str]:
    if content.startswith(b"-----BEGIN"):
        return ()
    return dict.fromkeys(name.removeprefix("@") for name in _LINE.findall(content.decode("utf-8", "replace")))


def _read(name: str, folders: Iterable[Path]) -> bytes:
    paths = [folder / Path(name).expanduser() for folder in folders]
    path = next((p for p in paths if p.exists()), paths[0])
    try:
        return path.read_bytes()
    except OSError as error:
        raise MillpondError("FILE_NOT_READABLE", path=name, reason=error.strerror or error) from None


def multipart(request: bytes, files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Content type and body of a statement request with files."""
    boundary = uuid.uuid4().hex
    parts = [('name="request"', "application/json", request)]
    parts += [(f'name="attachments"; filename="{_quoted(n)}"', "application/octet-stream", c) for n, c in files.items()]
    body = b"".join(
        f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\nContent-Type: {kind}\r\n\r\n".encode()
        + content
        + b"\r\n"
        for head, kind, content in parts
    )
    return f"multipart/form-data; boundary={boundary}", body + f"--{boundary}--\r\n".encode()


def _quoted(name: str) -> str:
    """As browsers write a file's name."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
