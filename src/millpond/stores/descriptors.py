"""Messages by name, out of the compiled descriptor sets that the catalog keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from millpond.avro_types import UnreadableSchemaError
from millpond.catalog.model import DescriptorSource
from millpond.errors import MillpondError
from millpond.protobuf_types import Message, message_names
from millpond.suggestion import suggestion


class Sources(Protocol):
    """What is asked of the catalog."""

    def descriptor_sources(self) -> Sequence[DescriptorSource]: ...

    def descriptor_file(self, name: str) -> bytes: ...


def descriptor(sources: Sources, name: str) -> tuple[str, Message]:
    """The message of that full name, or of that name alone if there is but one; `source.` may stand in front.

    With the source that it is in. Raises DESCRIPTOR_NOT_FOUND, AMBIGUOUS_DESCRIPTOR.
    """
    known = list(descriptors(sources))
    for found in (
        [(s, m) for s, m in known if m == name],
        [(s, m) for s, m in known if f"{s}.{m}" == name],
        [(s, m) for s, m in known if m.rpartition(".")[2] == name],
    ):
        if len(found) > 1:
            choices = ", ".join(f"'{s}.{m}'" for s, m in found)
            raise MillpondError("AMBIGUOUS_DESCRIPTOR", name=name, choices=choices)
        if found:
            source, message = found[0]
            return source, Message(sources.descriptor_file(source), message)
    next_step = suggestion(name, [m for _, m in known], "LIST DESCRIPTORS; shows those that there are.")
    raise MillpondError("DESCRIPTOR_NOT_FOUND", name=name, suggestion=next_step)


def descriptors(sources: Sources) -> Iterator[tuple[str, str]]:
    """(source, full name) of every message; a source that cannot be read has none."""
    for source in sources.descriptor_sources():
        try:
            names = message_names(sources.descriptor_file(source.name))
        except UnreadableSchemaError:
            continue
        yield from ((source.name, name) for name in names)
