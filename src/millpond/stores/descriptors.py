"""Messages by name, out of the compiled descriptor sets that the catalog keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from millpond.avro_types import UnreadableSchemaError
from millpond.catalog.model import DescriptorSource
from millpond.errors import MillpondError
from millpond.protobuf_types import Message, columns_of, described, field_of, message_names
from millpond.stores.formats.protobuf_reader import misfit
from millpond.stores.formats.protobuf_writer import check_writable
from millpond.suggestion import suggestion
from millpond.types import Column


class Sources(Protocol):
    """What is asked of the catalog."""

    def descriptor_sources(self) -> Sequence[DescriptorSource]: ...

    def descriptor_file(self, name: str) -> bytes: ...


class Descriptors:
    """Looks messages up for the planner: `millpond.plan.protobuf.DescriptorLookup`."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources

    def find(self, name: str) -> tuple[str, str]:
        """The source and the full name of the message of that full name, or the only one of that name alone.

        `source.` may stand in front. Raises DESCRIPTOR_NOT_FOUND, AMBIGUOUS_DESCRIPTOR.
        """
        known = list(self.all())
        for found in (
            [(s, m) for s, m in known if m == name],
            [(s, m) for s, m in known if f"{s}.{m}" == name],
            [(s, m) for s, m in known if m.rpartition(".")[2] == name],
        ):
            if len(found) > 1:
                choices = ", ".join(f"'{s}.{m}'" for s, m in found)
                raise MillpondError("AMBIGUOUS_DESCRIPTOR", name=name, choices=choices)
            if found:
                return found[0]
        next_step = suggestion(name, [m for _, m in known], "LIST DESCRIPTORS; shows those that there are.")
        raise MillpondError("DESCRIPTOR_NOT_FOUND", name=name, suggestion=next_step)

    def all(self) -> Iterator[tuple[str, str]]:
        """(source, full name) of every message; a source that cannot be read has none."""
        for source in self.sources.descriptor_sources():
            try:
                names = message_names(self.sources.descriptor_file(source.name))
            except UnreadableSchemaError:
                continue
            yield from ((source.name, name) for name in names)

    def columns(self, source: str, name: str) -> tuple[Column, ...]:
        """The columns of a message. Raises SCHEMA_NOT_READABLE, DESCRIPTOR_SOURCE_NOT_FOUND."""
        try:
            return columns_of(self._message(source, name))
        except UnreadableSchemaError as error:
            raise MillpondError("SCHEMA_NOT_READABLE", subject=name, reason=str(error)) from None

    def check(self, source: str, name: str, columns: Sequence[Column], written: bool) -> None:
        """Raises NO_PROTOBUF_FORM if `columns` cannot be read of the message, or `written` into it."""
        message = self._message(source, name)
        if written and columns:
            check_writable(message, columns)
        for column in columns:
            field = field_of(described(message), column.name)
            reason = None if field is None else misfit(field, column.type)
            if reason:
                raise MillpondError("NO_PROTOBUF_FORM", column=column.name, type=str(column.type), reason=reason)

    def _message(self, source: str, name: str) -> Message:
        return Message(self.sources.descriptor_file(source), name)
