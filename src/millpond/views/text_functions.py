"""SQLite functions over text and bytes, as Spark's of the same name."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import uuid
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qs, quote_plus, unquote_plus, urlsplit

import orjson

from millpond.views.time_limit import seconds_left
from millpond.views.value_limits import check_items, check_length


def json_array(values: Sequence[str | None]) -> str:
    """An ARRAY of texts, as the view store holds it."""
    return orjson.dumps(values).decode()


def concat(*parts: str | None) -> str | None:
    """All parts in a row; NULL if one is."""
    there = _present(parts)
    return None if len(there) < len(parts) else "".join(there)


def concat_ws(separator: str | None, *parts: str | None) -> str | None:
    """The parts that are there, `separator` between them."""
    if separator is None:
        return None
    check_length(len(separator) * len(parts))
    return separator.join(_present(parts))


def _present(parts: tuple[str | None, ...]) -> list[str]:
    """Those that are no NULL. Raises VALUE_TOO_LARGE if they are too much for one value."""
    there = [p for p in parts if p is not None]
    check_length(sum(map(len, there)))
    return there


def substring(text: str, start: int, length: int) -> str:
    """From `start` (1-based, 0 is 1, negative from the end); a start before the text takes of `length`."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = begin + length
    return text[max(begin, 0) : max(end, 0)]


def _initcap(text: str) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" "))


def _locate(part: str, text: str, start: int) -> int:
    return 0 if start < 1 else text.find(part, start - 1) + 1


def _translate(text: str, wanted: str, replacement: str) -> str:
    table: dict[int, str | None] = {}
    for n, char in enumerate(wanted):
        table.setdefault(ord(char), replacement[n] if n < len(replacement) else None)
    return text.translate(table)


def _overlay(text: str, replacement: str, start: int, length: int) -> str:
    size = len(replacement) if length < 0 else length
    return substring(text, 1, start - 1) + replacement + substring(text, start + size, 2**31 - 1)


def _pad(left: bool) -> Callable[[str, int, str], str]:
    def pad(text: str, length: int, filler: str) -> str:
        missing = length - len(text)
        if missing <= 0:
            return text[: max(0, length)]
        check_length(length)
        filled = (filler * (missing // len(filler) + 1))[:missing] if filler else ""
        return filled + text if left else text + filled

    return pad


def _ascii(text: str) -> int:
    return ord(text[0]) if text else 0


def _repeat(text: str, times: int) -> str:
    check_length(len(text) * times)
    return text * times


def _split_index(text: str, separator: str, index: int) -> str | None:
    parts = text.split(separator) if separator else []
    return parts[index] if 0 <= index < len(parts) else None


def _split(text: str, separator: str) -> str:
    check_items(text.count(separator) if separator else len(text))
    return json_array(list(text.split(separator) if separator else text or [""]))


def _split_part(text: str, separator: str, index: int) -> str | None:
    parts = text.split(separator) if separator else [text]
    if index == 0:
        return None
    at = index - 1 if index > 0 else len(parts) + index
    return parts[at] if 0 <= at < len(parts) else ""


def _levenshtein(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for n, a in enumerate(left, 1):
        seconds_left()
        previous, row[0] = row[0], n
        for m, b in enumerate(right, 1):
            previous, row[m] = row[m], min(row[m] + 1, row[m - 1] + 1, previous + (a != b))
    return row[-1]


def _as_bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def _hash(name: str, value: str | bytes) -> str:
    return hashlib.new(name, _as_bytes(value)).hexdigest()


def _sha2(text: str, bits: int) -> str | None:
    names = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}
    return _hash(names[bits], text) if bits in names else None


def _from_base64(text: str) -> str | None:
    try:
        return bytes_text(base64.b64decode(re.sub(r"\s", "", text), validate=True))
    except binascii.Error:
        return None


def _unhex(text: str) -> bytes | None:
    try:
        return bytes.fromhex("0" * (len(text) % 2) + text)
    except ValueError:
        return None


def bytes_text(value: bytes) -> str:
    """UTF-8 bytes as text; what is no UTF-8 becomes the replacement character."""
    return value.decode("utf-8", "replace")


def _url_encode(text: str) -> str:
    return quote_plus(text, safe="*")


def _url_decode(text: str) -> str | None:
    return None if re.search(r"%(?![0-9A-Fa-f]{2})", text) else unquote_plus(text)


def _parse_url(text: str, part: str, key: str | None = None) -> str | None:
    if re.search(r"\s", text):
        return None
    url = urlsplit(text)
    if part == "QUERY" and key is not None:
        return next(iter(parse_qs(url.query).get(key, [])), None)
    parts = {
        "HOST": url.hostname,
        "PATH": url.path,
        "QUERY": url.query or None,
        "REF": url.fragment or None,
        "PROTOCOL": url.scheme or None,
        "FILE": url.path + (f"?{url.query}" if url.query else ""),
        "AUTHORITY": url.netloc or None,
        "USERINFO": url.netloc.rpartition("@")[0] or None,
    }
    return parts.get(part)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mp_lower": str.lower,
    "mp_upper": str.upper,
    "mp_initcap": _initcap,
    "mp_length": len,
    "mp_substring": substring,
    "mp_left": lambda text, n: text[: max(0, n)],
    "mp_right": lambda text, n: text[-n:] if n > 0 else "",
    "mp_locate": _locate,
    "mp_translate": _translate,
    "mp_overlay": _overlay,
    "mp_lpad": _pad(left=True),
    "mp_rpad": _pad(left=False),
    "mp_repeat": _repeat,
    "mp_reverse": lambda text: text[::-1],
    "mp_ascii": _ascii,
    "mp_chr": lambda n: "" if n < 0 else chr(n & 0xFF),
    "mp_split_index": _split_index,
    "mp_split": _split,
    "mp_split_part": _split_part,
    "mp_starts": str.startswith,
    "mp_ends": str.endswith,
    "mp_levenshtein": _levenshtein,
    "mp_hash": _hash,
    "mp_sha2": _sha2,
    "mp_to_base64": lambda value: base64.b64encode(_as_bytes(value)).decode(),
    "mp_from_base64": _from_base64,
    "mp_unhex": _unhex,
    "mp_bytes_text": bytes_text,
    "mp_url_encode": _url_encode,
    "mp_url_decode": _url_decode,
    "mp_parse_url": _parse_url,
}
"""NULL in, NULL out."""

NULL_AWARE: dict[str, Callable[..., Any]] = {"mp_concat": concat, "mp_concat_ws": concat_ws}
"""They see NULLs themselves."""

VOLATILE: dict[str, Callable[..., Any]] = {"mp_uuid": lambda: str(uuid.uuid4())}
