"""Files that come with a statement: certificates, property files, descriptors.

They are read from the request alone. A path in a statement never makes the server read its own disk: who may send
statements may not therefore read the server's files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from millpond.errors import MillpondError, Position

Files: TypeAlias = Mapping[str, bytes]
"""Name -> content, as the client has sent them."""


def file_content(written: str, property_name: str, files: Files, position: Position | None = None) -> bytes:
    """The file that `written` names: `ca.pem`, `@ca.pem`, `./certs/ca.pem`. Raises FILE_NOT_SENT."""
    name = written.removeprefix("@")
    found = files.get(name)
    if found is None:
        base = _base(name)
        found = next((content for sent, content in files.items() if _base(sent) == base), None)
    if found is None:
        shown = name if len(name) < 200 else f"{name[:40]}..."
        raise MillpondError("FILE_NOT_SENT", position=position, name=shown, property=property_name)
    return found


def file_text(written: str, property_name: str, files: Files, position: Position | None = None) -> str:
    """The text of the file that `written` names; text in PEM is taken as it stands. Raises FILE_NOT_TEXT as well."""
    if written.startswith("-----BEGIN "):
        return written
    content = file_content(written, property_name, files, position)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise MillpondError("FILE_NOT_TEXT", position=position, name=written, property=property_name) from None


def property_lines(text: str) -> Iterator[tuple[str, str]]:
    """The keys, in lower case, and values of a properties file: `key=value` or `key: value` lines, # comments."""
    for line in text.splitlines():
        bare = line.strip()
        if not bare or bare[0] in "#!":
            continue
        ends = [place for separator in "=:" if (place := bare.find(separator)) > 0]
        cut = min(ends, default=len(bare))
        yield bare[:cut].strip().lower(), bare[cut + 1 :].strip()


def _base(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]
