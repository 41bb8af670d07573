"""Why bytes are not a value of the declared type."""

from __future__ import annotations


class UndecodableError(ValueError):
    """Bytes, text or JSON that is no value of its type; the message is the reason."""


def not_a(type_name: object, value: object) -> UndecodableError:
    """ "'abc' is not a BIGINT"."""
    text = str(value)
    cut = text if len(text) <= 64 else text[:64] + "..."
    return UndecodableError(f"'{cut}' is not a {type_name}")
